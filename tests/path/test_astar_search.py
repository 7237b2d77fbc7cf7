from itertools import pairwise

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra

from parc.errors import PathError, SettingsError
from parc.path.astar_search import cheapest_route, heuristic
from parc.path.edge_cost import CostSettings, draw_costs
from parc.path.navigation_graph import NavigationGraph
from parc.terrain.terrain import Terrain


def random_terrain(rng: np.random.Generator) -> Terrain:
    """Boxes, a raised random walk over a deep floor, or noise."""
    size = tuple(int(n) for n in rng.integers(5, 17, 2))
    kind = rng.integers(3)
    if kind == 0:
        heights = rng.uniform(-2.5, 2.5, size)
    elif kind == 1:
        heights = np.zeros(size)
        for _ in range(8):
            i, j, a, b = (*(rng.integers(0, n) for n in size), *rng.integers(1, 7, 2))
            heights[i : i + a, j : j + b] = rng.uniform(-4, 4)
    else:
        heights, at = np.full(size, -6.0), rng.integers(0, size)
        for _ in range(6 * max(size)):
            heights[tuple(at)] = rng.uniform(-1, 1)
            at = np.clip(at + rng.integers(-2, 3, 2), 0, np.array(size) - 1)
    return Terrain(torch.tensor(heights, dtype=torch.float32), torch.zeros(2), 0.4)


def random_costs(rng: np.random.Generator) -> CostSettings:
    c_min = float(rng.choice([0.0, rng.uniform(0, 1)]))
    return CostSettings(float(rng.uniform(0, 2)), float(rng.uniform(0, 1)), c_min, c_min + float(rng.uniform(0, 1)))


def oracle(graph: NavigationGraph, costs: np.ndarray, source: int) -> np.ndarray:
    # scipy takes an explicit zero for a missing edge, so costs of zero are lifted by less than the comparison can see
    matrix = csr_matrix((np.maximum(costs, 1e-15), graph.targets, graph.indptr), shape=(graph.num_nodes,) * 2)
    return dijkstra(matrix, indices=source)


def test_cost_equals_dijkstra_on_random_terrains():
    unreachable = jumps = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        terrain = random_terrain(rng)
        settings = CostSettings() if seed % 2 else random_costs(rng)
        graph = NavigationGraph.of(terrain)
        costs = draw_costs(graph, settings, rng)
        start, goal = (graph.cell_of(int(n)) for n in rng.integers(0, graph.num_nodes, 2))
        best = oracle(graph, costs, graph.node(start))[graph.node(goal)]
        if np.isinf(best):
            unreachable += 1
            with pytest.raises(PathError, match="cannot be reached"):
                cheapest_route(graph, costs, start, goal, settings)
            continue
        route = cheapest_route(graph, costs, start, goal, settings)
        nodes = [graph.node(c) for c in route.cells]
        edges = [graph.edge(a, b) for a, b in pairwise(nodes)]
        assert route.cells[0] == start and route.cells[-1] == goal
        assert None not in edges
        assert route.cost == pytest.approx(best, rel=1e-9, abs=1e-12)
        assert route.cost == pytest.approx(costs[edges].sum(), abs=1e-12)
        assert list(route.is_jump) == graph.is_jump[edges].tolist()
        jumps += sum(route.is_jump)
    assert unreachable >= 5 and jumps >= 20  # the comparison covered both


def test_heuristic_is_consistent_and_admissible():
    for seed in range(40):
        rng = np.random.default_rng([1, seed])
        graph = NavigationGraph.of(random_terrain(rng))
        settings = random_costs(rng)
        costs = draw_costs(graph, settings, rng)
        goal = graph.cell_of(int(rng.integers(graph.num_nodes)))
        h = heuristic(graph, goal, settings)
        sink = graph.node(goal)
        assert h[sink] == 0
        assert (h[graph.sources] <= costs + h[graph.targets] + 1e-9).all()
        backward = csr_matrix((np.maximum(costs, 1e-15), graph.targets, graph.indptr), shape=(graph.num_nodes,) * 2).T.tocsr()
        assert (h <= dijkstra(backward, indices=sink) + 1e-9).all()


def test_heuristic_is_exact_on_flat_ground_without_noise():
    graph = NavigationGraph.of(Terrain.flat((9, 12)))
    settings = CostSettings(c_max=0)
    route = cheapest_route(graph, draw_costs(graph, settings, np.random.default_rng(0)), (0, 0), (4, 11), settings)
    assert route.cost == pytest.approx(0.16 * 15)
    assert heuristic(graph, (4, 11), settings)[0] == pytest.approx(0.16 * 15)
    assert route.expanded < 9 * 12


def test_costs_are_the_papers():
    graph = NavigationGraph.of(Terrain(torch.tensor([[0.0, 2.0]]), torch.zeros(2)))
    assert draw_costs(graph, CostSettings(c_max=0), np.random.default_rng(0)) == pytest.approx([0.16 + 0.15 * 4] * 2)
    large = NavigationGraph.of(Terrain.flat((60, 60)))
    noise = draw_costs(large, CostSettings(w_xy=0), np.random.default_rng(0))
    assert 0 <= noise.min() < 0.001 and 0.499 < noise.max() <= 0.5
    assert noise.mean() == pytest.approx(0.25, abs=0.005)


def test_climbing_is_preferred_to_a_long_way_round():
    heights = torch.zeros(21, 9)
    heights[1:, 4] = 1.0
    graph = NavigationGraph.of(Terrain(heights, torch.zeros(2)))
    costs = draw_costs(graph, CostSettings(c_max=0), np.random.default_rng(0))
    route = cheapest_route(graph, costs, (20, 0), (20, 8), CostSettings(c_max=0))
    assert {i for i, _ in route.cells} == {20}


def test_a_tower_cannot_be_reached():
    heights = torch.zeros(8, 8)
    heights[4, 4] = 10.0
    graph = NavigationGraph.of(Terrain(heights, torch.zeros(2)))
    costs = draw_costs(graph, CostSettings(), np.random.default_rng(0))
    with pytest.raises(PathError, match=r"goal \(4, 4\) cannot be reached from the start \(0, 0\): only 63 of 64"):
        cheapest_route(graph, costs, (0, 0), (4, 4), CostSettings())


def test_start_at_the_goal_is_one_cell_and_cells_off_the_map_are_errors():
    graph = NavigationGraph.of(Terrain.flat((4, 4)))
    costs = draw_costs(graph, CostSettings(), np.random.default_rng(0))
    route = cheapest_route(graph, costs, (1, 2), (1, 2), CostSettings())
    assert (route.cells, route.is_jump, route.cost) == (((1, 2),), (), 0.0)
    with pytest.raises(PathError, match=r"start \(4, 0\) is off the map"):
        cheapest_route(graph, costs, (4, 0), (1, 1), CostSettings())
    with pytest.raises(PathError, match=r"goal \(0, -1\) is off the map"):
        cheapest_route(graph, costs, (0, 0), (0, -1), CostSettings())


def test_impossible_cost_settings_are_refused():
    with pytest.raises(SettingsError, match="c_min is 1"):
        CostSettings(c_min=1, c_max=0.5)
    with pytest.raises(SettingsError, match=r"w_z is -0\.1"):
        CostSettings(w_z=-0.1)
