"""The visible surface of a terrain as quads: tops of cells, and the parts of walls that stand out of lower neighbours.

Meshes for files (`parc.terrain.triangle_mesh`), pictures (`parc.render.terrain_columns`) and the studio's tiles are made of them.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parc.terrain.terrain import Terrain

_SIDES = {
    (1, 0): ((1, 0), (1, 1)),
    (-1, 0): ((0, 1), (0, 0)),
    (0, 1): ((1, 1), (0, 1)),
    (0, -1): ((0, 0), (1, 0)),
}
"""for each neighbour, the cell corners its wall runs between, so that the wall faces the neighbour"""


@dataclass(frozen=True, eq=False)
class ColumnFaces:
    """Quads: the tops of all cells, then the walls towards +x, -x, +y, -y."""

    corners: NDArray[np.float64]
    """[F, 4, 3] counter-clockwise from outside; of a wall the two at its foot come first"""
    axis: NDArray[np.int8]
    """[F] 0, 1, 2: the face lies in a plane of constant x, y, z"""
    sign: NDArray[np.int8]
    """[F] +1 or -1: where it looks along the axis"""
    cells: NDArray[np.int32]
    """[F, 2] the column it belongs to"""
    foot: NDArray[np.float64]
    """[F] m, height of its lower edge"""
    top: NDArray[np.float64]
    """[F] m, height of its upper edge"""
    is_rim: NDArray[np.bool_]
    """[F] a wall at the edge of the map"""

    def triangles(self) -> NDArray[np.int64]:
        """[2 F, 3] into the flattened corners."""
        first = 4 * np.arange(len(self.corners))[:, None]
        return np.concatenate([first + (0, 1, 2), first + (0, 2, 3)])


def column_faces(
    terrain: Terrain, skirt: float, first: tuple[int, int] = (0, 0), count: int | None = None, least: float = 0.0
) -> ColumnFaces:
    """Faces of the cells from `first` on, `count` along each side (all, if not given).

    Walls are those higher than `least` (m); around the map they reach `skirt` m under its lowest cell.
    """
    heights = terrain.heights.detach().cpu().double().numpy()
    around = np.pad(heights, 1, constant_values=heights.min() - skirt)
    x, y = (float(terrain.min_point[k]) + terrain.cell * (np.arange(heights.shape[k] + 1) - 0.5) for k in (0, 1))
    ends = [n if count is None else min(a + count, n) for a, n in zip(first, heights.shape, strict=True)]
    ranges = [np.arange(a, end) for a, end in zip(first, ends, strict=True)]
    i, j = (index.ravel() for index in np.meshgrid(*ranges, indexing="ij"))
    top = heights[i, j]
    corners = [_quads((x[i], x[i + 1], x[i + 1], x[i]), (y[j], y[j], y[j + 1], y[j + 1]), (top,) * 4)]
    parts = [(np.full(len(i), 2), np.ones(len(i)), np.stack([i, j], -1), top, top, np.zeros(len(i), bool))]
    for (di, dj), (a, b) in _SIDES.items():
        beside = around[1 + i + di, 1 + j + dj]
        free = beside < top - least
        ci, cj, low, high = i[free], j[free], beside[free], top[free]
        xs, ys = (x[ci + a[0]], x[ci + b[0]]), (y[cj + a[1]], y[cj + b[1]])
        corners.append(_quads((xs[0], xs[1], xs[1], xs[0]), (ys[0], ys[1], ys[1], ys[0]), (low, low, high, high)))
        rim = (ci + di < 0) | (ci + di >= heights.shape[0]) | (cj + dj < 0) | (cj + dj >= heights.shape[1])
        size = len(ci)
        parts.append((np.full(size, 0 if di else 1), np.full(size, di + dj), np.stack([ci, cj], -1), low, high, rim))
    axis, sign, cells, foot, head, is_rim = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return ColumnFaces(
        np.concatenate(corners), axis.astype(np.int8), sign.astype(np.int8), cells.astype(np.int32), foot, head, is_rim
    )


def _quads(xs: tuple, ys: tuple, zs: tuple) -> NDArray[np.float64]:
    """Corners [Q, 4, 3] from four arrays [Q] each of x, y and z."""
    return np.stack([np.stack(values, -1) for values in (xs, ys, zs)], -1)
