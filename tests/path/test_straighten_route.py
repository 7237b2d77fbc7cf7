"""Routes go straight where the ground is level, and nowhere else."""

import itertools

import numpy as np
import pytest
import torch

from parc.path.astar_search import Route
from parc.path.straighten_route import BESIDE, LEVEL, straightened
from parc.plan.least_effort_route import RouteSettings, plan_route
from parc.terrain import Terrain
from parc.terrain.stair_flights import Stairs, stairs


def turns(nodes: torch.Tensor) -> float:
    """Degrees, of all corners together."""
    step = nodes[1:, :2] - nodes[:-1, :2]
    heading = np.unwrap(torch.atan2(step[:, 1], step[:, 0]).numpy())
    return float(np.degrees(np.abs(np.diff(heading)).sum()))


def staircase(size: int) -> Route:
    """Along the diagonal, one cell to the side at a time."""
    cells = [(k // 2 + k % 2, k // 2) for k in range(2 * size - 1)]
    return Route(tuple(cells), (False,) * (len(cells) - 1), 0.0, 0)


def test_a_flat_field_is_crossed_in_one_line() -> None:
    ground = Terrain.flat((30, 30))
    assert straightened(ground, staircase(20)).cells == ((0, 0), (19, 19))
    path = plan_route(ground, (2, 3), (25, 14), np.random.default_rng(0))
    assert turns(path.nodes) < 1e-3
    crooked = plan_route(ground, (2, 3), (25, 14), np.random.default_rng(0), RouteSettings(straighten=False))
    assert path.length < crooked.length


def test_the_line_keeps_its_distance_from_what_is_not_level() -> None:
    """Oracle: every cell within `BESIDE` of the route, looked at every 2 cm, is level."""
    rng = np.random.default_rng(4)
    for _ in range(20):
        heights = torch.from_numpy(np.where(rng.random((24, 24)) < 0.12, 0.4, 0.0)).float()
        heights[:, 0] = heights[:, -1] = heights[0] = heights[-1] = 0.0
        ground = Terrain(heights, torch.zeros(2))
        route = Route(tuple((0, k) for k in range(24)) + tuple((k, 23) for k in range(1, 24)), (False,) * 46, 0.0, 0)
        nodes = ground.centre_of(torch.tensor(straightened(ground, route).cells))
        for a, b in itertools.pairwise(nodes):
            if (b - a).norm() < 1.5 * ground.cell:  # from cell to cell, as the route came
                continue
            line = a + torch.linspace(0, 1, 400)[:, None] * (b - a)
            across = torch.stack([-(b - a)[1], (b - a)[0]]) / (b - a).norm() * (BESIDE - 0.03)
            for side in (-1, 0, 1):
                assert ground.height_at(line + side * across).max() <= LEVEL


@pytest.mark.parametrize("rise", [0.15, 0.4])
def test_steps_jumps_and_their_neighbours_stay(rise: float) -> None:
    heights = torch.zeros(20, 9)
    heights[10:] = rise
    ground = Terrain(heights, torch.zeros(2))
    cells = tuple((k, 4) for k in range(20))
    straight = straightened(ground, Route(cells, (False,) * 19, 0.0, 0))
    assert straight.cells == ((0, 4), (8, 4), (9, 4), (10, 4), (11, 4), (19, 4))
    leap = Route((*cells[:5], *cells[7:9], *cells[9:10]), (False,) * 4 + (True,) + (False,) * 2, 0.0, 0)
    kept = straightened(Terrain.flat((20, 9)), leap)
    assert kept.cells == ((0, 4), (3, 4), (4, 4), (7, 4), (8, 4), (9, 4)) and kept.is_jump == (False, False, True, False, False)


def test_dear_cells_are_not_cut_through() -> None:
    """A detour around cells to avoid stays one; on the way it has waypoints a cell apart."""
    ground, dear = Terrain.flat((30, 15)), {(15, j): 10.0 for j in range(3, 15)}
    way = plan_route(ground, (2, 10), (27, 10), np.random.default_rng(0), blocked=dear)
    assert float(way.nodes[:, 1].min()) <= 2.5 * 0.4 and way.length > 11
    assert float((way.nodes[1:, :2] - way.nodes[:-1, :2]).norm(dim=-1).max()) < 1.5 * 0.4 * 1.01
    free = plan_route(ground, (2, 10), (27, 10), np.random.default_rng(0))
    assert turns(free.nodes) < 1e-3 and len(free.nodes) == 26


def test_every_tread_of_stairs_stays_on_the_route() -> None:
    ground = stairs(Stairs())
    heights = plan_route(ground, (1, 2), (ground.size[0] - 2, 2), np.random.default_rng(0)).nodes[:, 2]
    assert float((heights[1:] - heights[:-1]).abs().max()) <= 0.5
