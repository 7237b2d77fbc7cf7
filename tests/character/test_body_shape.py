import math

import numpy as np
import pytest

from parc.character import Box, Capsule, Sphere

TURN = (0.18257418583505536, 0.3651483716701107, 0.5477225575051661, 0.7302967433402214)
SHAPES = [
    Sphere((0.1, -0.2, 0.3), 0.25, 800),
    Capsule((0.1, 0.0, -0.3), (-0.2, 0.15, 0.1), 0.08, 1100),
    Box((0.2, 0.1, 0.0), (0.3, 0.1, 0.05), 900),
    Box((0.2, 0.1, 0.0), (0.3, 0.1, 0.05), 900, TURN),
]


def inside(shape, points):
    if isinstance(shape, Sphere):
        return np.linalg.norm(points - shape.centre, axis=-1) <= shape.radius
    if isinstance(shape, Capsule):
        a, b = np.array(shape.start), np.array(shape.end)
        t = np.clip((points - a) @ (b - a) / ((b - a) @ (b - a)), 0, 1)
        return np.linalg.norm(points - (a + t[:, None] * (b - a)), axis=-1) <= shape.radius
    x, y, z, w = shape.rotation
    u, v = np.array([-x, -y, -z]), points - shape.centre
    local = v + 2 * w * np.cross(u, v) + 2 * np.cross(u, np.cross(u, v))
    return (np.abs(local) <= shape.half).all(-1)


@pytest.mark.parametrize("shape", SHAPES)
def test_volume_and_bounds_are_those_of_the_points_inside(shape):
    low, high = (np.array(corner) for corner in shape.bounds)
    wide = (high - low) * 0.1
    points = np.random.default_rng(0).uniform(low - wide, high + wide, size=(400_000, 3))
    within = points[inside(shape, points)]
    share = len(within) / len(points)
    assert math.isclose(shape.volume, share * np.prod((high - low) * 1.2), rel_tol=0.02)
    assert math.isclose(shape.mass, shape.density * shape.volume)
    assert (within >= low).all() and (within <= high).all()
    assert np.allclose(within.min(0), low, atol=0.03) and np.allclose(within.max(0), high, atol=0.03)
