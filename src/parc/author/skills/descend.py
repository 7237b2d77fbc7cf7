"""Down a ledge backwards: walk to the edge, turn round, crouch, hands on the edge, one foot down the wall after the other, lower
the body on the arms; then step off (climb down) or let go and fall the rest (hang drop), turn round, walk on.

In this script the way is along -x: the platform is at x > 0 and the face is looked at while going down, as in a climb.
"""

import math
from dataclasses import dataclass

from parc.author import skill_terrain
from parc.author.skill_script import BACK, SIGN, Grip, Key, Script, Step, Via, mirrored, shifted
from parc.author.walking_footholds import Pace, trunk_keys, walk, walk_up
from parc.errors import SettingsError
from parc.fit.held_parts import SIDES
from parc.metrics.free_flight import GRAVITY

LANDING = 0.84
"""m, height of the pelvis when the feet meet the ground"""
LONGEST_HANG = 0.62
"""m that the pelvis can be under the edge while the palms lie on it"""
_TURN = math.pi


@dataclass(frozen=True)
class Descend:
    """One way down a ledge, backwards."""

    height: float = 1.4
    """m"""
    drops: bool = False
    """lets go and falls the rest"""
    speed: float = 1.1
    """m/s of the walk to the edge"""
    leave: float = 1.2
    """m/s of the walk away"""
    approach: float = 1.3
    """s of walking before"""
    heading: float = 0.0
    """rad of the approach against the edge's normal"""
    tempo: float = 1.0
    """factor of the time that going down takes"""
    left: bool = True
    """turns round over the left shoulder"""

    def __post_init__(self) -> None:
        if not 0.8 <= self.height <= 2.1:
            raise SettingsError(f"a way down of {self.height} m is not between 0.8 and 2.1 m")


