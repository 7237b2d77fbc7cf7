"""Over a wall of 0.7 to 1.1 m without standing on it.

step    one hand and the opposite foot on top, the other leg passes between them; at a jog
kong    a dive: both hands on top, legs tucked through between the arms; at a run
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from parc.author import skill_terrain
from parc.author.skill_script import SIGN, Grip, Key, Script, Step, Via, shifted
from parc.author.walking_footholds import Pace, other, trunk_keys, walk, walk_up
from parc.errors import SettingsError
from parc.fit.held_parts import SIDES, Side
from parc.metrics.free_flight import GRAVITY

Style = Literal["step", "kong"]
DEPTH = 0.4
"""m, thickness of the wall"""


@dataclass(frozen=True)
class Vault:
    """One way over a wall."""

    height: float = 0.95
    """m"""
    style: Style = "step"
    speed: float = 2.2
    """m/s of the approach"""
    leave: float = 1.8
    """m/s of the way on"""
    approach: float = 1.2
    """s of the approach"""
    heading: float = 0.0
    """rad of the approach against the wall's normal"""
    side: Side = "right"
    """whose hand is put on top (step), or whose foot takes off (kong)"""

    def __post_init__(self) -> None:
        if not 0.6 <= self.height <= 1.2:
            raise SettingsError(f"a vault over {self.height} m is not between 0.6 and 1.2 m")


def vault(name: str, make: Vault = Vault()) -> Script:
    """Of skill `vault`."""
    steps, grips, keys, vias, landed = (_step_vault if make.style == "step" else _kong)(make)
    pace = Pace(make.leave)
    after = walk(landed.side, landed.start, (landed.place[0], 0.0), int(np.ceil(1.5 / pace.time)) + 4, pace, 0.0)
    after = after[1:]
    keys = [*keys, *trunk_keys(after, pace, 0.0)]
    begin = -make.approach - 0.5
    end = landed.start + 1.6
    far = make.speed * (make.approach + 1.0) + 2.5
    terrain = skill_terrain.wall(make.height, 1, far, make.leave * 2.0 + 4.0, 2.2 + abs(np.sin(make.heading)) * far)
    parameters = {"height": make.height, "speed": make.speed, "heading": make.heading}
    steps, brisk = [*steps, *after], Pace(make.speed).brisk
    script = Script(name, "vault", terrain, end - begin, steps, grips, keys, vias, brisk, parameters=parameters)
    return shifted(script, -begin)


Parts = tuple[list[Step], list[Grip], list[Key], list[Via], Step]


def _step_vault(make: Vault) -> Parts:
    """Take-off from the hand's side foot; the other foot is put on top; the first passes under the body and lands behind."""
    h = make.height
    hand, foot = make.side, other(make.side)
    pace = Pace(make.speed)
    plant = -0.52
    take_off = 0.0
    last = Step(hand, take_off - 0.30, take_off, (plant, SIGN[hand] * 0.06, 0.0), 0.0, take_off - 0.27, take_off - 0.16)
    before = walk_up(foot, last.start - pace.time, plant - pace.length, make.approach, pace, yaw=make.heading)
    quick = float(np.clip(2.0 / make.speed, 0.8, 1.1))
    grip_on, grip_off = take_off + 0.10 * quick, take_off + 0.62 * quick
    foot_on, foot_off = take_off + 0.26 * quick, take_off + 0.62 * quick
    lean = -SIGN[hand] * 0.05
    top = Step(foot, foot_on, foot_off, (0.16, SIGN[foot] * 0.20, h), 0.0, foot_on, foot_off - 0.16)
    land = foot_off + 0.16 + 0.10 * h
    landed = Step(hand, land, land + 0.36, (DEPTH + 0.50, SIGN[hand] * 0.07, 0.0), 0.0, land, land + 0.20)
    grips = [Grip(hand, grip_on, grip_off, (0.18, SIGN[hand] * 0.30, h), elbow=(-0.7, 0.6, 0.1))]
    keys = [
        *trunk_keys(before, pace, 0.0, make.heading),
        Key(last.start + 0.06, plant - 0.16, 0.0, 0.80, 0.10, 0.20, 0.0),
        Key(take_off, plant + 0.17, 0.0, 0.90, 0.12, 0.25, 0.0),
        Key(foot_on, -0.06, lean, h + 0.30, 0.25, 0.60),
        Key(0.5 * (foot_on + foot_off), 0.17, lean, h + 0.40, 0.20, 0.60),
        Key(foot_off, 0.42, lean, h + 0.36, 0.10, 0.40),
        Key(land, DEPTH + 0.32, 0.0, 0.90, 0.05, 0.15),
        Key(land + 0.16, DEPTH + 0.52, 0.0, 0.80, 0.10, 0.20, 0.0),
    ]
    vias = [
        Via(f"{foot}_foot", take_off + 0.10 * quick, (-0.38, SIGN[foot] * 0.16, 0.60 * h), 0.3),
        Via(f"{foot}_foot", take_off + 0.20 * quick, (-0.08, SIGN[foot] * 0.20, h + 0.13), 0.0),
        Via(f"{hand}_foot", foot_on, (-0.32, SIGN[hand] * 0.06, h - 0.10), 0.6),
        Via(f"{hand}_foot", foot_on + 0.14 * quick, (0.00, SIGN[hand] * 0.04, h + 0.16), 0.5),
        Via(f"{hand}_foot", foot_off - 0.06, (0.50, SIGN[hand] * 0.06, h + 0.06), 0.1),
        Via(f"{foot}_hand", foot_on, (0.12, SIGN[foot] * 0.35, h + 0.45)),
        Via(f"{foot}_hand", foot_off, (0.62, SIGN[foot] * 0.35, h + 0.45)),
    ]
    return [*before, last, top, landed], grips, keys, vias, landed


