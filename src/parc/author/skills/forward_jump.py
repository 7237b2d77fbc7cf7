"""From one level to another facing forward, as people do where no hands are needed: down an edge, over a gap, up a box.

step    off one foot, onto the other, without a break in the walk or run; the standing leg bends before it leaves
leap    off one foot, onto both
jump    both feet gather at the edge, a short crouch, off both, onto both

All is written along the way and then turned by the heading. The flight is a parabola of the pelvis,

    z(t) = z_0 + w t - g t^2 / 2        from z_0 at the edge to z_1, a nearly straight leg over ground, or a bent one on a box,

and the knees bend the deeper the faster (v_1 = g T - w) the ground is met: stopping within s m asks for v_1^2 / 2 g s weights
over one's own, so s grows with v_1 from a step's 0.1 m to a crouch of 0.4 m, and lasts 2 s / v_1.
"""

import math
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from parc.author import skill_terrain
from parc.author.skill_script import SIGN, Key, Script, Step, Via, shifted, turned
from parc.author.walking_footholds import Pace, other, trunk_keys, walk, walk_up
from parc.errors import SettingsError
from parc.fit.held_parts import SIDES, Side
from parc.metrics.free_flight import GRAVITY
from parc.terrain.terrain import CELL

JumpStyle = Literal["step", "leap", "jump"]
HEIGHTS: dict[JumpStyle, tuple[float, float]] = {"step": (-0.2, 0.7), "leap": (-0.5, 1.4), "jump": (-0.6, 1.4)}
"""m down that each is for; below 0 is up"""
WIDEST = 5
"""cells of a ditch"""
_LEG = 0.865
"""m, from the hips to the sole of a leg that is about to land"""
_TUCK = 0.45
"""m that such a leg is shorter for each m that it lands higher"""
_CLEARANCE = 0.06
"""m that the pelvis passes over where it lands, on the way up"""
_FASTEST_UP = 2.6
"""m/s at take-off"""
_TOE, _HEEL, _HALF_WIDTH = 0.1335, 0.0435, 0.045
"""m of the sole before, behind and beside the ankle"""
_AFTER = 1.7
"""s of walk after the landing"""


@dataclass(frozen=True)
class ForwardJump:
    """One way from a level to another."""

    height: float = 0.8
    """m of the edge over the ground of the landing; below 0 it is jumped up"""
    style: JumpStyle = "leap"
    speed: float = 1.5
    """m/s of the way to the edge"""
    leave: float = 1.2
    """m/s of the way on"""
    approach: float = 1.2
    """s of walking before"""
    heading: float = 0.0
    """rad of the way against the edge's normal"""
    turn: float = 0.0
    """rad, of the way on against the way to the edge"""
    gap: int = 0
    """cells of a ditch under the edge"""
    depth: float = 1.0
    """m, of the ditch"""
    side: Side = "right"
    """whose foot is the last on the edge"""

    def __post_init__(self) -> None:
        low, high = HEIGHTS[self.style]
        if not low <= self.height <= high:
            raise SettingsError(f"a {self.style} down {self.height} m is not between {low} and {high} m")
        if not 0 <= self.gap <= WIDEST or not 0.6 <= self.speed <= 3.6 or abs(self.heading) > 0.6:
            raise SettingsError(
                f"a jump over {self.gap} cells at {self.speed} m/s and {self.heading} rad is not within 0 to {WIDEST} cells, "
                "0.6 to 3.6 m/s and 0.6 rad"
            )
        if self.gap == 0 and -0.2 < self.height < 0.2:
            raise SettingsError(f"a jump over no gap from a height of {self.height} m is not a jump")

    @property
    def skill(self) -> str:
        """What people call it."""
        if self.gap and abs(self.height) < 0.3:
            return "gap_jump"
        if self.height < 0:
            return "jump_up"
        return "step_down" if self.style == "step" else "jump_down"


class _Flight(NamedTuple):
    start: tuple[float, float]
    """m, x and z of the pelvis when the feet leave"""
    speed: tuple[float, float]
    """m/s, along x and z, then"""
    time: float
    """s until the first foot lands"""
    reach: float
    """m that this foot is before the pelvis"""
    low: float
    """m that the pelvis is over this foot"""

    def at(self, t: float) -> tuple[float, float]:
        return self.start[0] + self.speed[0] * t, self.start[1] + self.speed[1] * t - 0.5 * GRAVITY * t * t

    @property
    def impact(self) -> float:
        """m/s downwards when the foot lands"""
        return GRAVITY * self.time - self.speed[1]

    @property
    def bend(self) -> float:
        """m that the pelvis sinks then"""
        return float(np.clip(0.10 + 0.09 * (self.impact - 1.8), 0.06, 0.42))

    @property
    def foothold(self) -> float:
        """m, x of the first foot on the ground"""
        return self.at(self.time)[0] + self.reach


