"""Who touches the ground when, from kinematics alone, at the rate of the source.

A foot is two parts, heel and toe, each the middle of an edge of the sole. A part stands while it is slow, also vertically; the
walk from heel to toe thus comes out as two overlapping events, and each can later be held where it was. A steep foot stands on
its lower part alone: the heels of one who kneels with the feet over an edge are still, but touch nothing. A hand stands while it
is slow and the body moves over it. Limits have hysteresis (enter at v, leave at 1.5 v), gaps of two hundredths of a second are
closed, and what is too short is dropped. At the top of a jump everything is slow: an event in which the body falls freely is
none.

A running stance lasts a tenth of a second, three frames at 30 Hz: that is why labels are made before resampling.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import ndimage
from torch import Tensor

from parc.fit.held_parts import PARTS, SIDES, Part, Side
from parc.mocap.read.detect_units_and_rate import body_middle, vertical_acceleration
from parc.mocap.subject.calibrate_subject import Fitted
from parc.mocap.subject.closed_form_pose import foot_frames
from parc.mocap.subject.human_anatomy import Anatomy


@dataclass(frozen=True)
class ContactSettings:
    """When a part of a body stands, as far as its motion tells."""

    foot_speed: float = 0.35
    """m/s under which a part of a foot may stand"""
    foot_share: float = 0.14
    """of the root's speed: fast runners' feet are tracked less still"""
    foot_rise: float = 0.3
    """m/s, the same vertically"""
    hand_speed: float = 0.25
    """m/s under which a hand may be held"""
    hand_share: float = 0.3
    """of the speed of root and shoulder"""
    hand_travel: float = 0.12
    """m that shoulder or pelvis must move while a hand is held"""
    leave: float = 1.5
    """times the limit at which contact ends"""
    shortest: float = 0.06
    """s"""
    gap: float = 0.02
    """s, shorter interruptions are closed"""
    falling: float = 6.0
    """m/s2 of downward acceleration at which nobody stands"""
    tilt: float = 40.0
    """degrees between a sole and the ground beyond which its upper part does not stand and its lower tells no height"""


@dataclass(frozen=True, eq=False)
class Event:
    """One part of one limb, held at one place for a while."""

    side: Side
    part: Part
    start: int
    """first frame at the target rate"""
    stop: int
    """first frame after"""
    points: NDArray[np.float64]
    """[F, C, 3] what touches in each frame: two corners of the sole, or the underside of the hand"""
    votes: bool = True
    """its height can be trusted"""

    @cached_property
    def height(self) -> float:
        """m, median over its frames of the lowest point"""
        return float(np.median(self.points[..., 2].min(1)))

    @cached_property
    def centre(self) -> NDArray[np.float64]:
        """[3]"""
        return np.append(np.median(self.points[..., :2].mean(1), axis=0), self.height)

    def moved(self, points: NDArray[np.float64]) -> "Event":
        """The same with other points [F, C, 3]."""
        return replace(self, points=points)

    def meets(self, other: "Event") -> bool:
        """Whether both are held at some time."""
        return other.start < self.stop and self.start < other.stop


@dataclass(frozen=True, eq=False)
class Contacts:
    """All contacts of a take, in the order of their starts."""

    frames: int
    """at the target rate"""
    events: tuple[Event, ...]

    def held(self) -> Tensor:
        """[T, 6] 1 where a part is held, in the order of `PARTS`."""
        held = torch.zeros(self.frames, len(PARTS))
        for e in self.events:
            held[e.start : e.stop, PARTS.index((e.side, e.part))] = 1
        return held


def find_contacts(
    fitted: Fitted, anatomy: Anatomy, fps: float = 30.0, hands: bool = True, settings: ContactSettings = ContactSettings()
) -> Contacts:
    """Contacts of a take in the character's size at its own rate, reported in frames of the rate `fps`."""
    search = _Search(fitted, anatomy, fps, settings)
    events: list[Event] = []
    for side in SIDES:
        events += search.foot(side)
        if hands:
            events += search.hand(side)
    return Contacts(len(search.at), tuple(sorted(events, key=lambda e: e.start)))


