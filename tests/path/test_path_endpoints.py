import numpy as np
import pytest

from parc.errors import PathError, SettingsError
from parc.path.path_endpoints import EndpointSettings, endpoint_cells, random_endpoints
from parc.terrain.terrain import Terrain


@pytest.mark.parametrize("size", [(16, 16), (15, 30), (5, 20), (100, 100)])
def test_endpoints_lie_near_the_edges_and_apart(size):
    terrain = Terrain.flat(size)
    rng = np.random.default_rng(0)
    allowed = [{1, 2, n - 3, n - 2} for n in size]
    seen = set()
    for _ in range(300):
        ends = random_endpoints(terrain, rng)
        assert 0.4 * np.linalg.norm(np.subtract(*ends)) >= 5 - 1e-6
        for i, j in ends:
            assert 1 <= i <= size[0] - 2 and 1 <= j <= size[1] - 2
            assert i in allowed[0] or j in allowed[1]
            seen.add((i, j))
    assert len(seen) > 20


def test_every_start_with_a_partner_can_be_drawn():
    terrain = Terrain.flat((14, 15))
    cells = endpoint_cells((14, 15))
    pairs = 0.4 * np.linalg.norm(cells[:, None] - cells[None], axis=-1) >= 5 - 1e-6
    expected = {tuple(c) for c in cells[pairs.any(1)].tolist()}
    rng = np.random.default_rng(0)
    assert {random_endpoints(terrain, rng)[0] for _ in range(3000)} == expected
    assert 4 <= len(expected) < len(cells)


@pytest.mark.parametrize("size", [(1, 1), (2, 40), (3, 3), (8, 8)])
def test_a_small_map_has_no_endpoints_unless_asked_for_nearer_ones(size):
    with pytest.raises(PathError, match=rf"{size[0]} x {size[1]} cells has no start and goal 5 m apart"):
        random_endpoints(Terrain.flat(size), np.random.default_rng(0))
    if size == (8, 8):
        start, goal = random_endpoints(Terrain.flat(size), np.random.default_rng(0), EndpointSettings(min_distance=1.5))
        assert 0.4 * np.linalg.norm(np.subtract(start, goal)) >= 1.5 - 1e-6


def test_same_seed_same_endpoints_and_bad_distances_are_refused():
    terrain = Terrain.flat((20, 20))
    draws = [[random_endpoints(terrain, rng) for _ in range(10)] for rng in map(np.random.default_rng, (1, 1, 2))]
    assert draws[0] == draws[1] != draws[2]
    with pytest.raises(SettingsError, match="min_distance is 0"):
        EndpointSettings(min_distance=0)
