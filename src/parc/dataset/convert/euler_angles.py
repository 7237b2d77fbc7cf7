"""Rotation matrices to Euler angles of any order of three different axes, without a jump where that can be avoided.

For an order ijk the matrix is R = R_i(a) R_j(b) R_k(c). With s = +1 for cyclic orders (XYZ, YZX, ZXY) and -1 otherwise

    b = atan2(s R_ik, |(R_ii, R_ij)|)     a = atan2(-s R_jk, R_kk)     c from what is left, R_i(a)^T R = R_j(b) R_k(c)

Where b is a quarter turn (gimbal lock) a and c turn about one axis and only their sum is defined; since c is taken from what is
left after a, the product is exact there too. (a, b, c) and (a + pi, pi - b, c + pi) are one rotation: of these two and of all
full turns the frame takes what is nearest to the frame before.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_TURN = 2 * np.pi


def to_euler(matrices: Array, order: str) -> Array:
    """Matrices [..., 3, 3] to angles [..., 3] (rad) in the sequence of `order`, such as "YXZ"; the middle one within +-pi/2."""
    i, j, k = ("XYZ".index(axis) for axis in order)
    s = 1.0 if (j - i) % 3 == 1 else -1.0
    m = matrices
    b = np.arctan2(s * m[..., i, k], np.hypot(m[..., i, i], m[..., i, j]))
    a = np.arctan2(-s * m[..., j, k], m[..., k, k])
    cos, sin = np.cos(a), s * np.sin(a)
    c = np.arctan2(s * (cos * m[..., j, i] + sin * m[..., k, i]), cos * m[..., j, j] + sin * m[..., k, j])
    return np.stack([a, b, c], -1)


def continuous(angles: Array) -> Array:
    """Angles [T, ..., 3] with every frame the equivalent nearest to the frame before."""
    result = angles.copy()
    twin = np.stack([angles[..., 0] + np.pi, np.pi - angles[..., 1], angles[..., 2] + np.pi], -1)
    for t in range(1, len(angles)):
        before = result[t - 1]
        one, two = (c[t] - _TURN * np.round((c[t] - before) / _TURN) for c in (angles, twin))
        nearer = np.abs(one - before).sum(-1, keepdims=True) <= np.abs(two - before).sum(-1, keepdims=True)
        result[t] = np.where(nearer, one, two)
    return result