def forward_jump(name: str, make: ForwardJump = ForwardJump()) -> Script:
    """Of skill `gap_jump` over a gap between about equal levels, else `jump_up`, `jump_down` or `step_down`."""
    before, last, keys, flight = (_gathered if make.style == "jump" else _from_one_foot)(make)
    steps, landing_keys, landed = (_onto_one_foot if make.style == "step" else _onto_both_feet)(make, flight)
    flying = [_key(flight, t) for t in np.linspace(0.0, flight.time, 5)[1:]]
    begin, end = -make.approach - 0.3 - (0.5 if make.style == "jump" else 0.0), flight.time + _AFTER
    back, on = make.speed * (make.approach + 1.4) + 2.0, landed + make.leave * (_AFTER + 0.6) + 1.0
    side = 2.0 + max(abs(math.sin(make.heading)) * back, abs(math.sin(make.heading + make.turn)) * on)
    script = Script(
        name=name,
        skill=make.skill,
        terrain=skill_terrain.drop(make.height, make.gap, make.depth, back, on, side),
        duration=end - begin,
        steps=[*before, *last, *steps],
        grips=[],
        keys=[*trunk_keys(before, Pace(make.speed), make.height), *keys, *flying, *landing_keys],
        vias=[*_free_feet(make, flight), *_balancing_hands(make, flight)],
        brisk=Pace(make.speed).brisk,
        parameters={"height": make.height, "speed": make.speed, "gap": make.gap * CELL, "heading": make.heading},
    )
    return shifted(turned(script, make.heading), -begin)


def _edge(make: ForwardJump, y: float) -> float:
    """m along the way where a foot that is y m beside it stands with its toes at the edge, or well before a box."""
    c, s = math.cos(make.heading), math.sin(make.heading)
    away = 0.02 if make.height > -0.2 else 0.20 + 0.25 * abs(make.height) + (0.1 * make.speed if make.style == "leap" else 0.0)
    return (-away - _TOE * c - _HALF_WIDTH * abs(s) + y * s) / c


def _over_the_ditch(make: ForwardJump, y: float) -> float:
    """m along the way where a foot y m beside it is clear of the ditch, or of the wall it came down from."""
    c, s = math.cos(make.heading), math.sin(make.heading)
    return (make.gap * CELL + 0.06 + _HEEL * c + _HALF_WIDTH * abs(s) + y * s) / c


Takeoff = tuple[list[Step], list[Step], list[Key], _Flight]
"""walk, the last steps on the edge, their keys, flight; the feet leave at 0 s"""


def _from_one_foot(make: ForwardJump) -> Takeoff:
    h, v, last, first = make.height, make.speed, make.side, other(make.side)
    pace = Pace(v)
    steps_down = make.style == "step"
    stance = float(np.interp(v, [0.9, 1.4, 2.0, 2.6, 3.6], [0.66, 0.54, 0.40, 0.28, 0.22]))
    plant = _edge(make, SIGN[last] * pace.width)
    ahead = min(0.5 * stance * v, 0.36)
    if steps_down:
        z, w = float(np.interp(v, [0.9, 1.6, 2.6], [0.70, 0.78, 0.85])), float(np.interp(v, [0.9, 1.6, 2.6], [-0.8, -0.5, 0.1]))
    else:
        z, w = float(np.interp(v, [0.9, 2.6], [0.80, 0.87])), float(np.interp(v, [0.9, 2.6], [-0.2, 0.4]))
    flight = _flight(make, (plant + ahead, h + z), 0.96 * v, w)
    place = (plant, SIGN[last] * pace.width, h)
    steps = [Step(last, -stance, 0.0, place, 0.0, -0.88 * stance, -0.42 * stance)]
    before = walk_up(first, -stance - pace.time, plant - pace.length, make.approach + 0.5, pace, h)
    lean = 0.04 + 0.05 * v
    keys = [
        Key(-0.55 * stance, plant - 0.03, 0.0, h + (pace.height + z + 0.03) / 2, 0.5 * lean, lean, 0.0),
        Key(0.0, plant + ahead, 0.0, h + z, 0.6 * lean, lean, 0.0),
    ]
    return before, steps, keys, flight


