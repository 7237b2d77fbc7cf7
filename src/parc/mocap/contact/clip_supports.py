"""Contact events of a clip from its labels, and its flights: all that a variation needs to know of where a body stands.

Any clip with contact labels will do, also one recorded in simulation. Of a labelled foot those parts stand that are near the
ground. A flight is a stretch in which no body is near the terrain and none is labelled, and what goes before and after it while
still falling: a foot that left its ledge may be near the wall for a while.
"""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from parc.character import rotation
from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.fit.held_parts import SIDES, Part, Side
from parc.metrics.clip_batch import ClipBatch
from parc.metrics.free_flight import airborne
from parc.mocap.contact.find_contacts import Event
from parc.mocap.contact.support_levels import Held, Supports
from parc.mocap.read.detect_units_and_rate import vertical_acceleration
from parc.mocap.subject.human_anatomy import Anatomy
from parc.mocap.terrain.snap_footholds import heights_under

Array = NDArray[np.float64]
_TOUCH = 0.02
"""m: a part of a labelled foot this near to the ground stands on it"""
_SAME = 0.08
"""m between an event and the ground under it within which it stands there"""
_SHORTEST = 3
"""frames of a flight with nothing near"""
_FALLING = 5.0
"""m/s2 of the centre of mass downwards beside such frames"""
_LONG = 0.25
"""s of a flight after which the ground may be another"""
_WIDE = 0.8
"""m along the ground of the same"""
_NOWHERE = 0.3
"""m along the ground of a jump in place"""
_STANDS = 0.3
"""s around a jump in place in which feet stand; one of them twice as long"""
LIMITS = {"step": 0.6, "jump": 1.0, "hands": 1.8, "drop": 2.5}
"""m: what is believed of a body by how it gets up or down: stepping, jumping up, with hands, jumping down"""
_CLIMBED = 2.0
"""times as high at which a climb would be another motion"""


@dataclass(frozen=True, eq=False)
class Footing:
    """What a clip stands on and when."""

    supports: Supports
    flights: tuple[tuple[int, int], ...]
    """first frame in the air and first after"""
    reach: tuple[float, ...] = ()
    """m along the ground that each flight goes"""

    @property
    def ground(self) -> float:
        """m, the lowest level"""
        return min(self.supports.levels, default=0.0)

    def long_flight(self, share: float, fps: float) -> int | None:
        """Which of the flights that take a while and go somewhere, `share` 0..1 of the way through them."""
        ways = zip(self.flights, self.reach, strict=True)
        long = [i for i, ((a, b), reach) in enumerate(ways) if b - a >= _LONG * fps and reach > _WIDE]
        return long[min(int(share * len(long)), len(long) - 1)] if long else None

    def jump_in_place(self, fps: float) -> int | None:
        """The first flight that takes a while, goes nowhere and has standing feet and no hands before and after."""
        for i, ((a, b), reach) in enumerate(zip(self.flights, self.reach, strict=True)):
            sides = [
                [h for h in self.supports.held if h.event.start < a and h.event.stop >= a - _STANDS * fps],
                [h for h in self.supports.held if h.event.stop > b and h.event.start <= b + _STANDS * fps],
            ]
            quiet = all(side and all(h.event.part != "hand" for h in side) for side in sides)
            long = [max((h.event.stop - h.event.start for h in side), default=0) >= 2 * _STANDS * fps for side in sides]
            if quiet and all(long) and b - a >= _LONG * fps and reach < _NOWHERE:
                return i
        return None

    def highest_rise(self) -> float:
        """The factor of heights at which the first obstacle is too high for how it is overcome; at least 1."""
        held = sorted(self.supports.held, key=lambda h: h.event.start)
        feet = [h for h in held if h.event.part != "hand"]
        hands = [h.event for h in held if h.event.part == "hand"]
        factor = np.inf
        for before, after in pairwise(feet):
            step = after.level - before.level
            if abs(step) < 0.1:
                continue
            span = (before.event.start, after.event.stop)
            if any(e.start < span[1] and span[0] < e.stop for e in hands):
                kind = "hands"
            elif any(a < span[1] and span[0] < b for a, b in self.flights):
                kind = "jump" if step > 0 else "drop"
            else:
                kind = "step"
            factor = min(factor, LIMITS[kind] / abs(step), _CLIMBED if kind == "hands" else np.inf)
        return max(factor, 1.0)


