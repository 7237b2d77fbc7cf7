"""Heights that the body stood on: contact events clustered into a few levels.

Feet decide. A stance is the heel and the toe of one foot at one time; it may found a level if it is flat (heel and toe agree)
or if only the toe ever stands (runners). Events of other heights - a foot that hooks an edge or hovers - belong to a level if
one is near, and are no contact otherwise. Hands found levels only where no foot level is near: a wall that is vaulted. A foot
below a hand that holds may be pressed against a wall or dangle, which looks like standing: it must be flatter and nearer to a
level to count, and toes alone found none. A steep foot that is lower than a raised level dangles over its edge. A hand that is
high above feet that stand all the while, with nothing else on its level near by, rests on a hip or in the air.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from parc.mocap.contact.find_contacts import Contacts, Event
from parc.mocap.subject.calibrate_subject import plane_slope


@dataclass(frozen=True)
class LevelSettings:
    """How heights of contacts become levels."""

    width: float = 0.07
    """m from the mean of a level within which heights belong to it"""
    agree: float = 0.06
    """m between the heights of heel and toe of a flat foot"""
    shortest: float = 0.12
    """s of standing that founds a level"""
    hand_reach: float = 0.12
    """m from a foot level within which a hand is on it"""
    join: float = 0.10
    """m from a level within which an event that founds none still belongs to it"""
    hanging: float = 0.025
    """m in place of `agree` and `join` for a foot that hangs, and under a raised level for a steep one"""
    hanging_share: float = 1 / 3
    """of the time that a hand must hold well above a foot that hangs"""
    hand_above: float = 0.3
    """m"""
    alone: float = 0.5
    """m along the ground around a hand high above standing feet within which something else must be on its level"""


@dataclass(frozen=True, eq=False)
class Held:
    """An event and the level it is on."""

    event: Event
    level: float
    """m"""


@dataclass(frozen=True, eq=False)
class Supports:
    """What a body stands on and when: only events that are on a level."""

    frames: int
    held: tuple[Held, ...]
    """in the order of their starts"""
    levels: tuple[float, ...]
    """m, from the lowest"""

    @classmethod
    def of(cls, frames: int, held: Iterable[Held]) -> "Supports":
        """With the levels that something is held on."""
        held = tuple(held)
        return cls(frames, held, tuple(sorted({h.level for h in held})))

    @property
    def contacts(self) -> Contacts:
        """The events alone."""
        return Contacts(self.frames, tuple(h.event for h in self.held))

    @property
    def centres(self) -> NDArray[np.float64]:
        """[E, 3] of the events, m."""
        return np.array([h.event.centre for h in self.held]).reshape(-1, 3)

    def changed(self, change: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> "Supports":
        """With other points [F, C, 3] of all events, on the levels they were on."""
        return replace(self, held=tuple(replace(h, event=h.event.moved(change(h.event.points))) for h in self.held))

    def shifted(self, shifts: Sequence[NDArray[np.float64]], levels: Sequence[float] | None = None) -> "Supports":
        """With event i moved by `shifts[i]` [3], and then said to be on `levels[i]` (by default the level it was on)."""
        on = [h.level for h in self.held] if levels is None else levels
        each = zip(self.held, shifts, on, strict=True)
        return Supports.of(self.frames, (Held(h.event.moved(h.event.points + shift), float(level)) for h, shift, level in each))


def find_levels(contacts: Contacts, fps: float = 30.0, settings: LevelSettings = LevelSettings()) -> Supports:
    """The levels of a take's contacts, and the contacts that are on one."""
    founding = [(e, _foot_weight(e, contacts, fps, settings)) for e in contacts.events if e.part != "hand"]
    levels = _cluster([(e.height, w) for e, w in founding if w > 0], settings.width, settings.shortest)
    if not levels and founding:
        levels = [float(np.median([e.height for e, _ in founding]))]
    hands = [e for e in contacts.events if e.part == "hand" and _distance(e.height, levels) > settings.hand_reach]
    walls = _cluster([(e.height, (e.stop - e.start) / fps) for e in hands], settings.width, 2 * settings.shortest)
    held = []
    for e in contacts.events:
        level = _nearest(e.height, levels)
        hangs = e.part != "hand" and _hanging(e, contacts, settings) > settings.hanging_share
        reach = settings.hand_reach if e.part == "hand" else settings.hanging if hangs else settings.join
        if e.part == "hand" and (level is None or abs(level - e.height) > reach):
            level, reach = _nearest(e.height, walls), settings.width
        dangles = level is not None and not e.votes and e.height < level - settings.hanging and level > min(levels)
        if level is not None and abs(level - e.height) <= reach and not dangles:
            held.append(Held(e, level))
    return Supports.of(contacts.frames, [h for h in held if not _idle(h, held, settings)])


