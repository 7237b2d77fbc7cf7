import numpy as np
import pytest
import torch
from scipy.ndimage import label
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from parc.terrain.parkour_course import LANES, SIZE, parkour_park
from parc.terrain.procedural_terrain import random_slice


def crosses(heights: np.ndarray, climb: float) -> bool:
    """Whether the west side is joined to the east side by steps between neighbours no higher than `climb`."""
    number = np.arange(heights.size).reshape(heights.shape)
    pairs = [
        (number[1:], number[:-1], heights[1:], heights[:-1]),
        (number[:, 1:], number[:, :-1], heights[:, 1:], heights[:, :-1]),
    ]
    rows = np.concatenate([a[abs(p - q) <= climb] for a, _, p, q in pairs])
    columns = np.concatenate([b[abs(p - q) <= climb] for _, b, p, q in pairs])
    graph = coo_matrix((np.ones(len(rows)), (rows, columns)), shape=(heights.size, heights.size))
    _, island = connected_components(graph, directed=False)
    island = island.reshape(heights.shape)
    return bool(set(island[0]) & set(island[-1]))


def test_always_the_same_and_centred():
    park = parkour_park()
    assert park.size == (SIZE, SIZE) and torch.equal(park.heights, parkour_park().heights)
    low, high = park.extent
    torch.testing.assert_close(low, -high)


def test_streets_can_be_walked():
    heights = parkour_park().heights.numpy()
    assert crosses(heights, climb=0.05)


@pytest.mark.parametrize("lane", LANES)
def test_every_lane_can_be_crossed_by_climbing(lane):
    first, last = LANES[lane]
    assert crosses(parkour_park().heights.numpy()[:, first:last], climb=1.25)


def test_no_sheer_wall_is_beyond_the_character():
    heights = parkour_park().heights
    assert max(heights.diff(dim=k).abs().max() for k in (0, 1)) <= 2.11


def test_it_has_what_a_park_needs():
    heights = parkour_park().heights.numpy()
    walls = np.concatenate([np.abs(np.diff(heights, axis=k)).ravel() for k in (0, 1)])
    for low, high in ((0.04, 0.06), (0.14, 0.26), (0.35, 0.65), (0.75, 1.05), (1.05, 1.45), (1.55, 1.75), (1.9, 2.1)):
        assert ((walls > low) & (walls < high)).sum() >= 4, (low, high)
    assert (heights < -1).sum() > 100
    roofs = heights[32:75, 40] > 0.9
    runs, count = label(~roofs)
    assert sorted(int((runs == k).sum()) for k in range(1, count + 1)) == [2, 3, 4, 5, 6]


def test_slices_are_rarely_flat():
    generator = np.random.default_rng(0)
    park = parkour_park()
    flat = [random_slice(park, (16, 16), generator).heights.unique().numel() < 3 for _ in range(100)]
    assert sum(flat) <= 5