def footing_of_clip(clip: Clip, character: Character) -> Footing:
    """Contacts and flights of a clip with labels."""
    batch = ClipBatch.stack([clip], character)
    loose = ~(clip.motion.contacts > 0.5).any(1).numpy()
    free = airborne(batch)[0].numpy() & loose
    falling = loose & (vertical_acceleration(batch.centre_of_mass[0].double().numpy(), clip.motion.fps) < -_FALLING)
    runs = [span for (span,) in ndimage.find_objects(ndimage.label(free | falling)[0]) if free[span].sum() >= _SHORTEST]
    inside = [(span.start, span.stop) for span in runs if span.start > 1 and span.stop < len(free) - 1]
    root = clip.motion.root_pos[:, :2]
    reach = tuple(float((root[b] - root[a - 1]).norm()) for a, b in inside)
    return Footing(supports_of_clip(clip, character), tuple(inside), reach)


def supports_of_clip(clip: Clip, character: Character) -> Supports:
    """Contacts of a clip with labels: of a labelled foot the parts that are near the ground."""
    anatomy = Anatomy.of(character)
    pose = clip.motion.body_poses(character)
    turns = rotation.to_matrix(pose.rot).double().numpy()
    pos = pose.pos.double().numpy()
    held: list[Held] = []
    for side in SIDES:
        foot, hand = anatomy.body[f"{side}_ankle"], anatomy.body[f"{side}_wrist"]
        corners = pos[:, foot, None] + np.einsum("tij,cj->tci", turns[:, foot], anatomy.sole)
        below = heights_under(clip.terrain, corners[..., :2])
        near = corners[..., 2] - below < _TOUCH
        label = clip.motion.contacts[:, foot].numpy() > 0.5
        held += _held(clip, side, "heel", label & near[:, :2].any(1), corners[:, :2])
        held += _held(clip, side, "toe", label & near[:, 2:].any(1), corners[:, 2:])
        palm = pos[:, hand] + turns[:, hand] @ anatomy.point[f"{side}_wrist"]
        palm = palm[:, None] - np.array([0.0, 0.0, anatomy.palm_drop])
        held += _held(clip, side, "hand", clip.motion.contacts[:, hand].numpy() > 0.5, palm)
    return Supports.of(len(clip.motion), sorted(held, key=lambda h: h.event.start))


def _held(clip: Clip, side: Side, part: Part, mask: NDArray[np.bool_], points: Array) -> list[Held]:
    found = []
    for (span,) in ndimage.find_objects(ndimage.label(mask)[0]):
        event = Event(side, part, span.start, span.stop, points[span])
        level = float(heights_under(clip.terrain, event.centre[:2]))
        found.append(Held(event, level if abs(level - event.height) < _SAME else event.height))
    return found


def retimed_supports(supports: Supports, starts: Array, at: Array) -> Supports:
    """In another time: frame i of before is at `starts[i]` now, and frame k of now was at `at[k]`."""
    was = np.round(at).astype(int)
    held = []
    for h in supports.held:
        e = h.event
        first = int(np.ceil(starts[e.start] - 1e-6))
        stop = min(int(np.floor(starts[e.stop - 1] + 1e-6)) + 1, len(at))
        if stop > first:
            rows = (was[first:stop] - e.start).clip(0, len(e.points) - 1)
            held.append(replace(h, event=replace(e, start=first, stop=stop, points=e.points[rows])))
    return Supports(len(at), tuple(held), supports.levels)
