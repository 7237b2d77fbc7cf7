"""From hands that have just come onto a ledge to arms that support the body over it, while the feet walk up the wall.

The pelvis hangs up to 0.8 m under the edge at first, the forearms lie nearly level on it, and the elbows rise as the feet push:

    hands    ============================
    trail      =====low          =====high
    lead              =====middle

A foot is against the wall nearly all the time: without it the body, which is behind its hands, would turn away from the wall.
"""

from dataclasses import dataclass

from parc.author.skill_script import BACK, SIGN, Key, Step
from parc.author.walking_footholds import other
from parc.fit.held_parts import Side

SPEED = 0.75
"""m/s upwards, on the mean: as people pull themselves up"""
SUPPORT = 0.10
"""m of the pelvis over the ledge when the arms support it"""
LEG = 0.72
"""m from the foot on the wall up to the pelvis"""
_SHORTEST = 0.8
"""s that it must take for three steps; else two"""


@dataclass(frozen=True)
class PullUp:
    """What a script of a way up has between grip and mantle."""

    steps: list[Step]
    keys: list[Key]
    support: float
    """s, when the arms support the body"""


def pull_up(
    height: float, hold: float, pelvis: float, lead: Side, tempo: float, touch: float, lowest: float | None = None
) -> PullUp:
    """From the time `hold` on, when the hands hold and the feet are off the ground, with the pelvis at `pelvis` m; the first foot
    is on the wall at the time `touch`, at a height of `lowest` m if that is given; `lead` is the foot that is put up first."""
    trail, rise = other(lead), height + SUPPORT - pelvis
    time = rise / SPEED * tempo

    def on_wall(side: Side, begin: float, end: float, z: float) -> Step:
        return Step(side, begin, end, (0.0, SIGN[side] * 0.11, z), toe_only=True, pitch=-0.6, normal=BACK)

    steps = [
        on_wall(lead, hold + 0.44 * time, hold + 0.78 * time, pelvis + 0.55 * rise - LEG),
        on_wall(trail, hold + 0.70 * time, hold + time - 0.03, height - 0.80),
    ]
    if time > _SHORTEST:
        low = pelvis + 0.2 * rise - LEG if lowest is None else lowest
        steps.insert(0, on_wall(trail, touch, hold + 0.50 * time, low))
    keys = [
        Key(hold + 0.35 * time, -0.35, 0.0, pelvis + 0.30 * rise, 0.05, 0.15),
        Key(hold + 0.70 * time, -0.29, 0.0, pelvis + 0.65 * rise, 0.25, 0.50),
    ]
    return PullUp(steps, keys, hold + time)
