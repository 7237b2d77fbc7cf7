"""Where to put the camera so that everything is in view."""

import numpy as np
from numpy.typing import NDArray

from parc.terrain.terrain import Terrain


def corner_points(terrain: Terrain) -> NDArray[np.float64]:
    """[N, 3] centres of all tops, and the corners of the map at the foot of its rim."""
    heights = terrain.heights.detach().cpu().double().numpy()
    low, high = (corner.double().numpy() for corner in terrain.extent)
    i, j = (index.ravel() for index in np.indices(heights.shape))
    first = terrain.min_point.double().numpy()
    tops = np.stack([first[0] + terrain.cell * i, first[1] + terrain.cell * j, heights.ravel()], -1)
    corners = np.array([[x, y, heights.min() - 0.5] for x in (low[0], high[0]) for y in (low[1], high[1])])
    return np.concatenate([tops, corners])


def fitting_view(points: NDArray, field: float, aspect: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Eye and target [3] each, from which all points [N, 3] just fit into the view.

    A point that lies r to the right of the target, u above it and a towards the eye is in view from the distance D if
    |r| / (D - a) and |u| / (D - a) are no more than the tangents of half the field: D is the largest that any point asks for.
    Then the target is moved until what is seen lies in the middle of the view, which ends above the playback bar.
    """
    towards = np.array([-0.48, -0.70, 0.53])
    towards /= np.linalg.norm(towards)
    right = np.cross([0.0, 0.0, 1.0], towards)
    right /= np.linalg.norm(right)
    up = np.cross(towards, right)
    tall = np.tan(field / 2)
    bottom, top, side = -0.62 * tall, 0.88 * tall, 0.94 * tall * aspect
    target, distance = 0.5 * (points.min(0) + points.max(0)), 3.0
    for _ in range(6):
        r, u, a = (points - target) @ right, (points - target) @ up, (points - target) @ towards
        distance = max(3.0, float((a + np.maximum(np.abs(r) / side, np.maximum(u / top, u / bottom))).max()))
        across, along = r / (distance - a), u / (distance - a)
        middle = 0.5 * (across.min() + across.max()), 0.5 * (along.min() + along.max()) - 0.5 * (bottom + top)
        target = target + distance * (middle[0] * right + middle[1] * up)
    r, u, a = (points - target) @ right, (points - target) @ up, (points - target) @ towards
    distance = max(3.0, float((a + np.maximum(np.abs(r) / side, np.maximum(u / top, u / bottom))).max()))
    return target + distance * towards, target