def descend(name: str, make: Descend = Descend()) -> Script:
    """Of skill `hang_drop` or `climb_down`."""
    h, q = make.height, make.tempo
    drops = make.drops or h - LONGEST_HANG > LANDING
    pace, pace_on = Pace(make.speed), Pace(make.leave)
    before = walk_up("left", -0.52, 0.78, make.approach, pace, h, _TURN + make.heading)
    left_up = Step("left", 0.52, 1.72, (0.21, 0.12, h), 2 * _TURN - 0.35, 0.55, 1.60)
    right_round = Step("right", 0.0, 0.86, (0.42, 0.02, h), _TURN + 1.05, 0.04, 0.66)
    right_up = Step("right", 1.14, 2.22 * q + 0.1, (0.17, -0.13, h), 2 * _TURN, 1.16, 2.10 * q + 0.1)

    # the hands come on, the left foot goes onto the wall, the arms support, the body is lowered
    grip = 1.56
    wall_on = 1.72 + 0.46 * q
    support = right_up.stop + 0.38 * q
    foot_z = h - 0.42
    steps = [*before, right_round, left_up, right_up]
    low = max(h - LONGEST_HANG, LANDING) if not make.drops else max(h - LONGEST_HANG, LANDING + 0.12)
    lowered = support + (0.30 + 0.55 * (h + 0.05 - low)) * q
    steps.append(Step("left", wall_on, support, (0.0, 0.12, foot_z), 2 * _TURN, toe_only=True, pitch=-0.5, normal=BACK))
    keys = [
        *trunk_keys(before, pace, h, _TURN + make.heading),
        Key(0.22, 0.46, 0.0, h + 0.86, 0.05, 0.10, _TURN + 0.6),
        Key(0.75, 0.28, 0.02, h + 0.86, 0.05, 0.10, 2 * _TURN - 0.7),
        Key(1.15, 0.22, 0.0, h + 0.80, 0.10, 0.25, 2 * _TURN),
        Key(grip, 0.10, 0.0, h + 0.46, 0.75, 1.20, 2 * _TURN),
        Key(wall_on, -0.02, -0.02, h + 0.38, 0.65, 1.05, 2 * _TURN),
        Key(right_up.stop, -0.06, 0.0, h + 0.37, 0.65, 1.05),
        Key(right_up.stop + 0.15 * q, -0.14, 0.0, h + 0.31, 0.60, 0.95),
        Key(support, -0.20, 0.0, h + 0.08, 0.40, 0.75),
        Key(0.5 * (support + lowered), -0.28, 0.0, 0.5 * (h + low) + 0.02, 0.20, 0.45),
        Key(lowered, -0.34, 0.0, low, 0.02, 0.12),
    ]
    vias = [
        Via("left_foot", 1.72 + 0.16 * q, (-0.12, 0.17, h + 0.14), 0.9),
        Via("left_foot", 1.72 + 0.32 * q, (-0.24, 0.15, h - 0.16), 0.9),
        Via("right_foot", right_up.stop + 0.15 * q, (-0.13, -0.17, h + 0.12), 0.9),
        Via("right_foot", right_up.stop + 0.30 * q, (-0.30, -0.14, h - 0.30), 0.8),
    ]

    # the rest of the way: fallen, or stepped off
    fall = low - LANDING if drops else 0.0
    release = lowered
    land = lowered + math.sqrt(2 * fall / GRAVITY) + (0.04 if drops else -0.06)
    if drops:
        keys.append(Key(land, -0.42, 0.0, LANDING, 0.08, 0.18))
        steps.append(Step("right", lowered - 0.40 * q, release + 0.02, (0.0, -0.12, low - 0.60), 2 * _TURN, toe_only=True,
                          pitch=-0.5, normal=BACK))  # fmt: skip
        if land - release > 0.15:
            middle = 0.5 * (release + land)
            vias += [Via(f"{side}_foot", middle, (-0.30, y, max(0.5 * (low - 0.62), 0.12)), 0.4)
                     for side, y in (("left", 0.12), ("right", -0.12))]  # fmt: skip
    else:
        release = land + 0.30

    # landing, turning round, walking on
    keys += [
        Key(land + 0.18, -0.45, 0.0, 0.70 if fall > 0.1 else 0.80, 0.20, 0.40, 2 * _TURN),
        Key(land + 0.50, -0.48, 0.0, 0.82, 0.10, 0.20, 2 * _TURN + 0.15),
        Key(land + 0.85, -0.52, 0.02, 0.86, 0.04, 0.08, 2 * _TURN + 1.2),
        Key(land + 1.30, -0.70, 0.02, 0.86, 0.04, 0.08, 3 * _TURN - 0.3),
    ]
    steps += [
        Step("left", land, land + 0.55, (-0.44, 0.12, 0.0), 2 * _TURN, land + 0.05, land + 0.45),
        Step("right", land + 0.02, land + 0.98, (-0.44, -0.12, 0.0), 2 * _TURN, land + 0.07, land + 0.78),
        Step("left", land + 0.80, land + 1.52, (-0.56, 0.06, 0.0), 2 * _TURN + 1.7, land + 0.82, land + 1.25),
    ]
    after = walk("right", land + 1.32, (-0.86, 0.0), math.ceil(1.5 / pace_on.time) + 4, pace_on, 0.0, 3 * _TURN)
    steps += after
    keys += trunk_keys(after, pace_on, 0.0, 3 * _TURN)
    grips = [
        Grip(side, grip + 0.04 * k, release, (0.085, SIGN[side] * 0.25, h), elbow=(-0.6, 0.8, 0.5))
        for k, side in enumerate(SIDES)
    ]
    far = make.speed * (make.approach + 1.0) + 2.4
    begin, end = -make.approach - 0.2, land + 1.32 + 1.5
    script = Script(
        name=name,
        skill="hang_drop" if drops else "climb_down",
        terrain=skill_terrain.ledge(h, make.leave * 1.9 + 2.8, far, 2.2 + abs(math.sin(make.heading)) * far),
        duration=end - begin,
        steps=steps,
        grips=grips,
        keys=keys,
        vias=vias,
        parameters={"height": h, "speed": make.speed, "heading": make.heading, "tempo": q},
    )
    return shifted(script if make.left else mirrored(script), -begin)
