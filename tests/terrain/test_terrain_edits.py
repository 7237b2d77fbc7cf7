import pytest
import torch

from parc.errors import TerrainError
from parc.terrain import terrain_edits
from parc.terrain.terrain import Terrain
from parc.terrain.terrain_distance import signed_distance


def some_terrain(rows: int = 7, columns: int = 5) -> Terrain:
    generator = torch.Generator().manual_seed(rows)
    heights = torch.randn(rows, columns, generator=generator)
    bounds = torch.stack([heights + 1, heights - 1], -1) + 0.1 * torch.randn(rows, columns, 1, generator=generator)
    return Terrain(heights, torch.tensor([1.5, -0.7]), 0.4, bounds)


def test_regions():
    terrain = some_terrain()
    inside = torch.zeros(terrain.size, dtype=torch.bool)
    inside[2:5, 1:3] = True
    for edited, expected in (
        (terrain_edits.set_region(terrain, (2, 1), (5, 3), 1.25), torch.full((3, 2), 1.25)),
        (terrain_edits.raise_region(terrain, (2, 1), (5, 3), 0.5), terrain.heights[2:5, 1:3] + 0.5),
        (terrain_edits.lower_region(terrain, (2, 1), (5, 3), 0.5), terrain.heights[2:5, 1:3] - 0.5),
        (terrain_edits.flatten_region(terrain, (2, 1), (5, 3)), terrain.heights[2:5, 1:3].mean().expand(3, 2)),
    ):
        torch.testing.assert_close(edited.heights[2:5, 1:3], expected)
        assert torch.equal(edited.heights[~inside], terrain.heights[~inside])
        assert edited.bounds is None and terrain.bounds is not None


@pytest.mark.parametrize(("start", "stop"), [((0, 0), (8, 1)), ((-1, 0), (2, 2)), ((3, 3), (3, 4))])
def test_regions_off_the_map_are_refused(start, stop):
    with pytest.raises(TerrainError, match="7 x 5"):
        terrain_edits.set_region(some_terrain(), start, stop, 0.0)
    with pytest.raises(TerrainError):
        terrain_edits.crop(some_terrain(), start, stop)


def test_max_pool_is_the_highest_of_the_neighbours():
    terrain = some_terrain()
    pooled = terrain_edits.max_pool(terrain, 2).heights
    for i in range(7):
        for j in range(5):
            assert pooled[i, j] == terrain.heights[max(0, i - 2) : i + 3, max(0, j - 2) : j + 3].max()
    assert torch.equal(terrain_edits.max_pool(terrain, 0).heights, terrain.heights)


def test_pad_then_crop_is_the_identity_and_leaves_cells_in_place():
    terrain = some_terrain()
    for height in (None, -3.0):
        wide = terrain_edits.pad(terrain, 3, height)
        assert wide.size == (13, 11) and wide.bounds.shape == (13, 11, 2)
        assert wide.heights[0, 0] == (terrain.heights[0, 0] if height is None else height)
        back = terrain_edits.crop(wide, (3, 3), (10, 8))
        assert torch.equal(back.heights, terrain.heights) and torch.equal(back.bounds, terrain.bounds)
        torch.testing.assert_close(back.min_point, terrain.min_point)
        xy = terrain.centre_of(torch.tensor([[0, 0], [6, 4], [3, 2]]))
        assert torch.equal(wide.height_at(xy), terrain.height_at(xy))


def test_moving_moves_distances_along():
    terrain, shift = some_terrain(), torch.tensor([0.3, -2.0, 0.8])
    points = torch.randn(100, 3, generator=torch.Generator().manual_seed(0))
    moved = terrain_edits.moved(terrain, shift)
    torch.testing.assert_close(signed_distance(moved, points + shift), signed_distance(terrain, points), atol=1e-5, rtol=0)
    torch.testing.assert_close(moved.bounds, terrain.bounds + 0.8)


def test_recentred_map_lies_around_the_origin():
    low, high = terrain_edits.recentred(some_terrain()).extent
    torch.testing.assert_close(low, -high)


def test_mirroring_reflects_the_world_and_twice_is_the_identity():
    terrain, flip = some_terrain(), torch.tensor([1.0, -1.0, 1.0])
    mirrored, twice = terrain_edits.mirrored(terrain), terrain_edits.mirrored(terrain_edits.mirrored(terrain))
    points = 2 * torch.randn(200, 3, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(signed_distance(mirrored, points * flip), signed_distance(terrain, points), atol=1e-5, rtol=0)
    assert torch.equal(twice.heights, terrain.heights) and torch.equal(twice.bounds, terrain.bounds)
    torch.testing.assert_close(twice.min_point, terrain.min_point)
    assert torch.equal(mirrored.bounds[2, 0], terrain.bounds[2, -1])


def test_impossible_edits():
    with pytest.raises(TerrainError, match="-1"):
        terrain_edits.pad(some_terrain(), -1)
    with pytest.raises(TerrainError, match="-2"):
        terrain_edits.max_pool(some_terrain(), -2)
    with pytest.raises(TerrainError, match="shift"):
        terrain_edits.moved(some_terrain(), torch.zeros(4))
