"""From the ground to standing.

From the front:                                              From the seat:

lie      just over the ground on hands and toes, as at       sit      leaning back on the hands, heels near
         the bottom of a press-up
press    the arms are straight, the trunk slopes up
under    the leading foot is put flat behind the hands       rock     hands push, the trunk swings forward
rise     the hands leave, the weight goes over that foot     squat    the hands leave, the weight is over the feet
stand    the other foot is put beside it                     stand

Hands and feet carry it throughout, so that its forces can be fitted; trunk and seat carry nothing, though they are only a few
centimetres from the ground. Lying flat on the back is not made: rolling over needs contacts that a script does not have.
"""

from dataclasses import dataclass
from typing import Literal

from parc.author import skill_terrain
from parc.author.skill_script import SIGN, Grip, Key, Script, Step, Via
from parc.author.walking_footholds import STANDING, other
from parc.errors import SettingsError
from parc.fit.held_parts import SIDES, Side

TOES = -0.87
"""m, of the toes behind the lying pelvis"""
HANDS = 0.40
"""m, of the palms before it"""
_LYING = 0.125
"""m, height of the pelvis of a body that lies"""
_HEELS = 0.30
"""m, of the ankles before a pelvis that sits"""
_SITTING = 0.12
"""m, its height"""


@dataclass(frozen=True)
class GetUp:
    """One way up."""

    style: Literal["front", "seat"] = "front"
    side: Side = "right"
    """whose foot is put under the body first, from the front"""
    tempo: float = 1.0
    """1: standing after 3 s; more: slower"""
    hands: float = 0.29
    """m of each palm beside the middle"""
    foot: float = 0.20
    """m of the first foot before the place of the lying pelvis, from the front"""
    lies: float = 0.3
    """s of lying"""

    def __post_init__(self) -> None:
        if not (0.8 <= self.tempo <= 2 and 0.22 <= self.hands <= 0.4 and 0.1 <= self.foot <= 0.28 and 0.1 <= self.lies <= 2):
            raise SettingsError(
                f"getting up at tempo {self.tempo:g} with palms {self.hands:g} m aside, a foot at {self.foot:g} m and "
                f"{self.lies:g} s of lying: expected 0.8 to 2, 0.22 to 0.4, 0.1 to 0.28 and 0.1 to 2"
            )


def get_up(name: str, make: GetUp = GetUp()) -> Script:
    """Of skill `get_up`."""
    return _from_seat(name, make) if make.style == "seat" else _from_front(name, make)


def _from_front(name: str, make: GetUp) -> Script:
    lead, trail, tempo = make.side, other(make.side), make.tempo
    press = make.lies + 0.70 * tempo
    leaves = press + 0.05 * tempo
    under = leaves + 0.55 * tempo
    release = under + 0.35 * tempo
    pushes = release + 0.30 * tempo
    beside = pushes + 0.50 * tempo
    stands = beside + 0.35 * tempo
    end = stands + 0.8
    foot, x = make.foot, make.foot + 0.05

    def toes(side: Side, stop: float) -> Step:
        return Step(side, 0.0, stop, (TOES, SIGN[side] * 0.11, 0.0), toe_only=True, pitch=1.35)

    steps = [
        toes(lead, leaves),
        Step(lead, under, end, (foot, SIGN[lead] * 0.12, 0.0), flat=under),
        toes(trail, pushes),
        Step(trail, beside, end, (foot, SIGN[trail] * 0.09, 0.0), flat=beside + 0.06, strike=0.2),
    ]
    grips = [
        Grip(side, 0.0, release + (0.08 if side == lead else 0.0), (HANDS, SIGN[side] * make.hands, 0.0), elbow=(-0.7, 0.7, 0.6))
        for side in SIDES
    ]
    keys = [
        Key(0.0, 0.0, 0.0, _LYING, 1.50, 1.47, 0.0),
        Key(make.lies, 0.0, 0.0, _LYING, 1.50, 1.47, 0.0),
        Key(press, -0.04, 0.0, 0.40, 1.25, 1.20),
        Key(0.5 * (leaves + under), -0.02, 0.0, 0.52, 1.40, 1.25),
        Key(under, 0.00, 0.0, 0.56, 1.45, 1.25),
        Key(release, 0.07, 0.0, 0.60, 1.15, 1.05),
        Key(pushes, x - 0.08, 0.0, 0.66, 0.65, 0.70),
        Key(beside, x - 0.02, 0.0, 0.78, 0.25, 0.35),
        Key(stands, x, 0.0, STANDING, 0.03, 0.06, 0.0),
        Key(end, x, 0.0, STANDING, 0.0, 0.03, 0.0),
    ]
    middle = 0.5 * (leaves + under)
    vias = [
        Via(f"{lead}_foot", middle, (-0.38, SIGN[lead] * 0.18, 0.24), 0.9),
        Via(f"{lead}_foot", under - 0.10 * tempo, (foot - 0.16, SIGN[lead] * 0.15, 0.16), 0.3),
        Via(f"{trail}_foot", 0.5 * (pushes + beside), (-0.25, SIGN[trail] * 0.11, 0.22), 0.8),
    ]
    terrain = skill_terrain.flat(1.8, 1.8)
    parameters = {"tempo": tempo, "hands": make.hands, "foot": foot, "lies": make.lies}
    return Script(name, "get_up", terrain, end, steps, grips, keys, vias, parameters=parameters)


def _from_seat(name: str, make: GetUp) -> Script:
    tempo = make.tempo
    rock = make.lies + 0.50 * tempo
    release = rock + 0.26 * tempo
    squat = release + 0.32 * tempo
    stands = squat + 0.90 * tempo
    end = stands + 0.8
    steps = [Step(side, 0.0, end, (_HEELS, SIGN[side] * 0.13, 0.0), SIGN[side] * 0.15, flat=0.0) for side in SIDES]
    grips = [Grip(side, 0.0, release, (-0.26, SIGN[side] * make.hands, 0.0), elbow=(-0.9, 0.4, 0.3)) for side in SIDES]
    keys = [
        Key(0.0, 0.0, 0.0, _SITTING, -0.85, -0.70, 0.0),
        Key(make.lies, 0.0, 0.0, _SITTING, -0.85, -0.70, 0.0),
        Key(rock, 0.03, 0.0, 0.17, -0.45, -0.15),
        Key(release, 0.09, 0.0, 0.22, 0.10, 0.50),
        Key(squat, 0.16, 0.0, 0.30, 0.60, 0.95),
        Key(0.5 * (squat + stands), 0.22, 0.0, 0.58, 0.50, 0.70),
        Key(stands, _HEELS + 0.03, 0.0, STANDING, 0.03, 0.06, 0.0),
        Key(end, _HEELS + 0.03, 0.0, STANDING, 0.0, 0.03, 0.0),
    ]
    vias = [Via(f"{side}_hand", squat, (0.55, SIGN[side] * 0.22, 0.55)) for side in SIDES]
    parameters = {"tempo": tempo, "hands": make.hands, "lies": make.lies}
    return Script(name, "get_up", skill_terrain.flat(1.8, 1.8), end, steps, grips, keys, vias, parameters=parameters)