def _gathered(make: ForwardJump) -> Takeoff:
    h, last, first = make.height, make.side, other(make.side)
    pace = Pace(make.speed)
    plant = {side: _edge(make, SIGN[side] * 0.11) for side in SIDES}
    middle = 0.5 * (plant["left"] + plant["right"])
    steps = [
        Step(first, -0.78, 0.0, (plant[first] - 0.02, SIGN[first] * 0.11, h), 0.0, -0.72, -0.16),
        Step(last, -0.44, 0.0, (plant[last], SIGN[last] * 0.11, h), 0.0, -0.40, -0.15),
    ]
    before = walk_up(last, -0.78 - 0.46, plant[first] - 0.50, make.approach + 0.5, pace, h)
    off = min(before[-1].stop, -0.74)
    before[-1] = replace(before[-1], stop=off, lift=off - 0.24)
    along = 0.75 + 0.25 * make.speed
    flight = _flight(make, (middle + 0.30, h + 0.88), along, 0.55)
    keys = [
        Key(-0.50, middle - 0.04, 0.0, h + 0.82, 0.06, 0.14, 0.0),
        Key(-0.24, middle + 0.05, 0.0, h + 0.68, 0.32, 0.52, 0.0),
        Key(0.0, *_xyz(flight, 0.0), 0.16, 0.24, 0.0),
    ]
    return before, steps, keys, flight


def _flight(make: ForwardJump, start: tuple[float, float], along: float, up: float) -> _Flight:
    """The natural one, or one as much longer or higher as the ditch or the box asks for, and a little faster."""
    foot = other(make.side)
    need = _over_the_ditch(make, SIGN[foot] * 0.10) - start[0] + (0.0 if make.style == "step" else 0.10)
    leg = _LEG - _TUCK * max(-make.height, 0.0)
    if make.skill == "gap_jump":
        up = max(up, 0.4 if make.style == "step" else 0.9)
    while True:
        reach = 0.10 + (0.10 if make.style == "step" else 0.12) * along
        low = math.sqrt(leg**2 - reach**2)
        high_enough = start[1] - low - (_CLEARANCE if make.height < 0 else 0.0) + max(up, 0.0) ** 2 / (2 * GRAVITY) >= 0
        if high_enough:
            time = (up + math.sqrt(up**2 + 2 * GRAVITY * (start[1] - low))) / GRAVITY
            if along * time + reach >= need:
                return _Flight(start, (along, up), time, reach, low)
        up, along = min(up + 0.05, _FASTEST_UP), along + 0.01


def _xyz(flight: _Flight, t: float) -> tuple[float, float, float]:
    x, z = flight.at(t)
    return x, 0.0, z


def _key(flight: _Flight, t: float) -> Key:
    share = t / flight.time
    return Key(t, *_xyz(flight, t), 0.10 + 0.04 * share, 0.16 + 0.08 * share, 0.0)


Landing = tuple[list[Step], list[Key], float]
"""steps and keys from the landing on, and where the walk begins, m"""


def _onto_one_foot(make: ForwardJump, flight: _Flight) -> Landing:
    land, foot, v = flight.time, other(make.side), make.speed
    pace, lowest = Pace(make.leave), 2 * flight.bend / flight.impact
    x, z = flight.at(land)
    mean = 0.46 * (v + make.leave)
    following = max((flight.reach + pace.length) / mean - 0.5 * pace.stance, lowest + 0.18, 0.30)
    stop = land + following + max(0.22 * pace.time, 0.06)
    if pace.runs:
        stop = land + following - 0.04
    place = (flight.foothold, SIGN[foot] * pace.width, 0.0)
    landed = Step(foot, land, stop, place, 0.0, land + 0.05, land + 0.6 * (stop - land), strike=0.30)
    after = walk(other(foot), land + following, (flight.foothold + pace.length, 0.0), _count_on(pace), pace, 0.0, make.turn)
    lean = 0.10 + 0.5 * flight.bend
    keys = [
        Key(land + lowest, x + 0.9 * v * lowest, 0.0, z - flight.bend, 0.6 * lean, lean, 0.0),
        *trunk_keys(after, pace, 0.0, make.turn),
    ]
    return [landed, *after], keys, flight.foothold


