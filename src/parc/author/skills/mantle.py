"""The end that all ways up share: from arms that support the body at the edge to a walk on top.

support     arms nearly straight, hips at the edge, legs hang before the wall
foot_up     the leading foot is put between the hands
release     the weight is over that foot, the hands leave
stand       the other foot lands a step ahead, and the walk goes on
"""

from dataclasses import dataclass

import numpy as np

from parc.author.skill_script import SIGN, Grip, Key, Step, Via
from parc.author.walking_footholds import Pace, other, trunk_keys, walk
from parc.fit.held_parts import SIDES, Side

FOOT = 0.13
"""m behind the edge where the first foot is put"""
PALM = 0.075
"""m behind the edge where the palms lie"""
AFTER = 1.7
"""s of walk after standing"""


@dataclass(frozen=True)
class Mantle:
    """What a script of a way up ends with."""

    steps: list[Step]
    grips: list[Grip]
    keys: list[Key]
    vias: list[Via]
    end: float
    """s, of the clip"""
    reach: float
    """m, how far the walk on top goes"""


def mantle(height: float, grip: float, support: float, lead: Side, tempo: float, leave: float, turn: float = 0.0) -> Mantle:
    """`grip` and `support` are times; `lead` is the foot that is put up first; `leave` the speed of the walk on top, m/s,
    and `turn` its heading, rad."""
    h, trail, pace = height, other(lead), Pace(leave)
    foot_up = support + 0.36 * tempo
    release = foot_up + 0.36 * tempo
    stand = foot_up + 0.70 * tempo
    outside = SIGN[lead] * 0.17
    keys = [
        Key(support, -0.20, 0.0, h + 0.10, 0.45, 0.75),
        Key(foot_up, -0.08, 0.0, h + 0.34, 0.60, 0.95),
        Key(release, 0.08, 0.0, h + 0.52, 0.40, 0.70),
        Key(stand, 0.30, 0.0, h + 0.74, 0.12, 0.25, 0.0),
    ]
    vias = [
        Via(f"{lead}_foot", support - 0.05, (-0.30, outside, h - 0.38), 0.4),
        Via(f"{lead}_foot", foot_up - 0.13 * tempo, (-0.13, outside, h + 0.13), 0.25),
        Via(f"{trail}_foot", foot_up + 0.10 * tempo, (-0.28, SIGN[trail] * 0.13, h - 0.20), 0.7),
        Via(f"{trail}_foot", release + 0.10 * tempo, (-0.10, SIGN[trail] * 0.13, h + 0.16), 0.4),
    ]
    up = Step(lead, foot_up, stand + 0.42, (FOOT, SIGN[lead] * 0.12, h), 0.0, foot_up, stand + 0.10)
    after = walk(trail, stand + 0.02, (FOOT + 0.52, 0.0), int(np.ceil(AFTER / pace.time)) + 3, pace, h, turn, speeds=(1.0,))
    grips = [
        Grip(side, grip, release + (0.06 if side == trail else 0.0), (PALM, SIGN[side] * 0.24, h), elbow=(-0.6, 0.8, 0.5))
        for side in SIDES
    ]
    return Mantle(
        [up, *after], grips, [*keys, *trunk_keys(after, pace, h, turn)], vias, stand + AFTER, 1.2 + leave * (AFTER + 0.4)
    )
