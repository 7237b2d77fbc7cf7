import math

import pytest
import torch

from parc.errors import TerrainError
from parc.terrain.heightmap import HeightmapGrid, grid_points, grid_world_xy, heights_at, relative_heightmap, sample_heightmap
from parc.terrain.terrain import Terrain, TerrainBatch


def ridge(size: int = 40) -> Terrain:
    """Height = 1 where x > 0."""
    heights = torch.zeros(size, size)
    heights[size // 2 :] = 1.0
    return Terrain(heights, torch.full((2,), -0.2 * (size - 1)), 0.4)


def test_the_papers_grid():
    grid = HeightmapGrid()
    points = grid_points(grid)
    assert points.shape == (31, 31, 2)
    assert grid.spacing == pytest.approx((0.2, 0.2))
    assert points[0, 0].tolist() == pytest.approx([-2, -3]) and points[-1, -1].tolist() == pytest.approx([4, 3])
    assert points[10, 15].tolist() == pytest.approx([0, 0], abs=1e-6)


def test_turning_the_walker_turns_what_it_sees():
    grid = HeightmapGrid(x=(-1.1, 1.1), y=(-1.1, 1.1), shape=(12, 12))
    origin = torch.zeros(4, 2)
    seen = sample_heightmap(ridge(), grid, origin, torch.tensor([0, math.pi / 2, math.pi, -math.pi / 2]))
    assert (seen[0, 6:] == 1).all() and (seen[0, :6] == 0).all()
    assert (seen[1, :, :6] == 1).all() and (seen[1, :, 6:] == 0).all()
    assert torch.equal(seen[2], 1 - seen[0]) and torch.equal(seen[3], 1 - seen[1])


def test_samples_are_the_heights_under_the_world_points():
    generator = torch.Generator().manual_seed(0)
    terrain = Terrain(torch.randn(9, 17, generator=generator), torch.tensor([1.0, -2.0]), 0.4)
    grid, origin, yaw = HeightmapGrid(), 5 * torch.randn(6, 5, 2, generator=generator), 3 * torch.randn(6, 5, generator=generator)
    xy = grid_world_xy(grid, origin, yaw)
    assert torch.equal(sample_heightmap(terrain, grid, origin, yaw), terrain.height_at(xy))
    torch.testing.assert_close(
        (xy - origin[..., None, None, :]).norm(dim=-1), grid_points(grid).norm(dim=-1).expand(6, 5, 31, 31)
    )


def test_batch_is_the_terrains_one_by_one():
    generator = torch.Generator().manual_seed(1)
    terrains = [
        Terrain(torch.randn(n, m, generator=generator), torch.randn(2, generator=generator), 0.4)
        for n, m in ((5, 9), (12, 3), (1, 1))
    ]
    origin, yaw = 2 * torch.randn(3, 7, 2, generator=generator), torch.randn(3, 7, generator=generator)
    together = sample_heightmap(TerrainBatch.stack(terrains), HeightmapGrid(), origin, yaw)
    alone = [sample_heightmap(t, HeightmapGrid(), o, y) for t, o, y in zip(terrains, origin, yaw, strict=True)]
    assert torch.equal(together, torch.stack(alone))
    flat = sample_heightmap(TerrainBatch.stack(terrains), HeightmapGrid(), origin[:, 0], yaw[:, 0])
    assert torch.equal(flat, together[:, 0])


def test_relative_heights_are_clamped():
    heights = torch.tensor([[[5.0, 1.0], [-4.0, 0.0]]])
    assert torch.equal(relative_heightmap(heights, torch.tensor([1.0])), torch.tensor([[[3.0, 0.0], [-3.0, -1.0]]]))


def test_wrong_input():
    with pytest.raises(TerrainError, match="0 x 3"):
        HeightmapGrid(shape=(0, 3))
    with pytest.raises(TerrainError, match="a row a terrain"):
        heights_at(TerrainBatch.stack([ridge(), ridge()]), torch.zeros(3, 2))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_sampling_replays_in_a_cuda_graph():
    batch = TerrainBatch.stack([ridge(), ridge(20)]).to("cuda")
    origin, yaw = torch.zeros(2, 2, device="cuda"), torch.zeros(2, device="cuda")
    sample_heightmap(batch, HeightmapGrid(), origin, yaw)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        seen = relative_heightmap(sample_heightmap(batch, HeightmapGrid(), origin, yaw), yaw)
    yaw.fill_(1.0)
    origin.fill_(0.3)
    graph.replay()
    assert torch.equal(seen, relative_heightmap(sample_heightmap(batch, HeightmapGrid(), origin, yaw), yaw))
