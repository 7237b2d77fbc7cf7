import math

import numpy as np
import pytest
import torch

from parc.errors import PathError, SettingsError
from parc.path.navigation_graph import GraphSettings, NavigationGraph, crossed_cells
from parc.terrain.terrain import Terrain

SETTINGS = GraphSettings()


def terrain_of(heights, cell: float = 0.4) -> Terrain:
    return Terrain(torch.as_tensor(heights, dtype=torch.float32), torch.zeros(2), cell)


def random_heights(rng: np.random.Generator, kind: str, size: tuple[int, int]) -> np.ndarray:
    if kind == "noise":
        return np.round(rng.uniform(-2, 2, size), 1)
    heights = np.zeros(size)
    for _ in range(rng.integers(3, 9)):
        i, j = rng.integers(0, size[0]), rng.integers(0, size[1])
        a, b = rng.integers(1, 6, 2)
        heights[i : i + a, j : j + b] = np.round(rng.uniform(-3, 3), 1)
    return heights


def edges_of(graph: NavigationGraph) -> dict[tuple, bool]:
    pairs = zip(graph.sources.tolist(), graph.targets.tolist(), graph.is_jump.tolist(), strict=True)
    return {(graph.cell_of(a), graph.cell_of(b)): jump for a, b, jump in pairs}


def brute_force_step(h: np.ndarray, a: tuple, b: tuple) -> bool:
    if max(abs(a[0] - b[0]), abs(a[1] - b[1])) != 1 or abs(h[a] - h[b]) > SETTINGS.max_step + 1e-5:
        return False
    if a[0] == b[0] or a[1] == b[1]:
        return True
    return all(h[side] <= max(h[a], h[b]) + SETTINGS.corner_step + 1e-5 for side in ((a[0], b[1]), (b[0], a[1])))


def is_cliff(h: np.ndarray, a: tuple) -> bool:
    near = h[max(a[0] - 1, 0) : a[0] + 2, max(a[1] - 1, 0) : a[1] + 2]
    return bool(h[a] - near.min() > SETTINGS.cliff_drop + 1e-5)


def segment_in_square(a: np.ndarray, b: np.ndarray, centre: np.ndarray, half: float) -> tuple[float, float] | None:
    """Liang-Barsky clipping: the part of the segment inside a closed square."""
    low, high = 0.0, 1.0
    for k in range(2):
        d, lo, hi = b[k] - a[k], centre[k] - half - a[k], centre[k] + half - a[k]
        if d == 0:
            if lo > 0 or hi < 0:
                return None
            continue
        low, high = max(low, min(lo / d, hi / d)), min(high, max(lo / d, hi / d))
    return (low, high) if low <= high + 1e-9 else None


def brute_force_jump(h: np.ndarray, a: tuple, b: tuple, cell: float) -> bool:
    dz = h[b] - h[a]
    if max(abs(a[0] - b[0]), abs(a[1] - b[1])) < 2 or cell * math.dist(a, b) > SETTINGS.jump_distance + 1e-6:
        return False
    if not (-SETTINGS.jump_down - 1e-5 <= dz <= SETTINGS.jump_up + 1e-5 and is_cliff(h, a) and is_cliff(h, b)):
        return False
    gap = False
    for c in np.ndindex(*h.shape):
        part = None if c in (a, b) else segment_in_square(np.array(a, float), np.array(b, float), np.array(c, float), 0.5)
        if part is None:
            continue
        line = h[a] + SETTINGS.jump_clearance + min(part[0] * dz, part[1] * dz)
        if h[c] > line + 1e-5:
            return False
        gap |= part[1] - part[0] > 1e-6 and h[c] < min(h[a], h[b]) - SETTINGS.cliff_drop - 1e-5
    return gap


@pytest.mark.parametrize("kind", ["noise", "boxes"])
@pytest.mark.parametrize("size", [(7, 8), (10, 5), (1, 9), (2, 2)])
def test_edges_are_those_of_a_double_loop(kind, size):
    h = random_heights(np.random.default_rng([size[0], size[1], len(kind)]), kind, size)
    # heights and limits are multiples of 0.1 m, so the limits themselves are tried
    graph = NavigationGraph.of(terrain_of(h))
    expected = {}
    for a in np.ndindex(*size):
        for b in np.ndindex(*size):
            if brute_force_step(h, a, b):
                expected[a, b] = False
            elif brute_force_jump(h, a, b, 0.4):
                expected[a, b] = True
    assert edges_of(graph) == expected


def test_the_random_maps_hold_jumps_so_that_the_comparison_means_something():
    rng = np.random.default_rng([7, 8, 5])
    assert NavigationGraph.of(terrain_of(random_heights(rng, "noise", (7, 8)))).is_jump.sum() > 20


