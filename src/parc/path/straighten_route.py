"""Straight lines where the ground is level: a route of cells is a staircase that turns every .4 m, and nobody walks so.

Between two cells of a route that are equally high, with nothing but level ground under the straight line between them and beside
it, the cells between are left out, the farthest that can be seen first. Cells at a jump, at a step up or down, and their
neighbours on the route stay: they say how a step is met.
"""

from collections.abc import Collection
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from parc.path.astar_search import Route
from parc.path.navigation_graph import Cell
from parc.terrain.terrain import Terrain

LEVEL = 0.1
"""m of height between cells that count as level"""
BESIDE = 0.25
"""m to both sides of the line that must be level too: about half of a body's width"""
_STEP = 0.1
"""cells between the points of a line that are looked at"""


def straightened(terrain: Terrain, route: Route, avoid: Collection[Cell] = ()) -> Route:
    """The route with as few cells as straight lines over level ground allow; jumps and steps as they were.

    No line passes a cell to `avoid`, but where the route itself does.
    """
    heights = np.where(_mask(terrain, avoid), np.nan, terrain.heights.detach().cpu().numpy())  # nan is level with nothing
    kept = _kept(heights, route)
    chosen, is_jump, here, last = [0], [], 0, len(route.cells) - 1
    while here < last:
        there = here + 1
        if not kept[here] or not kept[there]:
            end = next(k for k in range(here + 1, last + 1) if kept[k])
            seen = (k for k in range(end, here + 1, -1) if _is_level(heights, terrain.cell, route.cells[here], route.cells[k]))
            there = next(seen, there)
        chosen.append(there)
        is_jump.append(route.is_jump[here] if there == here + 1 else False)
        here = there
    return replace(route, cells=tuple(route.cells[k] for k in chosen), is_jump=tuple(is_jump))


def _mask(terrain: Terrain, cells: Collection[Cell]) -> NDArray[np.bool_]:
    mask = np.zeros(terrain.size, dtype=bool)
    if cells:
        mask[tuple(np.array(list(cells)).T)] = True
    return mask


def _kept(heights: NDArray[np.float64], route: Route) -> list[bool]:
    """Which cells of the route stay: its ends, and those at jumps and steps with their neighbours."""
    kept = [False] * len(route.cells)
    kept[0] = kept[-1] = True
    for k, jump in enumerate(route.is_jump):
        if jump or not abs(heights[route.cells[k + 1]] - heights[route.cells[k]]) <= LEVEL:
            for near in range(max(k - 1, 0), min(k + 3, len(kept))):
                kept[near] = True
    return kept


def _is_level(heights: NDArray[np.float64], cell: float, here: Cell, there: Cell) -> bool:
    """Whether the ground under the line from cell to cell, and `BESIDE` it, is as high as where it begins."""
    a, b = np.array(here, float), np.array(there, float)
    length = float(np.linalg.norm(b - a))
    along = (b - a) / max(length, 1e-9)
    across = np.array([-along[1], along[0]]) * BESIDE / cell
    points = a + np.linspace(0, length, max(2, round(length / _STEP) + 1))[:, None] * along
    corridor = np.concatenate([points, points + across, points - across])
    i, j = np.floor(corridor + 0.5).astype(int).T
    inside = (i >= 0) & (i < heights.shape[0]) & (j >= 0) & (j < heights.shape[1])
    level = np.abs(heights[i.clip(0, heights.shape[0] - 1), j.clip(0, heights.shape[1] - 1)] - heights[here]) <= LEVEL
    return bool((inside & level)[: len(points)].all() and (level | ~inside).all())
