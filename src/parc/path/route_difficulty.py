"""How hard a path is: its highest climb, its deepest drop and its widest gap.

A path touches the ground at the centres of cells; between two of these it steps to a neighbour or leaps, along a straight line
that waypoints fill. A climb or drop is the height from one of these footholds to the next. A gap is the longest unbroken piece of
a leap's line that runs over ground more than `cliff_drop` below both of its ends.
"""

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from parc.path.navigation_graph import ROUNDING, GraphSettings, crossed_cells
from parc.path.terrain_path import TerrainPath
from parc.terrain.terrain import Terrain

_ON_GROUND = 1e-3
"""m between a waypoint and the ground, or the centre of a cell, that is rounding"""


class Difficulty(NamedTuple):
    """What a body must master along a route."""

    climb: float
    """highest rise from one foothold to the next, m"""
    drop: float
    """deepest fall from one foothold to the next, m"""
    gap: float
    """widest gap that is leapt, m; 0 where none is"""


def difficulty_of(terrain: Terrain, path: TerrainPath, settings: GraphSettings | None = None) -> Difficulty:
    """Of a path planned on this terrain."""
    cells = terrain.cell_of(path.nodes[:, :2])
    off_centre = (path.nodes[:, :2] - terrain.centre_of(cells)).norm(dim=-1)
    above = path.nodes[:, 2] - terrain.height_at(path.nodes[:, :2])
    touches = (off_centre < _ON_GROUND) & (above.abs() < _ON_GROUND)
    footholds = cells[touches].tolist()
    heights = terrain.heights.detach().cpu().double().numpy()
    rises = [float(heights[*b] - heights[*a]) for a, b in pairwise(footholds)]
    depth = (settings or GraphSettings()).cliff_drop
    gaps = [_gap(heights, terrain.cell, (a[0], a[1]), (b[0], b[1]), depth) for a, b in pairwise(footholds)]
    return Difficulty(max([0.0, *rises]), max([0.0, *(-rise for rise in rises)]), max([0.0, *gaps]))


def _gap(heights: np.ndarray, cell: float, a: tuple[int, int], b: tuple[int, int], depth: float) -> float:
    di, dj = b[0] - a[0], b[1] - a[1]
    if max(abs(di), abs(dj)) < 2:
        return 0.0
    cells, first, last, through = crossed_cells(di, dj)
    i, j = (cells[through] + a).T
    is_deep = heights[i, j] < min(heights[a], heights[b]) - depth - ROUNDING
    widest, end, width = 0.0, 0.0, 0.0
    for enter, leave in sorted(zip(first[through][is_deep].tolist(), last[through][is_deep].tolist(), strict=True)):
        width = width + leave - enter if enter <= end + ROUNDING else leave - enter
        end, widest = leave, max(widest, width)
    return widest * cell * math.hypot(di, dj)
