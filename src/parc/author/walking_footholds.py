"""Footholds of walking and running by rule.

    step length  l = 0.36 + 0.22 v        step time  l / v        (v in m/s; 1.2 m/s: 0.62 m and 0.52 s, as people do)

A foot stands for `duty` step times: over 1 the stances overlap (walk), under 1 there is flight between them (run).
"""

import math
from dataclasses import dataclass

import numpy as np

from parc.author.skill_script import SIGN, Key, Step
from parc.fit.held_parts import Side

STANDING = 0.862
"""m, height of the pelvis over the ground in a walk"""


@dataclass(frozen=True)
class Pace:
    """Steps of a speed."""

    speed: float
    """m/s"""

    @property
    def length(self) -> float:
        """m between the two feet along the way"""
        return 0.36 + 0.22 * self.speed

    @property
    def time(self) -> float:
        """s from one foot's landing to the other's"""
        return self.length / self.speed

    @property
    def duty(self) -> float:
        """step times that a foot stands"""
        return float(np.interp(self.speed, [1.4, 2.0, 2.6, 3.4], [1.22, 1.08, 0.86, 0.72]))

    @property
    def stance(self) -> float:
        """s"""
        return self.duty * self.time

    @property
    def brisk(self) -> float:
        """0 arms hang as in a walk .. 1 they are bent as in a run"""
        return float(np.clip((self.speed - 1.4) / 1.4, 0, 1))

    @property
    def runs(self) -> bool:
        """whether there is flight between stances"""
        return self.duty < 1

    @property
    def height(self) -> float:
        """m of the pelvis"""
        return STANDING - 0.012 * max(self.speed - 1.2, 0.0)

    @property
    def width(self) -> float:
        """m of a foot from the line"""
        return float(np.interp(self.speed, [0.8, 2.5], [0.085, 0.05]))


def other(side: Side) -> Side:
    """The other one."""
    return "left" if side == "right" else "right"


def footfall(side: Side, start: float, pace: Pace, xy: tuple[float, float], level: float, yaw: float = 0.0) -> Step:
    """One step of a pace that lands at `start`, the foot's line through `xy`."""
    stop = start + pace.stance
    if pace.runs:
        flat, lift = start + 0.12 * pace.stance, start + 0.5 * pace.stance
    else:
        flat, lift = start + 0.14 * pace.stance, start + 0.55 * pace.stance
    across = SIGN[side] * pace.width
    place = (xy[0] - across * np.sin(yaw), xy[1] + across * np.cos(yaw), level)
    return Step(side, start, stop, place, yaw, flat, lift)


def walk(
    side: Side,
    first: float,
    start: tuple[float, float],
    count: int,
    pace: Pace,
    level: float,
    yaw: float = 0.0,
    backwards: bool = False,
    speeds: tuple[float, ...] = (),
) -> list[Step]:
    """`count` steps from (and with) a foothold on the line through `start` at `yaw`, in the order of time.

    Backwards: the first step made is the last in time. `speeds` are those of the paces next to `start`, before `pace` is reached.
    """
    steps, at, where, now = [], first, np.array(start, dtype=float), side
    ahead = np.array([np.cos(yaw), np.sin(yaw)])
    for k in range(count):
        here = Pace(speeds[k]) if k < len(speeds) else pace
        steps.append(footfall(now, at, here, (float(where[0]), float(where[1])), level, yaw))
        sign = -1 if backwards else 1
        at, where, now = at + sign * here.time, where + sign * here.length * ahead, other(now)
    return steps[::-1] if backwards else steps


def walk_up(side: Side, first: float, x: float, approach: float, pace: Pace, level: float = 0.0, yaw: float = 0.0) -> list[Step]:
    """Some more than `approach` s of steps, the last of which lands at the time `first` on the line through (x, 0)."""
    return walk(side, first, (x, 0.0), math.ceil(approach / pace.time) + 4, pace, level, yaw, backwards=True)


def trunk_keys(steps: list[Step], pace: Pace, level: float, yaw: float = 0.0) -> list[Key]:
    """The pelvis passes over each foot in the middle of its stance."""
    keys = []
    for s in steps:
        across = SIGN[s.side] * pace.width
        x, y = s.place[0] + across * np.sin(yaw), s.place[1] - across * np.cos(yaw)
        lean = 0.03 + 0.05 * max(pace.speed - 1.2, 0)
        keys.append(Key(0.5 * (s.start + s.stop), x, y, level + pace.height, 0.5 * lean, lean, yaw))
    return keys