@pytest.mark.parametrize("seed", range(6))
def test_no_jump_passes_through_a_wall_and_all_have_a_gap(seed):
    h = random_heights(np.random.default_rng(seed), ("noise", "boxes")[seed % 2], (14, 14))
    terrain = terrain_of(h)
    graph = NavigationGraph.of(terrain)
    flat, sources = h.ravel(), graph.sources
    assert graph.is_jump.any()
    for e in np.flatnonzero(graph.is_jump):
        a, b = (torch.tensor(graph.cell_of(int(n)), dtype=torch.float64) for n in (sources[e], graph.targets[e]))
        t = torch.linspace(0, 1, 1500, dtype=torch.float64)[:, None]
        under = terrain.height_at((0.4 * (a + t * (b - a))).float()).double()
        za, zb = flat[sources[e]], flat[graph.targets[e]]
        assert (under <= za + 0.5 + t[:, 0] * (zb - za) + 1e-3).all()
        assert under.min() < min(za, zb) - SETTINGS.cliff_drop


def test_squared_lengths_belong_to_their_edges():
    h = random_heights(np.random.default_rng(3), "noise", (9, 6))
    graph = NavigationGraph.of(terrain_of(h, cell=0.5))
    for e, (a, b) in enumerate(zip(graph.sources.tolist(), graph.targets.tolist(), strict=True)):
        ca, cb = graph.cell_of(a), graph.cell_of(b)
        assert graph.horizontal2[e] == pytest.approx(0.25 * math.dist(ca, cb) ** 2)
        assert graph.dz2[e] == pytest.approx((h[ca] - h[cb]) ** 2, abs=1e-5)
        assert graph.edge(a, b) == e


def test_two_platforms_are_joined_over_a_pit_but_not_through_a_wall():
    h = np.zeros((3, 7))
    h[:, 2:5] = -5
    assert edges_of(NavigationGraph.of(terrain_of(h)))[(1, 1), (1, 5)]
    h[:, 3] = 0.6  # taller than the line 0.5 m above the platforms
    assert ((1, 1), (1, 5)) not in edges_of(NavigationGraph.of(terrain_of(h)))
    h[:, 3] = 0.4
    assert ((1, 1), (1, 5)) in edges_of(NavigationGraph.of(terrain_of(h)))


def test_a_platform_edge_is_walked_not_jumped_along():
    h = np.full((9, 9), -1.0)
    h[2, :] = 0
    assert not any(jump and a[0] == b[0] == 2 for (a, b), jump in edges_of(NavigationGraph.of(terrain_of(h))).items())


def test_a_jump_falls_further_than_it_rises():
    h = np.full((1, 4), -5.0)
    h[0, 0], h[0, 3] = 0.0, 0.8
    edges = edges_of(NavigationGraph.of(terrain_of(h)))
    assert ((0, 3), (0, 0)) in edges
    assert ((0, 0), (0, 3)) not in edges


@pytest.mark.parametrize(("corner", "open_"), [(0.0, True), (0.2, True), (0.3, False), (-9.0, True)])
def test_a_diagonal_step_does_not_cut_a_corner(corner, open_):
    edges = edges_of(NavigationGraph.of(terrain_of([[0.0, corner], [0.0, 0.0]])))
    assert (((0, 0), (1, 1)) in edges) == open_
    assert ((1, 1), (0, 0)) in edges or not open_


def test_a_step_of_exactly_the_limit_is_allowed():
    edges = edges_of(NavigationGraph.of(terrain_of([[0.3, 2.4, 4.6]])))
    assert ((0, 0), (0, 1)) in edges
    assert ((0, 1), (0, 2)) not in edges


def test_crossed_cells_cover_the_line_and_know_a_touched_corner():
    for di in range(-7, 8):
        for dj in range(-7, 8):
            if max(abs(di), abs(dj)) < 2:
                continue
            cells, first, last, through = crossed_cells(di, dj)
            n = max(abs(di), abs(dj))
            # both end cells reach as far along the line as half a cell of the leading axis
            assert (last - first).sum() == pytest.approx(1 - 1 / n)
            assert (through == (last - first > 1e-12)).all()
            touched = {tuple(c) for c in cells[~through].tolist()}
            assert bool(touched) == ((di // math.gcd(di, dj)) % 2 != 0 and (dj // math.gcd(di, dj)) % 2 != 0)


def test_no_jumps_when_switched_off():
    h = random_heights(np.random.default_rng(0), "noise", (8, 8))
    assert not NavigationGraph.of(terrain_of(h), GraphSettings(jump_distance=0)).is_jump.any()


def test_errors_name_the_value():
    with pytest.raises(SettingsError, match="max_step is -1"):
        GraphSettings(max_step=-1)
    with pytest.raises(SettingsError, match="jump_up is nan"):
        GraphSettings(jump_up=float("nan"))
    with pytest.raises(PathError, match=r"the goal \(3, 9\) is off the map"):
        NavigationGraph.of(Terrain.flat((4, 5))).node((3, 9), "goal")
    with pytest.raises(PathError, match="off the map"):
        NavigationGraph.of(Terrain.flat((4, 5))).node((-1, 0))


def test_a_single_cell_has_no_edges():
    graph = NavigationGraph.of(Terrain.flat((1, 1)))
    assert (graph.num_nodes, graph.num_edges, graph.longest_edge) == (1, 0, 1)
