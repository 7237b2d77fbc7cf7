"""Up a ledge of 0.5 to 2.1 m: walk up (or stand before it), hands on the edge, pull or press, foot up, stand, walk on.

How the hands get there depends on the height:

    to 1.42 m   both feet gather before the wall, the hands are put on while they still stand, the legs start what the arms finish
    above       both feet gather, the arms go up, a jump as high as needed brings the hands onto the edge; pull up. At 2.1 m it
                leaves the ground at 2.6 m/s, as people do. Or, if asked for (`run_up`), a run-up and a jump from one foot; the
                other finds the wall and turns the speed of the run upwards; pull up

A ball of a hand cannot hook an edge, so the palms lie on top and the elbows are not far under it.

    approach | gather | pull, press up | mantle      | walk on
    feet     ==      ==(wall)           =====foot up==========
    hands        ============================
"""

from dataclasses import dataclass

import numpy as np

from parc.author import skill_terrain
from parc.author.skill_script import BACK, SIGN, Key, Script, Step, Via, shifted
from parc.author.skills.mantle import mantle
from parc.author.skills.pull_up import pull_up
from parc.author.walking_footholds import STANDING, Pace, other, trunk_keys, walk_up
from parc.errors import SettingsError
from parc.fit.held_parts import SIDES, Side
from parc.metrics.free_flight import GRAVITY

STANDING_REACH = 1.42
"""m, the highest ledge that hands are put on from the ground"""
RUN_UP = 2.2
"""m/s, the least speed of a run-up"""
TIPTOE = 0.97
"""m, height of the pelvis when the feet leave the ground"""
PUSH_TIME = 0.28
"""s from the deepest point of a crouch until the feet leave: higher jumps push harder and from deeper, not longer"""
NEAREST, FARTHEST = 0.18, 1.0
"""m before the wall where one may stand: with the toes almost at it, or a long step away"""
SWING = 0.3
"""s of the step from there"""


@dataclass(frozen=True)
class Climb:
    """One way up a ledge."""

    height: float = 1.5
    """m"""
    speed: float = 1.2
    """m/s of the approach, `RUN_UP` at least if it is a run-up"""
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
    pit: bool = False
    """walls of the same height on the other three sides, too"""
    aside: float = 1.2
    """m from the middle of a pit to the centres of its outermost cells, 0.4 at least"""
    run_up: bool = False
    """jumps off one foot at a run; for ledges over `STANDING_REACH`"""
    stand: float | None = None
    """m from the wall to the ankles of a body that does not walk up but stands there, turned by `heading`, for `approach` s"""

    def __post_init__(self) -> None:
        if not 0.5 <= self.height <= 2.1:
            raise SettingsError(f"a climb of {self.height} m is not between 0.5 and 2.1 m")
        if not self.aside >= 0.4:
            raise SettingsError(f"a pit {self.aside} m aside is too narrow, expected at least 0.4 m")
        if self.run_up and (self.height <= STANDING_REACH or self.stand is not None):
            raise SettingsError(f"a run-up is made at ledges over {STANDING_REACH} m and not from a stand")
        if self.stand is not None and not NEAREST <= self.stand <= FARTHEST:
            raise SettingsError(
                f"a climb does not begin {self.stand} m before the wall: one stands {NEAREST} to {FARTHEST} m away"
            )

    @property
    def pace(self) -> Pace:
        """Of the approach."""
        return Pace(max(self.speed, RUN_UP) if self.run_up else self.speed)


def climb(name: str, make: Climb = Climb()) -> Script:
    """Of skill `climb`."""
    begin, before, steps, keys, vias, grip, support = _beginning(make)
    over = mantle(make.height, grip, support, make.side, make.tempo, make.leave, make.turn)
    if make.stand is None:
        far = make.pace.speed * (make.approach + 1.2) + 2.0
        aside = abs(np.sin(make.heading)) * far
        first_keys = trunk_keys(before, make.pace, 0.0, make.heading)
    else:
        far, aside = max(make.stand + 0.45, 0.8) + 1.0, 0.0
        first_keys = _standing_keys(make, begin, before)
    script = Script(
        name=name,
        skill="climb",
        terrain=skill_terrain.pit(make.height, far, over.reach + 1.0, make.aside + aside, 2.4 + aside)
        if make.pit
        else skill_terrain.ledge(make.height, far, over.reach + 1.0, 2.2 + aside),
        duration=over.end - begin,
        steps=[*before, *steps, *over.steps],
        grips=over.grips,
        keys=[*first_keys, *keys, *over.keys],
        vias=[*vias, *over.vias],
        brisk=make.pace.brisk if make.stand is None else 0.0,
        parameters={"height": make.height, "heading": make.heading, "tempo": make.tempo}
        | ({"speed": make.pace.speed} if make.stand is None else {"stand": make.stand}),
    )
    return shifted(script, -begin)


Beginning = tuple[float, list[Step], list[Step], list[Key], list[Via], float, float]
"""begin, walk, steps, keys, vias, time of the grip and of the support"""


def _beginning(make: Climb) -> Beginning:
    if make.height <= STANDING_REACH:
        return _from_the_ground(make)
    return _at_a_run(make) if make.run_up else _from_both_feet(make)


def _from_the_ground(make: Climb) -> Beginning:
    h, q, lead, trail = make.height, make.tempo, make.side, other(make.side)
    gather, grip, take_off = -0.46, 0.0, 0.34
    first = Step(trail, grip - 0.42, take_off, (gather, SIGN[trail] * 0.11, 0.0), 0.0, grip - 0.36, take_off - 0.20)
    second = Step(lead, grip - 0.10, take_off + 0.02, (gather + 0.02, SIGN[lead] * 0.11, 0.0), 0.0, grip - 0.07, take_off - 0.18)
    before = _before(make, first, second, gather - 0.50)
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


