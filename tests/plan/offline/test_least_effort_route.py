"""Routes avoid what is hard where there is a way around, and are the cheapest."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra

from parc.errors import SettingsError
from parc.path import CostSettings, NavigationGraph, PlanSettings
from parc.path.astar_search import Route
from parc.plan.least_effort_route import RouteSettings, cell_under, ends_of, plan_random_route, plan_route, straight_at_climbs
from parc.terrain import RandomBoxes, Terrain, random_boxes

QUIET = PlanSettings(cost=CostSettings(c_max=0.0))


def walled() -> Terrain:
    """A wall of 1.5 m across the map with a gate at its end."""
    heights = torch.zeros(11, 11)
    heights[5, :9] = 1.5
    return Terrain(heights, torch.zeros(2))


def test_a_wall_is_walked_around_unless_effort_is_free() -> None:
    around = plan_route(walled(), (1, 1), (9, 1), np.random.default_rng(0), RouteSettings(plan=QUIET))
    over = plan_route(walled(), (1, 1), (9, 1), np.random.default_rng(0), RouteSettings(climb=0, drop=0, jump=0, plan=QUIET))
    assert float(around.nodes[:, 2].max()) == 0.0 and around.length > over.length
    assert float(over.nodes[:, 2].max()) == 1.5


def test_a_climb_beyond_reach_is_taken_only_where_there_is_no_other_way() -> None:
    """A ledge of 1.9 m across the map; 7 cells aside it has a place of 1.84 m, which saves less climbing than it costs in way."""
    heights = torch.zeros(11, 11)
    heights[5:] = 1.9
    heights[5, 8] = 1.84
    ends = (1, 1), (9, 1), np.random.default_rng(0)
    for beyond, low in ((RouteSettings().beyond, True), (0.0, False)):
        path = plan_route(Terrain(heights, torch.zeros(2)), *ends, RouteSettings(beyond=beyond, plan=QUIET))
        rise = float((path.nodes[1:, 2] - path.nodes[:-1, 2]).max())
        assert rise == pytest.approx(1.84 if low else 1.9)
    heights[5, 8] = 1.9
    only = plan_route(Terrain(heights, torch.zeros(2)), *ends, RouteSettings(plan=QUIET))
    assert float(only.nodes[-1, 2]) == pytest.approx(1.9)


def test_a_blocked_gate_is_not_taken() -> None:
    blocked = {(5, 9): 100.0, (5, 10): 100.0}
    path = plan_route(walled(), (1, 1), (9, 1), np.random.default_rng(0), RouteSettings(plan=QUIET), blocked=blocked)
    assert float(path.nodes[:, 2].max()) == 1.5


def _askew(graph: NavigationGraph, edge: int, rise: float) -> bool:
    (i, j), (k, m) = graph.cell_of(int(graph.sources[edge])), graph.cell_of(int(graph.targets[edge]))
    return i != k and j != m and rise > 0.3 and not graph.is_jump[edge]


def test_the_route_is_the_cheapest_with_effort() -> None:
    """Oracle: Dijkstra of scipy over the same edge costs, written out by hand."""
    terrain = random_boxes(RandomBoxes(), np.random.default_rng(3))
    settings = RouteSettings(plan=QUIET, straight=False, straighten=False)
    graph = NavigationGraph.of(terrain, settings.plan.graph)
    z = terrain.heights.double().flatten().numpy()
    rise = z[graph.targets] - z[graph.sources]
    cost = (
        graph.horizontal2
        + 0.15 * rise**2
        + 12 * np.clip(rise - 0.3, 0, None)
        + 4 * np.clip(-rise - 0.6, 0, None)
        + 3 * graph.is_jump
        + 4 * np.array([_askew(graph, k, rise[k]) for k in range(len(rise))])
    )
    distance = dijkstra(
        csr_matrix((cost, (graph.sources, graph.targets)), shape=(graph.num_nodes,) * 2), indices=graph.node((1, 1))
    )
    path = plan_route(terrain, (1, 1), (14, 13), np.random.default_rng(0), settings, graph)
    cells = [cell_under(terrain, node[:2]) for node in path.nodes]
    total = 0.0
    here = graph.node(cells[0])
    for cell in cells[1:]:
        edge = graph.edge(here, graph.node(cell))
        if edge is not None:  # a jump has waypoints in between that are no nodes of it
            total, here = total + cost[edge], graph.node(cell)
    assert here == graph.node((14, 13))
    assert total == pytest.approx(distance[graph.node((14, 13))], rel=1e-6)


def test_the_same_seed_gives_the_same_route_between_its_ends() -> None:
    terrain = random_boxes(RandomBoxes(), np.random.default_rng(5))
    a, b = (plan_random_route(terrain, np.random.default_rng(7)) for _ in range(2))
    assert torch.equal(a.nodes, b.nodes)
    start, goal = ends_of(terrain, a)
    assert torch.equal(terrain.centre_of(torch.tensor(start)), a.nodes[0, :2])
    assert torch.equal(terrain.centre_of(torch.tensor(goal)), a.nodes[-1, :2])


def test_a_small_map_is_crossed_too() -> None:
    path = plan_random_route(Terrain.flat((10, 6)), np.random.default_rng(0))
    assert float((path.nodes[-1] - path.nodes[0])[:2].norm()) >= 0.7 * 0.4 * np.hypot(7, 3) - 1e-6


def test_negative_effort_is_refused() -> None:
    with pytest.raises(SettingsError, match="none below 0"):
        RouteSettings(climb=-1.0)


def test_climbs_are_met_head_on_and_left_straight_where_there_is_room() -> None:
    heights = torch.zeros(9, 9)
    heights[4:, :] = 1.0
    route = Route(((3, 1), (3, 2), (4, 2), (4, 3), (4, 4)), (False,) * 4, 0.0, 0)
    cells = straight_at_climbs(Terrain(heights, torch.zeros(2)), route, 0.3).cells
    assert cells == ((3, 1), (2, 2), (3, 2), (4, 2), (5, 2), (4, 3), (4, 4))
    heights[5, 2], heights[2, 2] = 2.0, -1.0
    assert straight_at_climbs(Terrain(heights, torch.zeros(2)), route, 0.3) == route
    assert straight_at_climbs(Terrain(heights, torch.zeros(2)), route, 1.5) == route, "no climb, no change"


def test_a_climb_across_a_corner_costs_more() -> None:
    heights = torch.zeros(9, 9)
    heights[4:, 4:] = 0.6
    ground = Terrain(heights, torch.zeros(2))

    def crossings(askew: float) -> int:
        settings, found = RouteSettings(askew=askew, straight=False), 0
        for seed in range(20):
            path = plan_route(ground, (2, 2), (6, 6), np.random.default_rng(seed), settings)
            cells = [cell_under(ground, node[:2]) for node in path.nodes]
            found += any(heights[a] < heights[b] and a[0] != b[0] and a[1] != b[1] for a, b in pairwise(cells))
        return found

    assert crossings(0.0) > 0 and crossings(4.0) == 0
