"""Flights take as long as their fall does.

Between two ends that differ in height by d, a flight of T seconds leaves at v_0 = d/T + gT/2 and lands at v_1 = v_0 - gT. When d
becomes d', the body should still leave (jumping down) or land (jumping up) as fast as it did,

    d' <= 0:  T' = (v_0 + sqrt(v_0^2 - 2 g d')) / g         d' > 0:  T' = (-v_1 + sqrt(v_1^2 + 2 g d')) / g

so it keeps its height over the higher of the two ends; over a hurdle higher than both it keeps its height over that. A way that
becomes s times as far is flown in sqrt(s) T', by a jump that is as much faster forwards as upwards. The frames in between are
spread over the new time; the height of the centre of mass is then made a parabola (`ballistic_shift`).
"""

import numpy as np
from numpy.typing import NDArray

from parc.mocap.read.detect_units_and_rate import GRAVITY

Array = NDArray[np.float64]
_FACTOR = (0.6, 1.8)
"""least and greatest change of a flight's time"""
_REACH = (0.7, 1.6)
"""least and greatest change of its way that is believed"""
_PUSH = 0.25
"""s in which a body takes a new speed before a flight, or loses it after"""


def flight_factor(seconds: float, rise: float, new_rise: float, reach: float = 1.0, hurdle: float = 0.0) -> float:
    """By how much a flight of `seconds` gets longer when its rise d (m) changes, its way along the ground by the factor `reach`,
    and a hurdle higher than both ends grows by `hurdle` m."""
    leave = rise / seconds + 0.5 * GRAVITY * seconds
    land = leave - GRAVITY * seconds
    if hurdle and leave > 0:
        top = max(leave**2 / (2 * GRAVITY) + hurdle, new_rise + 0.02, 0.02)
        time = np.sqrt(2 * top / GRAVITY) + np.sqrt(2 * (top - new_rise) / GRAVITY)
    elif new_rise <= 0:
        v = leave if rise <= 0 else -land
        time = (v + np.sqrt(v * v - 2 * GRAVITY * new_rise)) / GRAVITY
    else:
        v = land if rise > 0 else -leave
        time = (-v + np.sqrt(v * v + 2 * GRAVITY * new_rise)) / GRAVITY
    return float(np.clip(time / seconds * np.sqrt(np.clip(reach, *_REACH)), *_FACTOR))


def new_times(frames: int, flights: list[tuple[int, int]], factors: list[float]) -> Array:
    """[T] when each frame is in frames of the new time: flights by their factors, the rest as before."""
    steps = np.ones(frames - 1)
    for (a, b), factor in zip(flights, factors, strict=True):
        steps[a - 1 : b] = factor
    steps = np.convolve(np.pad(steps, 1, mode="edge"), [0.25, 0.5, 0.25], "valid")
    return np.concatenate([[0.0], np.cumsum(steps)])


def ballistic_shift(height: Array, flights: list[tuple[int, int]], fps: float) -> tuple[Array, Array]:
    """Shifts [T] that make a track of heights fall freely in flight, and the same with what goes before and after.

    The first is zero outside flights. The second is for the trunk: a speed that changed is built up while pushing off (deeper
    for a higher jump) and lost again while landing.
    """
    inside, around = np.zeros_like(height), np.zeros_like(height)
    reach = max(round(_PUSH * fps), 1)
    for a, b in flights:
        first, last = a - 1, min(b, len(height) - 1)
        t = np.arange(last - first + 1) / fps
        rise = (height[last] - height[first]) / t[-1] + 0.5 * GRAVITY * t[-1]
        bump = height[first] + rise * t - 0.5 * GRAVITY * t * t - height[first : last + 1]
        inside[first : last + 1] = bump
        for step, at, slope in ((-1, first, bump[1] - bump[0]), (1, last, bump[-2] - bump[-1])):
            u = 1 - np.arange(1, reach) / reach
            rows = at + step * np.arange(1, reach)
            known = (rows >= 0) & (rows < len(height))
            around[rows[known]] += (slope * reach * (u**3 - u**2))[known]
    return inside, inside + around * (inside == 0)