def floor_slope(supports: Supports) -> NDArray[np.float64]:
    """Rise of the recorded floor in x and y, [2], from the footholds of one take on its lowest level."""
    floor = [h.level == supports.levels[0] and h.event.part != "hand" and h.event.votes for h in supports.held]
    return plane_slope(supports.centres[np.array(floor, bool)], widest=1.5, ridge=0.3, robust=False)


def _foot_weight(event: Event, contacts: Contacts, fps: float, settings: LevelSettings) -> float:
    """Seconds of flat standing, 0 for an event that says nothing about the ground."""
    if not event.votes:
        return 0.0
    seconds = (event.stop - event.start) / fps
    other = "heel" if event.part == "toe" else "toe"
    twins = [e for e in contacts.events if (e.side, e.part) == (event.side, other) and e.meets(event)]
    hanging = _hanging(event, contacts, settings)
    if not twins:
        return seconds if event.part == "toe" and not hanging else 0.0
    agree = settings.hanging if hanging > settings.hanging_share else settings.agree
    flat = any(abs(e.height - event.height) < agree and e.votes for e in twins)
    return seconds if flat else 0.0


def _hanging(event: Event, contacts: Contacts, settings: LevelSettings) -> float:
    """Share of the event during which a hand well above the foot is held."""
    span = slice(event.start, event.stop)
    held = np.zeros(event.stop, bool)
    for e in contacts.events:
        if e.part == "hand" and e.height > event.height + settings.hand_above:
            held[e.start : e.stop] = True
    return float(held[span].mean())


def _idle(hand: Held, held: list[Held], settings: LevelSettings) -> bool:
    """Whether a hand carries nothing, as far as one can tell: a foot stands well below it throughout, and it is alone."""
    e = hand.event
    if e.part != "hand":
        return False
    stands = np.zeros(e.stop, bool)
    for other in held:
        o = other.event
        if o.part != "hand" and o.height < e.height - settings.hand_above:
            stands[o.start : o.stop] = True
        elif o is not e and other.level == hand.level and np.linalg.norm(o.centre[:2] - e.centre[:2]) < settings.alone:
            return False
    return bool(stands[e.start :].all())


def _cluster(votes: list[tuple[float, float]], width: float, least: float) -> list[float]:
    """Weighted means of groups of (height, weight) no wider than `width` from their running mean, light groups dropped."""
    groups: list[list[tuple[float, float]]] = []
    for height, weight in sorted(votes):
        if groups and height - _mean(groups[-1]) < width:
            groups[-1].append((height, weight))
        else:
            groups.append([(height, weight)])
    return [_mean(g) for g in groups if sum(w for _, w in g) >= least]


def _mean(votes: list[tuple[float, float]]) -> float:
    return sum(h * w for h, w in votes) / sum(w for _, w in votes)


def _nearest(height: float, levels: list[float]) -> float | None:
    return min(levels, key=lambda level: abs(level - height)) if levels else None


def _distance(height: float, levels: list[float]) -> float:
    return min((abs(level - height) for level in levels), default=float("inf"))
