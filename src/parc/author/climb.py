"""Up a ledge of 0.6 to 2 m: walk up, hands on the edge, press, foot up, stand, walk on.

Up to `STANDING_REACH` both feet gather before the wall, the hands are put on the ledge while they still stand, and the legs start
what the arms finish. Higher ledges are jumped at from one foot; the other finds the wall, pushes up along it, and the hands catch
the edge on the way. A ball of a hand cannot hook an edge, so the palms lie on top and the elbows stay above it.

    approach | gather | press up       | mantle      | walk on
    feet     ==      ==(wall)           =====foot up==========
    hands        ============================
"""

from dataclasses import dataclass, replace

import numpy as np

from parc.author import stage
from parc.author.gait import Pace, other, trunk_keys, walk
from parc.author.mantle import mantle
from parc.author.script import BACK, SIDES, SIGN, Key, Script, Side, Step, Via, shifted
from parc.errors import SettingsError

STANDING_REACH = 1.42
"""m, the highest ledge that hands are put on from the ground"""


@dataclass(frozen=True)
class Climb:
    height: float = 1.5
    """m"""
    speed: float = 1.2
    """m/s of the approach"""
    leave: float = 1.2
    """m/s of the walk on top"""
    approach: float = 1.4
    """s of walking before"""
    heading: float = 0.0
    """rad of the approach against the wall's normal"""
    turn: float = 0.0
    """rad, heading of the walk on top"""
    side: Side = "right"
    """whose foot is put on top first"""
    tempo: float = 1.0
    """factor of the time that the climb itself takes"""

    def __post_init__(self) -> None:
        if not 0.5 <= self.height <= 2.1:
            raise SettingsError(f"a climb of {self.height} m is not between 0.5 and 2.1 m")


def climb(name: str, make: Climb = Climb()) -> Script:
    begin, before, steps, keys, vias, grip, support = (_jumped if make.height > STANDING_REACH else _from_the_ground)(make)
    over = mantle(make.height, grip, support, make.side, make.tempo, make.leave, make.turn)
    far = make.speed * (make.approach + 1.2) + 2.0
    script = Script(
        name=name,
        skill="climb",
        terrain=stage.ledge(make.height, far, over.reach + 1.0, 2.2 + abs(np.sin(make.heading)) * far),
        duration=over.end - begin,
        steps=[*before, *steps, *over.steps],
        grips=over.grips,
        keys=[*trunk_keys(before, Pace(make.speed), 0.0, make.heading), *keys, *over.keys],
        vias=[*vias, *over.vias],
        parameters={"height": make.height, "speed": make.speed, "heading": make.heading, "tempo": make.tempo},
    )
    return shifted(script, -begin)


Beginning = tuple[float, list[Step], list[Step], list[Key], list[Via], float, float]
"""begin, walk, steps, keys, vias, time of the grip and of the support"""


def _from_the_ground(make: Climb) -> Beginning:
    h, q, lead, trail = make.height, make.tempo, make.side, other(make.side)
    pace, gather = Pace(make.speed), -0.46
    grip, take_off = 0.0, 0.34
    first = Step(trail, grip - 0.42, take_off, (gather, SIGN[trail] * 0.11, 0.0), 0.0, grip - 0.36, take_off - 0.20)
    second = Step(lead, grip - 0.10, take_off + 0.02, (gather + 0.02, SIGN[lead] * 0.11, 0.0), 0.0, grip - 0.07, take_off - 0.18)
    before = walk(lead, first.start - 0.48, (gather - 0.50, 0.0), _count(make), pace, 0.0, make.heading, backwards=True)
    support = take_off + (0.36 + 0.42 * max(h - 0.87, 0.0)) * q
    keys = [
        Key(grip - 0.25, gather - 0.06, 0.0, 0.83, 0.05, 0.12, 0.0),
        Key(grip + 0.04, -0.42, 0.0, 0.74, 0.12, 0.25),
        Key(take_off, -0.36, 0.0, 0.92, 0.15, 0.28),
    ]
    steps = [first, second]
    if h > 1.15:
        place = (0.0, SIGN[trail] * 0.11, h - 0.85)
        steps.append(Step(trail, take_off + 0.16, take_off + 0.46 * q + 0.05, place, toe_only=True, pitch=-0.6, normal=BACK))
    return grip - 0.9 - make.approach, before, steps, keys, [], grip, support


def _jumped(make: Climb) -> Beginning:
    h, q, lead, trail = make.height, make.tempo, make.side, other(make.side)
    pace, plant, take_off, rise = Pace(make.speed), -0.62, 0.0, make.height - 1.5
    last = Step(trail, take_off - 0.34, take_off, (plant, SIGN[trail] * 0.07, 0.0), 0.0, take_off - 0.31, take_off - 0.16)
    before = walk(lead, last.start - 0.40, (plant - 0.60, 0.0), _count(make), pace, 0.0, make.heading, backwards=True)
    before[-1] = replace(before[-1], stop=take_off - 0.22, lift=take_off - 0.40)
    grip = take_off + 0.24 + 0.10 * rise
    on_wall = (0.0, SIGN[lead] * 0.10, 0.42 + 0.55 * rise)
    higher = (0.0, SIGN[trail] * 0.11, h - 0.85)
    steps = [
        last,
        Step(lead, take_off + 0.10, take_off + 0.40, on_wall, toe_only=True, pitch=-0.75, normal=BACK),
        Step(trail, grip + 0.32 * q, grip + 0.72 * q, higher, toe_only=True, pitch=-0.6, normal=BACK),
    ]
    keys = [
        Key(last.start + 0.10, plant - 0.12, 0.0, 0.76, 0.08, 0.18, 0.0),
        Key(take_off, plant + 0.16, 0.0, 0.93, 0.0, 0.02),
        Key(grip, -0.32, 0.0, h - 0.62, -0.02, 0.05),
        Key(grip + 0.35 * q, -0.31, 0.0, h - 0.35, 0.05, 0.20),
        Key(grip + 0.62 * q, -0.27, 0.0, h - 0.10, 0.25, 0.50),
    ]
    vias = [Via(f"{trail}_foot", take_off + 0.25, (-0.42, SIGN[trail] * 0.10, 0.45 + 0.5 * rise), 0.3)]
    vias += [Via(f"{side}_hand", take_off - 0.05, (plant + 0.42, SIGN[side] * 0.22, 1.22)) for side in SIDES]
    return take_off - 0.9 - make.approach, before, steps, keys, vias, grip, grip + 0.85 * q


def _count(make: Climb) -> int:
    return int(np.ceil(make.approach / Pace(make.speed).time)) + 4
