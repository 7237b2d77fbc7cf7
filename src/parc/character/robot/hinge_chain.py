"""A turn as the angles of two or three hinges in sequence, as robots have in hips, shoulders, waists and ankles.

    R = R(a1, t1) R(a2, t2) R(a3, t3)

for any axes (Davenport's angles; a G1's hip has its second axis 10 degrees off). Since R(a1, .) and R(a3, .) keep their axes,

    a1 . R a3 = a1 . R(a2, t2) a3 = A + B cos t2 + C sin t2

gives two t2; then t1 turns R(a2, t2) a3 to R a3 about a1, and t3 is what is left. Over a motion that one of the two is taken by
which the angles stay in their ranges and do not jump (the cheapest path through both, frame by frame). Where a3 is turned onto
a1 only the sum of t1 and t3 is known: there t1 is led from the frame before to the one after.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_KNOWN = 0.2
"""sine between a1 and the turned a3 under which t1 is not known"""
_BEYOND = 4.0
"""cost of a rad outside of a range, in rad of change from frame to frame"""
_FAR = 0.02
"""cost of a rad of t2 away from the middle of its range"""


def chain_angles(turns: Array, axes: Sequence[Sequence[float]], lower: Sequence[float], upper: Sequence[float]) -> Array:
    """Angles [T, k] of k = 1 to 3 hinges that come nearest to turns [T, 3, 3], in their ranges."""
    a = np.asarray(axes, dtype=np.float64)
    if len(a) == 1:
        angles = _about(a[0], turns)[:, None]
    elif len(a) == 2:
        first = _from_to(a[0], a[1], turns @ a[1])
        angles = np.stack([first, _about(a[1], _turn(a[0], -first) @ turns)], -1)
    else:
        angles = _three(turns, a, np.asarray(lower), np.asarray(upper))
    return np.clip(_into_ranges(angles, np.asarray(lower), np.asarray(upper)), lower, upper)


def _three(turns: Array, a: Array, lower: Array, upper: Array) -> Array:
    goal = turns @ a[2]
    constant = (a[0] @ a[1]) * (a[1] @ a[2])
    cosine, sine = a[0] @ a[2] - constant, a[0] @ np.cross(a[1], a[2])
    middle = np.arctan2(sine, cosine)
    away = np.arccos(np.clip((goal @ a[0] - constant) / max(np.hypot(cosine, sine), 1e-9), -1, 1))
    both = np.stack([_with_second(turns, a, goal, middle + side * away) for side in (1.0, -1.0)], 1)
    both = _into_ranges(both, lower, upper)

    # the cheapest path through the two solutions of every frame
    excess = (np.maximum(lower - both, 0) + np.maximum(both - upper, 0)).sum(-1)
    cost = _BEYOND * excess + _FAR * np.abs(both[..., 1] - 0.5 * (lower + upper)[1])
    change = np.abs(_wrapped(both[1:, :, None] - both[:-1, None])).sum(-1)
    came = np.zeros((len(turns), 2), dtype=int)
    total = cost[0]
    for t in range(1, len(turns)):
        ways = total + change[t - 1]
        came[t] = ways.argmin(1)
        total = ways.min(1) + cost[t]
    chosen = [int(total.argmin())]
    for t in range(len(turns) - 1, 0, -1):
        chosen.append(int(came[t, chosen[-1]]))
    angles = both[np.arange(len(turns)), chosen[::-1]]

    # where only the sum of the first and the third is known
    known = np.linalg.norm(np.cross(goal, a[0]), axis=-1) > _KNOWN
    if known.any() and not known.all():
        times = np.arange(len(turns))
        first = np.interp(times, times[known], np.unwrap(angles[known, 0]))
        rest = _turn(a[1], -angles[:, 1]) @ _turn(a[0], -first) @ turns
        angles = np.where(known[:, None], angles, np.stack([first, angles[:, 1], _about(a[2], rest)], -1))
    return angles


def _with_second(turns: Array, a: Array, goal: Array, second: Array) -> Array:
    turned = _turn(a[1], second)
    first = _from_to(a[0], turned @ a[2], goal)
    rest = _turn(a[1], -second) @ _turn(a[0], -first) @ turns
    return np.stack([first, second, _about(a[2], rest)], -1)


def _into_ranges(angles: Array, lower: Array, upper: Array) -> Array:
    """The same turns, whole ones added where that brings them nearer to the middles of their ranges."""
    middle = 0.5 * (lower + upper)
    return middle + _wrapped(angles - middle)


def _wrapped(angle: Array) -> Array:
    return (angle + np.pi) % (2 * np.pi) - np.pi


def _turn(axis: Array, angle: Array) -> Array:
    """[T, 3, 3] about a unit axis."""
    x, y, z = axis
    k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle)[:, None, None] * k + (1 - np.cos(angle))[:, None, None] * (k @ k)


def _from_to(axis: Array, start: Array, end: Array) -> Array:
    """Angles [T] about an axis by which vectors come nearest to others."""
    start, end = np.broadcast_arrays(start, end)
    return np.arctan2(np.cross(start, end) @ axis, (start * end).sum(-1) - (start @ axis) * (end @ axis))


def _about(axis: Array, turns: Array) -> Array:
    """Angles [T] about an axis nearest to turns."""
    skew = (turns - turns.transpose(0, 2, 1))[:, [2, 0, 1], [1, 2, 0]]
    return np.arctan2(skew @ axis, np.trace(turns, axis1=1, axis2=2) - (turns @ axis) @ axis)
