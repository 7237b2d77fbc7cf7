"""What a ray from the eye meets: a column of the terrain, a triangle of a body.

The ray walks the grid cell by cell (Amanatides and Woo). In the cell between its parameters t0 and t1 it is between the heights
z(t0) and z(t1): if z(t0) is already below the top it has come through the wall, if z(t1) is it falls onto the top in between.
A ray of an H x W map visits at most H + W cells.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parc.path.navigation_graph import Cell
from parc.terrain.terrain import Terrain


@dataclass(frozen=True)
class Hit:
    """Where a ray meets the terrain."""

    cell: Cell
    point: tuple[float, float, float]
    """m, in the world"""
    distance: float
    """along the ray, in lengths of its direction"""
    on_top: bool
    """on the top of the column, not on its wall"""


def pick_cell(terrain: Terrain, origin: ArrayLike, direction: ArrayLike) -> Hit | None:
    """The first column a ray meets, None if it misses the map."""
    o, d = np.asarray(origin, float), np.asarray(direction, float)
    if o.shape != (3,) or d.shape != (3,) or not np.isfinite([o, d]).all() or not np.any(d):
        return None
    heights = terrain.heights.detach().cpu().numpy()
    low = np.array(terrain.min_point.tolist()) - 0.5 * terrain.cell
    size = np.array(terrain.size)
    with np.errstate(divide="ignore", invalid="ignore"):
        edges = np.stack([low - o[:2], low + terrain.cell * size - o[:2]]) / d[:2]
    edges = np.where(np.isnan(edges), 0.0, edges)
    still = d[:2] == 0
    inside = (o[:2] >= low) & (o[:2] < low + terrain.cell * size)
    if np.any(still & ~inside):
        return None
    enter = float(max(0.0, np.where(still, -np.inf, edges.min(0)).max()))
    leave = float(np.where(still, np.inf, edges.max(0)).min())
    if leave <= enter:
        return None
    at = np.clip(np.floor((o[:2] + enter * d[:2] - low) / terrain.cell).astype(int), 0, size - 1)
    step = np.sign(d[:2]).astype(int)
    t0 = enter
    while True:
        border = low + terrain.cell * (at + (step > 0))
        to_border = [(border[k] - o[k]) / d[k] if step[k] else np.inf for k in (0, 1)]
        axis = int(to_border[1] < to_border[0])
        t1 = max(to_border[axis], t0)
        cell = (int(at[0]), int(at[1]))
        top = float(heights[cell])
        if o[2] + t0 * d[2] <= top:
            return _hit(cell, o + t0 * d, t0, on_top=t0 == 0)
        if d[2] < 0 and o[2] + t1 * d[2] <= top:
            t = (top - o[2]) / d[2]
            return _hit(cell, o + t * d, float(t), on_top=True)
        if not np.isfinite(t1):
            return None
        at[axis] += step[axis]
        if not 0 <= at[axis] < size[axis]:
            return None
        t0 = t1


def pick_triangle(corners: NDArray, origin: ArrayLike, direction: ArrayLike) -> tuple[int, float] | None:
    """The nearest of the triangles [F, 3, 3] a ray meets and how far along it (Moeller and Trumbore), None if it misses all."""
    o, d = np.asarray(origin, float), np.asarray(direction, float)
    edge_1, edge_2 = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    across = np.cross(d, edge_2)
    area = (edge_1 * across).sum(-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = 1 / area
        from_corner = o - corners[:, 0]
        u = scale * (from_corner * across).sum(-1)
        turned = np.cross(from_corner, edge_1)
        v = scale * (turned @ d)
        t = scale * (edge_2 * turned).sum(-1)
        hit = (np.abs(area) > 1e-14) & (u >= 0) & (v >= 0) & (u + v <= 1) & (t > 0)
    if not hit.any():
        return None
    nearest = int(np.where(hit, t, np.inf).argmin())
    return nearest, float(t[nearest])


def _hit(cell: Cell, point: NDArray, distance: float, on_top: bool) -> Hit:
    return Hit(cell, (float(point[0]), float(point[1]), float(point[2])), distance, on_top)
