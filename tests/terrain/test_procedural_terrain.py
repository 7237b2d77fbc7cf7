import numpy as np
import pytest
import torch
from scipy.ndimage import binary_opening

from parc.errors import TerrainError
from parc.terrain.procedural_terrain import (
    CROWDED,
    RandomBoxes,
    RandomWalks,
    crowded_boxes,
    flatten_blocks,
    random_boxes,
    random_slice,
    random_walks,
)
from parc.terrain.terrain import Terrain


def draw(seed: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence([seed, 0, 0]))


@pytest.mark.parametrize("make", [lambda g: random_boxes(RandomBoxes(), g), lambda g: random_walks(RandomWalks(), g)])
def test_the_seed_decides(make):
    assert torch.equal(make(draw(3)).heights, make(draw(3)).heights)
    assert not torch.equal(make(draw(3)).heights, make(draw(4)).heights)


def test_crowded_boxes_are_of_each_kind_and_harder_than_plain_ones():
    """A step up of more than half a metre beside a cell: between how many pairs of neighbours."""
    made = [crowded_boxes(draw(seed)) for seed in range(60)]
    assert torch.equal(made[7].heights, crowded_boxes(draw(7)).heights)
    assert {tuple(t.heights.shape) for t in made} == {kind.size for kind in CROWDED}

    def steep(kind: RandomBoxes) -> float:
        heights = torch.stack([random_boxes(kind, draw(seed)).heights for seed in range(30)])
        return float((heights.diff(dim=1).abs() > 0.5).float().mean())

    plain, *crowded = (steep(kind) for kind in CROWDED)
    assert min(crowded) > 1.5 * plain


@pytest.mark.parametrize("size", [(16, 16), (15, 9), (1, 1), (2, 31)])
def test_boxes_leave_no_thin_gaps_or_walls(size):
    for seed in range(20):
        heights = random_boxes(RandomBoxes(size=size), draw(seed)).heights
        assert tuple(heights.shape) == size and heights.abs().max() <= 2
        for i in range(0, size[0], 2):
            for j in range(0, size[1], 2):
                assert heights[i : i + 2, j : j + 2].unique().numel() == 1


def test_flattening_takes_the_highest_of_each_window():
    heights = np.arange(15.0).reshape(3, 5)
    expected = [[6, 6, 8, 8, 9], [6, 6, 8, 8, 9], [11, 11, 13, 13, 14]]
    assert np.array_equal(flatten_blocks(heights), expected)


def test_one_box_on_flat_ground_is_a_rectangle_of_the_sizes_asked_for():
    for seed in range(30):
        heights = random_boxes(RandomBoxes(size=(40, 40), boxes=1, side=(6, 6)), draw(seed)).heights
        covered = (heights != 0).nonzero()
        if heights.max() > 0:
            assert len(covered) == (covered.amax(0) - covered.amin(0) + 1).prod()
            assert (covered.amax(0) - covered.amin(0) + 1).max() <= 8


def test_walks_are_ten_heights_over_a_floor_and_nothing_is_thinner_than_three_cells():
    for seed in range(5):
        heights = random_walks(RandomWalks(), draw(seed)).heights
        levels = heights.unique()
        assert heights.shape == (32, 32) and len(levels) <= 11
        assert heights.min() >= -2 and heights[heights > -2].min() >= -1.6 and heights.max() <= 2
        highest = np.pad((heights == heights.max()).numpy(), 1, mode="edge")
        assert np.array_equal(binary_opening(highest, np.ones((3, 3)))[1:-1, 1:-1], highest[1:-1, 1:-1])


def test_a_straight_walk_is_as_long_as_its_speed_says():
    settings = RandomWalks(size=(200, 200), walks=1, steps=300, turn=0.0, speed=2.0)
    for seed in range(5):
        path = (random_walks(settings, draw(seed)).heights > -2).nonzero()
        inside = path.amin() > 1 and path.amax() < 198
        if inside:
            length = (path.amax(0) - path.amin(0) - 2).float().mul(0.4).norm()
            assert length >= 2.0 * 10 - 1


def test_slices_are_pieces_of_the_map_around_the_origin():
    whole = Terrain(torch.arange(600.0).view(20, 30), torch.tensor([7.0, -3.0]))
    corners = set()
    for seed in range(40):
        piece = random_slice(whole, (6, 9), draw(seed))
        i, j = divmod(int(piece.heights[0, 0]), 30)
        corners.add((i, j))
        assert torch.equal(piece.heights, whole.heights[i : i + 6, j : j + 9])
        low, high = piece.extent
        torch.testing.assert_close(low, -high)
    assert len(corners) > 30
    assert torch.equal(random_slice(whole, (20, 30), draw(0)).heights, whole.heights)


def test_wrong_settings_are_named():
    with pytest.raises(TerrainError, match="0 x 4"):
        random_boxes(RandomBoxes(size=(0, 4)), draw(0))
    with pytest.raises(TerrainError, match="sides 9 to 3"):
        random_boxes(RandomBoxes(side=(9, 3)), draw(0))
    with pytest.raises(TerrainError, match="-1 walks"):
        random_walks(RandomWalks(walks=-1), draw(0))
    with pytest.raises(TerrainError, match="does not fit"):
        random_slice(Terrain.flat((5, 5)), (6, 5), draw(0))
