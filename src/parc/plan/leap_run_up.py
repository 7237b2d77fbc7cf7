"""The run-up that a leap needs: how fast, how long, is there room for it.

speed    m/s at the take-off: 1.2 + gap in m + rise in m, as authored leaps have it
run-up   m to reach it from a stand: speed^2 / (2 * 2.5 m/s2)
room     m of level ground behind the take-off, straight back along the leap
"""

import numpy as np
import torch
from numpy.typing import NDArray

from parc.path.astar_search import Route
from parc.path.navigation_graph import NavigationGraph
from parc.path.terrain_path import TerrainPath
from parc.terrain.terrain import Terrain

LEVEL = 0.1
"""m of height between cells that count as level"""
GAINS = 2.5
"""m/s2 that a runner gains in speed"""
LONGEST = 8
"""cells of room that are looked for: more than any leap asks for"""
_SLOWEST = 1.2
"""m/s at the take-off over next to nothing"""

Array = NDArray[np.float64]


def leap_speed(distance: Array, rise: Array, cell: float) -> Array:
    """m/s at the take-off of leaps `distance` m from the middle of a cell to that of another, `rise` m up."""
    return _SLOWEST + np.maximum(distance - cell, 0.0) + np.maximum(rise, 0.0)


def run_up(speed: Array) -> Array:
    """m that it takes to get so fast."""
    return speed**2 / (2 * GAINS)


def gaps(graph: NavigationGraph) -> Array:
    """[E] m between the nearest points of the two cells of each jump, 0 for steps."""
    here, there = (np.stack([n // graph.size[1], n % graph.size[1]], -1) for n in (graph.sources, graph.targets))
    between = np.linalg.norm(np.maximum(np.abs(there - here) - 1, 0), axis=-1)
    return graph.cell * np.where(graph.is_jump, between, 0.0)


def lacking_run_up(graph: NavigationGraph, heights: Array) -> Array:
    """[E] m that each jump has too little room to run before it, 0 for steps; heights [X, Y]."""
    lacking = np.zeros(graph.num_edges)
    jump = np.nonzero(graph.is_jump)[0]
    if len(jump) == 0:
        return lacking
    here, there = (np.stack([n // graph.size[1], n % graph.size[1]], -1) for n in (graph.sources[jump], graph.targets[jump]))
    way = (there - here).astype(float)
    length = np.linalg.norm(way, axis=-1)
    back = way / length[:, None]
    start = heights[here[:, 0], here[:, 1]]
    free, cells = np.ones(len(jump), bool), np.zeros(len(jump))
    for k in range(1, LONGEST + 1):
        i, j = np.floor(here - k * back + 0.5).astype(int).T
        inside = (i >= 0) & (i < graph.size[0]) & (j >= 0) & (j < graph.size[1])
        ground = heights[i.clip(0, graph.size[0] - 1), j.clip(0, graph.size[1] - 1)]
        free &= inside & (np.abs(ground - start) <= LEVEL)
        cells += free
    speed = leap_speed(length * graph.cell, heights[there[:, 0], there[:, 1]] - start, graph.cell)
    lacking[jump] = np.maximum(run_up(speed) - cells * graph.cell, 0.0)
    return lacking


def with_run_ups(terrain: Terrain, route: Route, path: TerrainPath) -> TerrainPath:
    """The path of a route, which wants the speed of each leap from its run-up on until it is over."""
    if not any(route.is_jump):
        return path
    cells = np.array(route.cells, float)
    heights = terrain.heights.detach().cpu().numpy().astype(np.float64)[tuple(np.array(route.cells).T)]
    length = np.linalg.norm(np.diff(cells, axis=0), axis=-1) * terrain.cell
    begins = np.concatenate([[0.0], np.cumsum(length)])
    speed = leap_speed(length, np.diff(heights), terrain.cell)
    arc = path.arc_length.detach().cpu().double().numpy()
    wanted = np.full(len(arc), np.nan)
    for k in np.flatnonzero(np.array(route.is_jump)):
        near = (arc >= begins[k] - run_up(speed[k]) - 1e-6) & (arc < begins[k + 1] - 1e-6)
        wanted[near] = np.fmax(wanted[near], speed[k])
    return TerrainPath(path.nodes, torch.from_numpy(wanted).float())
