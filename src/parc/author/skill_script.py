"""A script: what a skill does before any joint is known.

Footholds, handholds and a few keys of the trunk over time, on a terrain. Written in the frame of the obstacle: its front face is
the plane x = 0, the way is along +x, z is up. `parc.author.script_to_draft` turns a script into a first motion,
`parc.author.solve_motions` into a possible one.

A foot comes down on its heel, stands flat, and leaves from its toe:

    start          flat            lift           stop
      | heel only   | heel and toe   | toe only     |

With flat = start and lift = stop it stands flat all the time; a foot with `strike` > 0 comes down on its toe instead, as after
a jump; a foot against a wall is there with its toe only.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from parc.fit.held_parts import Side
from parc.terrain.terrain import Terrain

Array = NDArray[np.float64]
Place = tuple[float, float, float]
SIGN = {"left": 1.0, "right": -1.0}
UP: Place = (0.0, 0.0, 1.0)
BACK: Place = (-1.0, 0.0, 0.0)
HEEL_STRIKE = -0.28
"""rad, pitch (nose down) of a foot that lands in a walk"""


@dataclass(frozen=True)
class Step:
    """A foot on the ground, on a ledge or against a wall."""

    side: Side
    start: float
    """s"""
    stop: float
    """s"""
    place: Place
    """m, where the sole touches under the ankle, or the toe of a foot that stands on it alone"""
    yaw: float = 0.0
    """rad"""
    flat: float | None = None
    """s when all of the sole is down; None: at the start"""
    lift: float | None = None
    """s when the heel leaves; None: at the end"""
    strike: float = HEEL_STRIKE
    """rad, pitch (nose down) at the start; above 0 it lands on its toe"""
    toe_only: bool = False
    pitch: float = 0.0
    """rad, nose down, of a foot that stands on its toe alone"""
    normal: Place = UP
    """of the surface"""


@dataclass(frozen=True)
class Grip:
    """A hand on a ledge."""

    side: Side
    start: float
    """s"""
    stop: float
    """s"""
    place: Place
    """m, where the palm touches"""
    normal: Place = UP
    """of the surface there; at an edge anything between those of its two faces"""
    elbow: Place = (-0.5, 1.0, 0.25)
    """where the elbow points, y outwards"""


@dataclass(frozen=True)
class Via:
    """Where an ankle or a palm passes while it is free."""

    part: str
    """left_foot, right_foot, left_hand or right_hand"""
    time: float
    """s"""
    place: Place
    pitch: float = 0.0
    """rad, nose down, of a foot"""


@dataclass(frozen=True)
class Key:
    """The trunk at a time; what is None is taken from the neighbours or from the gait."""

    time: float
    """s"""
    x: float | None = None
    y: float | None = None
    z: float | None = None
    """m, of the pelvis"""
    pelvis: float | None = None
    """rad, forward lean"""
    chest: float | None = None
    """rad, forward lean"""
    yaw: float | None = None
    """rad"""


@dataclass(frozen=True, eq=False)
class Script:
    """A skill: what touches where and when, and keys of the trunk."""

    name: str
    skill: str
    terrain: Terrain
    duration: float
    """s"""
    steps: Sequence[Step]
    grips: Sequence[Grip]
    keys: Sequence[Key]
    vias: Sequence[Via] = ()
    brisk: float = 0.0
    """0 arms hang as in a walk .. 1 they are bent as in a run"""
    parameters: dict[str, float] = field(default_factory=dict)
    """what the script was made with, for the clip's provenance"""


def shifted(script: Script, by: float) -> Script:
    """The same, `by` s later."""

    def later(time: float | None) -> float | None:
        return None if time is None else time + by

    return replace(
        script,
        steps=[replace(s, start=s.start + by, stop=s.stop + by, flat=later(s.flat), lift=later(s.lift)) for s in script.steps],
        grips=[replace(g, start=g.start + by, stop=g.stop + by) for g in script.grips],
        keys=[replace(k, time=k.time + by) for k in script.keys],
        vias=[replace(v, time=v.time + by) for v in script.vias],
    )


def turned(script: Script, by: float) -> Script:
    """The same way turned by `by` rad to the left about the origin, on a terrain that stays."""
    c, s = math.cos(by), math.sin(by)

    def turn(place: Place) -> Place:
        return (c * place[0] - s * place[1], s * place[0] + c * place[1], place[2])

    def turn_key(key: Key) -> Key:
        assert key.x is not None and key.y is not None, "a key without a place cannot be turned"
        x, y, _ = turn((key.x, key.y, 0.0))
        return replace(key, x=x, y=y, yaw=None if key.yaw is None else key.yaw + by)

    return replace(
        script,
        steps=[replace(s, place=turn(s.place), yaw=s.yaw + by, normal=turn(s.normal)) for s in script.steps],
        grips=[replace(g, place=turn(g.place), normal=turn(g.normal)) for g in script.grips],
        keys=[turn_key(k) for k in script.keys],
        vias=[replace(v, place=turn(v.place)) for v in script.vias],
    )


def mirrored(script: Script) -> Script:
    """The same with left and right exchanged, on a terrain that is the same on both sides of y = 0."""

    def side(name: Side) -> Side:
        return "left" if name == "right" else "right"

    def part(name: str) -> str:
        which, _, limb = name.partition("_")
        return f"{'left' if which == 'right' else 'right'}_{limb}"

    def flip(place: Place) -> Place:
        return (place[0], -place[1], place[2])

    return replace(
        script,
        steps=[replace(s, side=side(s.side), place=flip(s.place), yaw=-s.yaw, normal=flip(s.normal)) for s in script.steps],
        grips=[replace(g, side=side(g.side), place=flip(g.place), normal=flip(g.normal)) for g in script.grips],
        keys=[replace(k, y=None if k.y is None else -k.y, yaw=None if k.yaw is None else -k.yaw) for k in script.keys],
        vias=[replace(v, part=part(v.part), place=flip(v.place)) for v in script.vias],
    )