class _Search:
    """The contacts of one take, limb by limb."""

    def __init__(self, fitted: Fitted, anatomy: Anatomy, fps: float, settings: ContactSettings) -> None:
        self.fitted, self.anatomy, self.settings = fitted, anatomy, settings
        marks = fitted.landmarks
        self.marks, self.rate = marks, marks.fps
        frames = int(np.floor((len(marks) - 1) / self.rate * fps + 1e-6)) + 1
        self.at = np.minimum(np.round(np.arange(frames) * self.rate / fps).astype(int), len(marks) - 1)
        self.pelvis = 0.5 * (marks["left_hip"] + marks["right_hip"])
        self.root_speed = self.speed(self.pelvis)
        self.falling = vertical_acceleration(body_middle(marks), self.rate) < -settings.falling

    def foot(self, side: Side) -> list[Event]:
        """Heel and toe: while slow against the root and vertically."""
        settings, events = self.settings, []
        turns = foot_frames(self.anatomy, self.fitted, side)
        corners = self.marks[f"{side}_ankle"][:, None] + np.einsum("tij,cj->tci", turns, self.anatomy.sole)
        limit = np.maximum(settings.foot_speed, settings.foot_share * self.root_speed)
        parts: tuple[tuple[Part, slice, slice], ...] = (("heel", slice(0, 2), slice(2, 4)), ("toe", slice(2, 4), slice(0, 2)))
        for part, rows, others in parts:
            pair = corners[:, rows]
            above = pair[..., 2].min(1) - corners[:, others, 2].min(1)
            mid = pair.mean(1)
            for start, stop in self.runs(np.maximum(self.speed(mid) / limit, self.speed(mid[:, 2:]) / settings.foot_rise)):
                # of a steep foot the lower part stands alone
                level = np.median(turns[start:stop, 2, 2]) > np.cos(np.radians(settings.tilt))
                if level or np.median(above[start:stop]) <= 0:
                    events += self.event(side, part, start, stop, pair, bool(level))
        return events

    def hand(self, side: Side) -> list[Event]:
        """While it is slow and the body moves over it."""
        settings, events = self.settings, []
        hand, shoulder = self.marks[f"{side}_wrist"], self.marks[f"{side}_shoulder"]
        moving = np.maximum(self.root_speed, self.speed(shoulder))
        underside = hand[:, None] - np.array([0.0, 0.0, self.anatomy.palm_drop])
        for start, stop in self.runs(self.speed(hand) / np.maximum(settings.hand_speed, settings.hand_share * moving)):
            travel = max(_extent(shoulder[start:stop]), _extent(self.pelvis[start:stop]))
            if travel >= settings.hand_travel and _extent(hand[start:stop]) <= min(0.6 * travel, 0.25):
                events += self.event(side, "hand", start, stop, underside, True)
        return events

    def event(self, side: Side, part: Part, start: int, stop: int, points: NDArray, votes: bool) -> list[Event]:
        """At the target rate; nothing if it falls between two frames."""
        inside = np.nonzero((self.at >= start) & (self.at < stop))[0]
        if len(inside) == 0:
            return []
        return [Event(side, part, int(inside[0]), int(inside[-1]) + 1, points[self.at[inside]], votes)]

    def runs(self, ratio: NDArray) -> list[tuple[int, int]]:
        """Stretches in which the ratio of speed to limit is under 1 somewhere and never over `leave`, but for falls."""
        settings, rate = self.settings, self.rate
        loose, tight = ratio < settings.leave, ratio < 1
        gap = round(settings.gap * rate)
        if gap:
            loose = ndimage.binary_closing(np.pad(loose, gap + 1), np.ones(gap + 1, bool))[gap + 1 : -gap - 1]
        slack, runs = round(0.01 * rate), []
        for (span,) in ndimage.find_objects(ndimage.label(loose)[0]):
            core = np.nonzero(tight[span])[0]
            if len(core) and core[-1] + 1 - core[0] >= settings.shortest * rate:
                start, stop = max(span.start, span.start + core[0] - slack), min(span.stop, span.start + core[-1] + 1 + slack)
                if np.median(self.falling[start:stop]) <= 0.5:
                    runs.append((start, stop))
        return runs

    def speed(self, track: NDArray) -> NDArray[np.float64]:
        """m/s, the lower of the speeds from the frame before and to the frame after: the ends of a stance stand too."""
        if len(track) < 2:
            return np.zeros(len(track))
        smooth = ndimage.gaussian_filter1d(track, max(0.008 * self.rate, 1e-3), axis=0, mode="nearest")
        steps = np.linalg.norm(np.diff(smooth, axis=0), axis=-1) * self.rate
        return np.minimum(np.append(steps, steps[-1]), np.insert(steps, 0, steps[0]))


def _extent(track: NDArray) -> float:
    return float(np.linalg.norm(np.ptp(track, axis=0)))