def _kong(make: Vault) -> Parts:
    """Take-off from one foot, dive onto both hands, knees to the chest, feet through, land on the other foot."""
    h = make.height
    first, second = make.side, other(make.side)
    pace = Pace(make.speed)
    plant = -0.36 - 0.2 * make.speed
    take_off = 0.0
    one = Step(first, take_off - 0.26, take_off, (plant, SIGN[first] * 0.08, 0.0), 0.0, take_off - 0.25, take_off - 0.15)
    before = walk_up(second, one.start - pace.time, plant - pace.length, make.approach, pace, yaw=make.heading)
    grip_on = take_off + 0.22
    grip_off = grip_on + 0.56 / (0.75 * make.speed)
    middle = 0.5 * (grip_on + grip_off)
    fall = 0.95 * math.sqrt(2 * max(h + 0.35 - 0.88, 0.1) / GRAVITY)
    land, beyond = grip_off + fall, 0.42 + 0.72 * make.speed * fall
    landed = Step(first, land, land + 0.34, (beyond + 0.20, SIGN[first] * 0.08, 0.0), 0.0, land + 0.02, land + 0.20)
    grips = [Grip(side, grip_on, grip_off, (0.20, SIGN[side] * 0.22, h), elbow=(-0.5, 1.0, 0.2)) for side in SIDES]
    keys = [
        *trunk_keys(before, pace, 0.0, make.heading),
        Key(one.start + 0.04, plant - 0.22, 0.0, 0.80, 0.15, 0.30, 0.0),
        Key(take_off, plant + 0.24, 0.0, 0.92, 0.35, 0.55, 0.0),
        Key(grip_on, -0.12, 0.0, h + 0.30, 0.85, 1.05),
        Key(middle, 0.12, 0.0, h + 0.37, 0.70, 0.95),
        Key(grip_off, 0.40, 0.0, h + 0.35, 0.30, 0.60),
        Key(land, beyond, 0.0, 0.90, 0.08, 0.20),
        Key(land + 0.16, beyond + 0.28, 0.0, 0.80, 0.12, 0.25, 0.0),
    ]
    vias: list[Via] = []
    for side, late in ((first, 0.0), (second, 0.02)):
        y = SIGN[side] * 0.09
        vias += [
            Via(f"{side}_foot", grip_on + late, (-0.58, y, h - 0.02), 1.0),
            Via(f"{side}_foot", middle + late, (0.16, y, h + 0.14), 0.5),
            Via(f"{side}_foot", grip_off + late, (0.66, y, h + 0.02), 0.0),
        ]
    return [*before, one, landed], grips, keys, vias, landed