def _onto_both_feet(make: ForwardJump, flight: _Flight) -> Landing:
    land, first, second = flight.time, other(make.side), make.side
    pace, lowest, deep = Pace(make.leave), 2 * flight.bend / flight.impact, flight.bend
    x, z = flight.at(land)
    front, rear = flight.foothold, max(flight.foothold - 0.10, _over_the_ditch(make, SIGN[second] * 0.10))
    rises = land + lowest + 0.10 + 0.35 * deep
    stepping = rises + 0.16
    following = stepping + 0.40
    steps = [
        Step(first, land, following + 0.14, (front, SIGN[first] * 0.10, 0.0), 0.0, land + 0.06, following - 0.10, strike=0.35),
        Step(second, land + 0.03, stepping, (rear, SIGN[second] * 0.10, 0.0), 0.0, land + 0.09, stepping - 0.16, strike=0.35),
    ]
    stride = 0.30 + 0.16 * make.leave
    after = walk(second, following, (front + stride, 0.0), _count_on(pace), pace, 0.0, make.turn, speeds=(1.0,))
    middle, low, lean = 0.5 * (front + rear), z - deep, 0.15 + 1.5 * deep
    keys = [
        Key(land + lowest, min(x + 0.75 * flight.speed[0] * lowest, middle - 0.02), 0.0, low, 0.62 * lean, lean, 0.0),
        Key(rises, middle + 0.04, 0.0, low + 0.10 * deep, 0.62 * lean, lean, 0.0),
        Key(stepping, front + 0.05, 0.0, 0.5 * (low + 0.86), 0.35 * lean, 0.6 * lean, 0.0),
        Key(following, front + 0.55 * stride, 0.0, 0.84, 0.06, 0.12, 0.5 * make.turn),
        *trunk_keys(after, pace, 0.0, make.turn),
    ]
    return [*steps, *after], keys, front


def _free_feet(make: ForwardJump, flight: _Flight) -> list[Via]:
    """Ankles in the air, relative to the pelvis."""
    last, first = make.side, other(make.side)
    y, t = 0.09, flight.time
    low = flight.low

    def via(side: Side, time: float, x: float, z: float, pitch: float) -> Via:
        pelvis = flight.at(min(time, t))
        return Via(f"{side}_foot", time, (pelvis[0] + x, SIGN[side] * y, pelvis[1] + z), pitch)

    if make.style == "step":
        return [
            via(first, 0.15 * t, 0.16, -low + 0.18, 0.15),
            via(first, 0.65 * t, flight.reach + 0.02, -low + 0.09, 0.25),
            via(last, 0.6 * t, -0.34, -0.58, 0.8),
            via(last, t + 0.04, -0.30, -0.56, 0.9),
        ]
    tucked = 0.35 * max(-make.height, 0.0) - 0.62
    leading = [via(first, 0.25 * t, 0.16, tucked, 0.15), via(first, 0.7 * t, flight.reach, -low + 0.12, 0.2)]
    trailing = [via(last, 0.30 * t, -0.26, tucked - 0.02, 0.8), via(last, 0.7 * t, flight.reach - 0.18, -low + 0.13, 0.3)]
    if make.style == "jump":
        leading[0], trailing[0] = via(first, 0.3 * t, -0.02, tucked - 0.04, 0.6), via(last, 0.3 * t, -0.06, tucked - 0.04, 0.6)
    return [*leading, *trailing]


def _balancing_hands(make: ForwardJump, flight: _Flight) -> list[Via]:
    """Arms go back in the crouch and out in the air, and come down before the body as it sinks."""
    if make.style == "step":
        return []
    lowest = flight.time + 2 * flight.bend / flight.impact
    x, z = flight.at(flight.time)
    size = float(np.clip(flight.time / 0.5, 0.5, 1.0))
    vias = []
    for side in SIDES:
        middle = flight.at(0.55 * flight.time)
        vias += [
            Via(
                f"{side}_hand", 0.55 * flight.time, (middle[0] + 0.22, SIGN[side] * (0.28 + 0.14 * size), middle[1] + 0.28 * size)
            ),
            Via(f"{side}_hand", lowest + 0.05, (x + 0.42, SIGN[side] * 0.30, z - flight.bend + 0.16)),
        ]
        if make.style == "jump":
            back = _edge(make, 0.0)
            vias.append(Via(f"{side}_hand", -0.26, (back - 0.22, SIGN[side] * 0.27, make.height + 0.72)))
    return vias


def _count_on(pace: Pace) -> int:
    return math.ceil(_AFTER / pace.time) + 3