def _from_both_feet(make: Climb) -> Beginning:
    """The pelvis is at `reach` when the hands come on: of low ledges before the feet leave the ground, of high ones after."""
    h, lead, trail = make.height, make.side, other(make.side)
    gather, take_off, last_speed = -0.40, 0.0, 0.2
    reach = h - float(np.interp(h, [1.55, 1.95], [0.70, 0.80]))
    speed = max(1.0, (last_speed**2 + 2 * GRAVITY * max(reach - TIPTOE, 0.0)) ** 0.5)
    depth = max(0.5 * speed * PUSH_TIME, TIPTOE - reach + 0.04)
    push = 2 * depth / speed
    low = take_off - push
    if reach > TIPTOE:
        grip = take_off + (speed - last_speed) / GRAVITY
    else:
        grip = low + push * ((reach - TIPTOE + depth) / depth) ** 0.5
    up = max(take_off, grip)
    first = Step(trail, low - 0.58, take_off, (gather, SIGN[trail] * 0.11, 0.0), 0.0, low - 0.52, take_off - 0.14)
    second = Step(lead, low - 0.26, take_off, (gather + 0.01, SIGN[lead] * 0.11, 0.0), 0.0, low - 0.22, take_off - 0.14)
    before = _before(make, first, second, gather - 0.50)
    pull = pull_up(h, up, max(reach, TIPTOE), lead, make.tempo, up + 0.17)
    bend = min(depth / 0.4, 1.0)
    keys = [
        Key(low - 0.25, gather - 0.06, 0.0, 0.84, 0.05, 0.12, 0.0),
        Key(low, gather - 0.06 * bend, 0.0, TIPTOE - depth, 0.15 + 0.35 * bend, 0.3 + 0.4 * bend),
        Key(take_off, -0.36, 0.0, TIPTOE, 0.12, 0.18),
    ]
    if grip > take_off + 0.05:
        keys.append(Key(grip, -0.32, 0.0, reach, 0.12, 0.18))
    ways = ((low - 0.30, gather + 0.34, 1.10), (low, gather + 0.32, TIPTOE - depth + 0.75), (grip - 0.09, 0.0, h + 0.09))
    return low - 1.1 - make.approach, before, [first, second, *pull.steps], [*keys, *pull.keys], _arms(ways), grip, pull.support


def _at_a_run(make: Climb) -> Beginning:
    h, lead, trail = make.height, make.side, other(make.side)
    plant, stance, take_off, grip, reach = -0.68, 0.26, 0.0, 0.27, h - 0.76
    last = Step(lead, -stance, take_off, (plant, SIGN[lead] * 0.06, 0.0), 0.0, -stance + 0.03, take_off - 0.12)
    before = _walk_up(make, trail, last.start - make.pace.time, plant - make.pace.length)
    pull = pull_up(h, grip, reach, lead, make.tempo, take_off - 0.01, max(reach - 0.74, 0.42))
    keys = [
        Key(last.start + 0.02, plant - 0.26, 0.0, 0.85, 0.02, 0.05, 0.0),
        Key(take_off, plant + 0.19, 0.0, TIPTOE, 0.02, 0.08),
        Key(take_off + 0.14, -0.41, 0.0, 0.4 * TIPTOE + 0.6 * reach, 0.05, 0.10),
        Key(grip, -0.34, 0.0, reach, 0.08, 0.14),
    ]
    ways = ((last.start - 0.10, plant - 0.05, 1.15), (take_off - 0.10, plant + 0.32, 1.58), (grip - 0.09, 0.0, h + 0.09))
    return last.start - 0.6 - make.approach, before, [last, *pull.steps], [*keys, *pull.keys], _arms(ways), grip, pull.support


def _before(make: Climb, first: Step, second: Step, x: float) -> list[Step]:
    """What leads up to the feet's gathering: a walk whose last foothold is at `x`, or a stand."""
    if make.stand is None:
        return _walk_up(make, second.side, first.start - 0.48, x)
    left = -np.sin(make.heading), np.cos(make.heading)
    begin = first.start - SWING - make.approach - 1.0
    steps = []
    for step in (first, second):
        across = 0.11 * SIGN[step.side]
        # turned feet need less room before the wall: the foremost ankle has it
        place = (-make.stand - 0.11 * abs(left[0]) + across * left[0], across * left[1], 0.0)
        steps.append(Step(step.side, begin, step.start - SWING, place, make.heading))
    return steps


def _standing_keys(make: Climb, begin: float, stand: list[Step]) -> list[Key]:
    """The pelvis is over the feet from the beginning until the first of them leaves."""
    feet = np.mean([step.place for step in stand], axis=0)
    leave = min(step.stop for step in stand)
    x, y = feet[0] - 0.05 * np.cos(make.heading), feet[1] - 0.05 * np.sin(make.heading)
    return [Key(time, float(x), float(y), STANDING, 0.02, 0.04, make.heading) for time in (begin, leave)]


def _walk_up(make: Climb, side: Side, start: float, x: float) -> list[Step]:
    return walk_up(side, start, x, make.approach, make.pace, yaw=make.heading)


def _arms(ways: tuple[tuple[float, float, float], ...]) -> list[Via]:
    """Both hands pass x and z at times; they rise early, before the jump needs them."""
    return [Via(f"{side}_hand", time, (x, SIGN[side] * 0.24, z)) for side in SIDES for time, x, z in ways]
