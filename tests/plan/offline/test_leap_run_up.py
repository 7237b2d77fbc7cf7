"""Leaps ask for a run-up: routes prefer take-offs with room behind them, and paths want the speed there."""

import numpy as np
import torch

from parc.path.navigation_graph import NavigationGraph
from parc.plan.leap_run_up import gaps, lacking_run_up, leap_speed, run_up
from parc.plan.least_effort_route import RouteSettings, plan_route
from parc.terrain.terrain import Terrain

CELL = 0.4


def towers(before: int, gap: int) -> Terrain:
    """A platform `before` cells long, a gap of so many cells, a platform: from the middle of a pit 4 m deep."""
    heights = torch.full((before + gap + 6, 5), -4.0)
    heights[1 : 1 + before, 1:4] = 0.0
    heights[1 + before + gap : -1, 1:4] = 0.0
    return Terrain(heights, torch.zeros(2))


def test_a_wider_gap_and_a_rise_ask_for_more_speed_and_way():
    speeds = leap_speed(np.array([0.8, 1.6, 1.6]), np.array([0.0, 0.0, 0.4]), CELL)
    np.testing.assert_allclose(speeds, [1.6, 2.4, 2.8])
    np.testing.assert_allclose(run_up(speeds)[0], 1.6**2 / 5)


def test_what_a_leap_lacks_is_what_the_platform_is_too_short():
    found = {}
    for cells in (1, 2, 6):
        terrain = towers(cells, 3)
        graph = NavigationGraph.of(terrain)
        lacking = lacking_run_up(graph, terrain.heights.double().numpy())
        edge = graph.edge(graph.node((cells, 2)), graph.node((cells + 4, 2)))
        assert edge is not None and graph.is_jump[edge] and not lacking[~graph.is_jump].any()
        found[cells] = lacking[edge]
    need = (1.2 + 1.2) ** 2 / 5
    np.testing.assert_allclose([found[1], found[2], found[6]], [need, need - CELL, 0.0])


def test_the_path_wants_the_speed_from_the_run_up_to_the_landing():
    terrain = towers(8, 3)
    path = plan_route(terrain, (1, 2), (14, 2), np.random.default_rng(0))
    assert path.pace is not None
    wanted = path.nodes[~path.pace.isnan(), 0] / CELL
    take_off = float(wanted.max())
    assert 8 <= take_off < 12 and 8 - (2.4**2 / 5 + CELL) / CELL <= float(wanted.min()) < 8
    torch.testing.assert_close(path.pace[~path.pace.isnan()], torch.full((len(wanted),), 2.4))
    flat = plan_route(Terrain(torch.zeros(12, 5), torch.zeros(2)), (1, 2), (10, 2), np.random.default_rng(0))
    assert flat.pace is None


def test_a_route_leaps_where_it_can_run_up():
    """Two take-offs, one from a ledge a cell deep on the straight way, one from a platform beside it."""
    heights = torch.full((14, 9), -4.0)
    heights[4:5, 1:4] = 0.0  # the ledge, with nothing behind it
    heights[4, 3:9] = 0.0
    heights[1:5, 6:9] = 0.0  # the platform
    heights[7:13, 1:9] = 0.0
    terrain = Terrain(heights, torch.zeros(2))

    def take_off(price: float) -> float:
        path = plan_route(terrain, (4, 2), (9, 4), np.random.default_rng(0), RouteSettings(run_up=price))
        assert path.pace is not None
        return float(path.nodes[~path.pace.isnan(), 1].min() / CELL)

    assert take_off(40.0) > take_off(0.0) + 1


def test_two_short_leaps_come_before_a_long_one():
    """Three towers of 1.6 m: corner to corner 1.70 m, along the sides of the square 1.2 m twice."""
    heights = torch.full((13, 13), -4.0)
    for i, j in ((1, 1), (1, 8), (8, 8)):
        heights[i : i + 4, j : j + 4] = 0.0
    terrain = Terrain(heights, torch.zeros(2))
    graph = NavigationGraph.of(terrain)
    width = gaps(graph)
    assert not width[~graph.is_jump].any()
    for there, expected in (((8, 8), CELL * np.hypot(3, 3)), ((4, 8), 3 * CELL)):
        edge = graph.edge(graph.node((4, 4)), graph.node(there))
        assert edge is not None
        np.testing.assert_allclose(width[edge], expected)

    def leaps(price: float) -> int:
        path = plan_route(terrain, (2, 2), (10, 10), np.random.default_rng(0), RouteSettings(leap=price))
        over = heights[tuple((path.resampled(0.05).nodes[:, :2] / CELL).round().long().T)] < -1
        return int(over.int().diff().eq(1).sum())

    assert leaps(0.0) == 1 and leaps(RouteSettings().leap) == 2
