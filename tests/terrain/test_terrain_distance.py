"""Distances against brute force over all cells in double precision, gradients against finite differences."""

import pytest
import torch
from torch import Tensor

from parc.errors import TerrainError
from parc.terrain.terrain import Terrain, TerrainBatch
from parc.terrain.terrain_distance import clearance, penetration_depth, signed_distance, signed_distance_local

SLIT = 1e-12
"""m; rounding may leave so much between neighbouring columns"""


def brute_force(terrain: Terrain, points: Tensor, border: str) -> Tensor:
    """Distance to the union of all columns, or from inside it to its complement, written down as plainly as possible."""
    points, heights = points.double(), terrain.heights.double().flatten()
    ij = torch.cartesian_prod(*(torch.arange(n) for n in terrain.size)).view(-1, 2)
    centres = terrain.min_point.double() + terrain.cell * ij.double()
    gaps = ((points[:, None, :2] - centres).abs() - 0.5 * terrain.cell).clamp_min(0).square().sum(-1)
    rise = points[:, 2:] - heights
    to_ground = (gaps + rise.clamp_min(0) ** 2).amin(1).sqrt()
    to_air_above_cells = (gaps + (-rise).clamp_min(0) ** 2).amin(1).sqrt()
    low = terrain.min_point.double() - 0.5 * terrain.cell
    high = low + terrain.cell * torch.tensor(terrain.size).double()
    to_edge = torch.minimum(points[:, :2] - low, high - points[:, :2]).amin(1).clamp_min(0)
    if border == "open":
        return torch.where(to_ground > SLIT, to_ground, -torch.minimum(to_air_above_cells, to_edge))
    return torch.where(to_air_above_cells > SLIT, -to_air_above_cells, torch.minimum(to_ground, to_edge))


def random_terrain(generator: torch.Generator, most: int = 14) -> Terrain:
    rows, columns = (1 + torch.randint(0, most, (2,), generator=generator)).tolist()
    heights = 1.5 * torch.randn(rows, columns, generator=generator)
    if torch.rand((), generator=generator) < 0.5:
        heights = heights.round()
    return Terrain(heights, 3 * torch.randn(2, generator=generator), 0.4)


def points_around(terrain: Terrain, generator: torch.Generator, count: int = 400, beyond: float = 1.5) -> Tensor:
    low, high = (torch.cat([c, z]) for c, z in zip(terrain.extent, (torch.tensor([-5.0]), torch.tensor([5.0])), strict=True))
    low, high = low - beyond, high + beyond
    return low + (high - low) * torch.rand(count, 3, generator=generator)


def corners_and_edges(terrain: Terrain) -> Tensor:
    """Points exactly on corners, edges, tops and centres of cells, at, above and below their heights."""
    i = torch.arange(-1, 2 * terrain.size[0] + 1) * 0.5 - 0.5
    j = torch.arange(-1, 2 * terrain.size[1] + 1) * 0.5 - 0.5
    xy = terrain.min_point + terrain.cell * torch.cartesian_prod(i, j)
    z = terrain.height_at(xy)
    return torch.cat([torch.cat([xy, (z + rise)[:, None]], -1) for rise in (-0.3, 0.0, 0.2)])


@pytest.mark.parametrize("border", ["open", "wall"])
def test_distance_is_that_of_the_union_of_columns(border):
    generator = torch.Generator().manual_seed(1)
    for _ in range(25):
        terrain = random_terrain(generator)
        points = torch.cat([points_around(terrain, generator), corners_and_edges(terrain)])
        torch.testing.assert_close(
            signed_distance(terrain, points, border).double(), brute_force(terrain, points, border), atol=1e-5, rtol=0
        )


@pytest.mark.parametrize("border", ["open", "wall"])
def test_far_away_points(border):
    generator = torch.Generator().manual_seed(2)
    terrain = random_terrain(generator)
    points = points_around(terrain, generator, 300, beyond=40.0)
    torch.testing.assert_close(
        signed_distance(terrain, points, border).double(), brute_force(terrain, points, border), atol=1e-5, rtol=1e-6
    )


def test_hand_arithmetic():
    ground = Terrain(torch.tensor([[0.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 0.0]]), torch.zeros(2), 1.0)
    points = torch.tensor(
        [[1.4, 1.0, 1.0], [1.0, 1.0, 1.9], [0.0, 1.0, 0.7], [0.0, 1.0, 0.2], [-1.5, 1.0, -3.0], [-0.5, 1.0, 3.0]]
    )
    expected = torch.tensor([-0.1, -0.1, 0.5, 0.2, 1.0, 2**0.5])
    torch.testing.assert_close(signed_distance(ground, points), expected)


def test_wall_counts_a_point_off_the_map_by_its_way_to_the_map():
    ground = Terrain.flat((5, 5), cell=1.0)
    off = torch.tensor([[-3.5, 2.0, 1.0], [7.5, 7.5, 0.5], [-3.5, 2.0, -4.0]])
    torch.testing.assert_close(penetration_depth(ground, off), torch.tensor([3.0, 18**0.5, 5.0]))
    torch.testing.assert_close(clearance(ground, off, border="open"), torch.tensor([10**0.5, 18.25**0.5, 3.0]))


def test_open_border_lets_points_out_sideways():
    ground = Terrain.flat((5, 5), cell=1.0)
    deep = torch.tensor([[-0.4, 2.0, -2.0]])
    torch.testing.assert_close(penetration_depth(ground, deep, border="open"), torch.tensor([0.1]))
    torch.testing.assert_close(penetration_depth(ground, deep, border="wall"), torch.tensor([2.0]))


