"""From lying on the front to standing: the hands press the trunk up, a foot is put beside them, the body rises over it.

lie      just over the ground on hands and toes, as at the bottom of a press-up
press    the arms are straight, the trunk slopes up from the toes
under    the leading foot is put flat behind the hands, the hips are high
rise     the hands leave, the weight goes over that foot
stand    the other foot is put beside it

Hands and feet carry it throughout, so that its forces can be fitted; the trunk that lies carries nothing, though it is only
a few centimetres from the ground. Lying on the back is not made: rolling over needs contacts that a script does not have.
"""

from dataclasses import dataclass

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


@dataclass(frozen=True)
class GetUp:
    """One way up."""

    side: Side = "right"
    """whose foot is put under the body first"""
    tempo: float = 1.0
    """1: standing after 3 s; more: slower"""
    hands: float = 0.29
    """m of each palm beside the middle"""
    foot: float = 0.20
    """m of the first foot before the place of the lying pelvis"""
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