@pytest.mark.parametrize("border", ["open", "wall"])
@pytest.mark.parametrize("measure", [signed_distance, signed_distance_local])
def test_batch_of_different_sizes_is_the_terrains_one_by_one(border, measure):
    generator = torch.Generator().manual_seed(3)
    terrains = [random_terrain(generator) for _ in range(6)]
    points = torch.stack([points_around(t, generator, 200) for t in terrains]).view(6, 20, 10, 3)
    together = measure(TerrainBatch.stack(terrains), points, border=border)
    alone = torch.stack([measure(t, p, border=border) for t, p in zip(terrains, points, strict=True)])
    assert together.shape == (6, 20, 10)
    torch.testing.assert_close(together, alone, atol=1e-6, rtol=0)


@pytest.mark.parametrize("border", ["open", "wall"])
@pytest.mark.parametrize("reach", [1, 2])
def test_local_is_exact_within_reach_and_an_upper_bound_beyond(border, reach):
    generator = torch.Generator().manual_seed(4)
    for _ in range(12):
        terrain = random_terrain(generator)
        points = torch.cat([points_around(terrain, generator), corners_and_edges(terrain)])
        exact = signed_distance(terrain, points, border)
        local = signed_distance_local(terrain, points, reach, border)
        near = exact.abs() <= reach * terrain.cell
        torch.testing.assert_close(local[near], exact[near], atol=1e-6, rtol=0)
        assert (local.abs() >= exact.abs() - 1e-6).all()
        assert (local * exact >= 0).all()


@pytest.mark.parametrize("border", ["open", "wall"])
@pytest.mark.parametrize("measure", [signed_distance, signed_distance_local])
def test_gradient_is_the_finite_difference(border, measure):
    generator = torch.Generator().manual_seed(5)
    for _ in range(6):
        terrain = random_terrain(generator)
        points = points_around(terrain, generator, 200).double().requires_grad_()
        measure(terrain, points, border=border).sum().backward()
        step = 1e-5 * torch.eye(3, dtype=torch.float64)
        there, ahead, behind = (measure(terrain, points.detach()[:, None] + s, border=border) for s in (0 * step, step, -step))
        one_sided = (ahead - there) / 1e-5, (there - behind) / 1e-5
        smooth = (one_sided[0] - one_sided[1]).abs().amax(-1) < 1e-3
        assert smooth.float().mean() > 0.95
        torch.testing.assert_close(points.grad[smooth], one_sided[0][smooth], atol=1e-3, rtol=0)


@pytest.mark.parametrize("border", ["open", "wall"])
@pytest.mark.parametrize("measure", [signed_distance, signed_distance_local])
def test_gradient_is_finite_on_surfaces_and_corners_and_of_unit_length_elsewhere(border, measure):
    terrain = random_terrain(torch.Generator().manual_seed(6))
    points = corners_and_edges(terrain).requires_grad_()
    distance = measure(terrain, points, border=border)
    distance.sum().backward()
    assert points.grad.isfinite().all()
    length = points.grad.norm(dim=-1)
    away = distance.abs() > 1e-4
    torch.testing.assert_close(length[away], torch.ones_like(length[away]), atol=1e-4, rtol=0)


def test_asking_for_the_gradient_does_not_change_the_distance():
    generator = torch.Generator().manual_seed(7)
    terrain = random_terrain(generator)
    points = points_around(terrain, generator)
    assert torch.equal(signed_distance(terrain, points.clone().requires_grad_()).detach(), signed_distance(terrain, points))


def test_more_points_than_a_chunk():
    generator = torch.Generator().manual_seed(8)
    terrain = random_terrain(generator)
    points = points_around(terrain, generator, 150_000)
    some = torch.arange(0, 150_000, 997)
    torch.testing.assert_close(
        signed_distance(terrain, points)[some].double(), brute_force(terrain, points[some], "open"), atol=1e-5, rtol=0
    )


def test_odd_input():
    terrain = Terrain.flat((4, 4))
    assert signed_distance(terrain, torch.zeros(0, 3)).shape == (0,)
    assert signed_distance(terrain, torch.zeros(3)).shape == ()
    lost = signed_distance(terrain, torch.tensor([[float("nan"), 0.0, 0.0], [0.0, 0.0, 1.0]]))
    assert lost[0].isnan() and lost[1] == 1.0
    with pytest.raises(TerrainError, match=r"expected \[..., 3\]"):
        signed_distance(terrain, torch.zeros(5, 2))
    with pytest.raises(TerrainError, match=r"\[2, ..., 3\]"):
        signed_distance(TerrainBatch.stack([terrain, terrain]), torch.zeros(5, 3))
    with pytest.raises(TerrainError, match="border"):
        signed_distance(terrain, torch.zeros(5, 3), border="soft")
    with pytest.raises(TerrainError, match="reach"):
        signed_distance_local(terrain, torch.zeros(5, 3), reach=0)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_local_distance_and_gradient_replay_in_a_cuda_graph():
    generator = torch.Generator().manual_seed(9)
    terrains = [random_terrain(generator) for _ in range(4)]
    batch = TerrainBatch.stack(terrains).to("cuda")
    clouds = [torch.stack([points_around(t, generator, 300) for t in terrains]).cuda() for _ in range(2)]
    points = clouds[0].clone().requires_grad_()

    def work() -> tuple[Tensor, Tensor]:
        distance = signed_distance_local(batch, points)
        return distance, torch.autograd.grad(distance.sum(), points)[0]

    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        work()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        distance, gradient = work()
    points.data.copy_(clouds[1])
    graph.replay()
    expected, slope = work()
    torch.testing.assert_close(distance, expected)
    torch.testing.assert_close(gradient, slope)
    torch.testing.assert_close(
        signed_distance(batch, clouds[1]).cpu(), signed_distance(TerrainBatch.stack(terrains), clouds[1].cpu())
    )
