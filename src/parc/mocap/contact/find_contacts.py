"""Who touches the ground when, from kinematics alone, at the rate of the source.

A foot is two parts, heel and toe, each the middle of an edge of the sole. A part stands while it is slow, also vertically; the
walk from heel to toe thus comes out as two overlapping events, and each can later be held where it was. A steep foot stands on
its lower part alone: the heels of one who kneels with the feet over an edge are still, but touch nothing. A hand stands while it
is slow and the body moves over it. Limits have hysteresis (enter at v, leave at 1.5 v), gaps of two hundredths of a second are
closed, and what is too short is dropped. At the top of a jump everything is slow: an event in which the body falls freely is
none.

A running stance lasts a tenth of a second, three frames at 30 Hz: that is why labels are made before resampling.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from parc.mocap.read.detect_units_and_rate import body_middle, vertical_acceleration
from parc.mocap.read.joint_naming import SIDES
from parc.mocap.subject.calibrate_subject import Fitted
from parc.mocap.subject.closed_form_pose import foot_frames
from parc.mocap.subject.human_anatomy import Anatomy

Part = Literal["heel", "toe", "hand"]
PARTS: tuple[tuple[str, Part], ...] = tuple((side, part) for part in ("heel", "toe", "hand") for side in SIDES)


@dataclass(frozen=True)
class ContactSettings:
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

    side: str
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
        return Event(self.side, self.part, self.start, self.stop, points, self.votes)


@dataclass(frozen=True, eq=False)
class Contacts:
    frames: int
    """at the target rate"""
    events: tuple[Event, ...]

    def held(self, side: str, part: Part) -> NDArray[np.bool_]:
        """[T]"""
        mask = np.zeros(self.frames, bool)
        for e in self.events:
            if (e.side, e.part) == (side, part):
                mask[e.start : e.stop] = True
        return mask

    def labels(self, anatomy: Anatomy, bodies: int) -> NDArray[np.float32]:
        """[T, B] of the character's bodies"""
        labels = np.zeros((self.frames, bodies), np.float32)
        for e in self.events:
            labels[e.start : e.stop, anatomy.body[f"{e.side}_{'wrist' if e.part == 'hand' else 'ankle'}"]] = 1
        return labels


def find_contacts(
    fitted: Fitted, anatomy: Anatomy, fps: float = 30.0, hands: bool = True,
    settings: ContactSettings = ContactSettings(),
) -> Contacts:  # fmt: skip
    """Contacts of a take in the character's size at its own rate, reported in frames of the rate `fps`."""
    marks = fitted.landmarks
    rate = marks.fps
    frames = int(np.floor((len(marks) - 1) / rate * fps + 1e-6)) + 1
    smooth = max(0.008 * rate, 1e-3)
    middle = body_middle(marks)
    root_speed = _speed(0.5 * (marks["left_hip"] + marks["right_hip"]), rate, smooth)
    falling = vertical_acceleration(middle, rate) < -settings.falling
    at = np.minimum(np.round(np.arange(frames) * rate / fps).astype(int), len(marks) - 1)
    events: list[Event] = []
    for side in SIDES:
        turns = foot_frames(anatomy, fitted, side)
        corners = marks[f"{side}_ankle"][:, None] + np.einsum("tij,cj->tci", turns, anatomy.sole)
        for part, rows, others in (("heel", slice(0, 2), slice(2, 4)), ("toe", slice(2, 4), slice(0, 2))):
            pair = corners[:, rows]
            above = pair[..., 2].min(1) - corners[:, others, 2].min(1)
            mid = pair.mean(1)
            limit = np.maximum(settings.foot_speed, settings.foot_share * root_speed)
            ratio = np.maximum(_speed(mid, rate, smooth) / limit, _speed(mid[:, 2:], rate, smooth) / settings.foot_rise)
            for start, stop in _runs(ratio, rate, settings):
                if np.median(falling[start:stop]) > 0.5:
                    continue
                level = np.median(turns[start:stop, 2, 2]) > np.cos(np.radians(settings.tilt))
                if not level and np.median(above[start:stop]) > 0:
                    continue
                events += _event(side, part, start, stop, at, pair, bool(level))  # type: ignore[arg-type]
        if hands:
            events += _hand_events(fitted, side, at, root_speed, falling, smooth, anatomy.palm_drop, settings)
    return Contacts(frames, tuple(sorted(events, key=lambda e: e.start)))


def _hand_events(
    fitted: Fitted,
    side: str,
    at: NDArray,
    root_speed: NDArray,
    falling: NDArray,
    smooth: float,
    radius: float,
    settings: ContactSettings,
) -> list[Event]:
    marks = fitted.landmarks
    hand, shoulder = marks[f"{side}_wrist"], marks[f"{side}_shoulder"]
    pelvis = 0.5 * (marks["left_hip"] + marks["right_hip"])
    moving = np.maximum(root_speed, _speed(shoulder, marks.fps, smooth))
    ratio = _speed(hand, marks.fps, smooth) / np.maximum(settings.hand_speed, settings.hand_share * moving)
    events = []
    for start, stop in _runs(ratio, marks.fps, settings):
        travel = max(_extent(shoulder[start:stop]), _extent(pelvis[start:stop]))
        stray = _extent(hand[start:stop])
        if travel < settings.hand_travel or stray > min(0.6 * travel, 0.25) or np.median(falling[start:stop]) > 0.5:
            continue
        underside = hand[:, None] - np.array([0.0, 0.0, radius])
        events += _event(side, "hand", start, stop, at, underside, True)
    return events


def _event(side: str, part: Part, start: int, stop: int, at: NDArray, points: NDArray, votes: bool) -> list[Event]:
    """At the target rate; nothing if it falls between two frames."""
    inside = np.nonzero((at >= start) & (at < stop))[0]
    if len(inside) == 0:
        return []
    return [Event(side, part, int(inside[0]), int(inside[-1]) + 1, points[at[inside]], votes)]


def _runs(ratio: NDArray, rate: float, settings: ContactSettings) -> list[tuple[int, int]]:
    """Stretches in which the ratio of speed to limit is under 1 somewhere and never over `leave`."""
    loose, tight = ratio < settings.leave, ratio < 1
    gap = round(settings.gap * rate)
    if gap:
        loose = ndimage.binary_closing(np.pad(loose, gap + 1), np.ones(gap + 1, bool))[gap + 1 : -gap - 1]
    labels, _ = ndimage.label(loose)
    runs = []
    for (span,) in ndimage.find_objects(labels):
        core = np.nonzero(tight[span])[0]
        if len(core) and core[-1] + 1 - core[0] >= settings.shortest * rate:
            slack = round(0.01 * rate)
            runs.append((max(span.start, span.start + core[0] - slack), min(span.stop, span.start + core[-1] + 1 + slack)))
    return runs


def _speed(track: NDArray, rate: float, smooth: float) -> NDArray[np.float64]:
    """The lower of the speeds from the frame before and to the frame after: the ends of a stance stand too."""
    if len(track) < 2:
        return np.zeros(len(track))
    steps = np.linalg.norm(np.diff(ndimage.gaussian_filter1d(track, smooth, axis=0, mode="nearest"), axis=0), axis=-1) * rate
    return np.minimum(np.append(steps, steps[-1]), np.insert(steps, 0, steps[0]))


def _extent(track: NDArray) -> float:
    return float(np.linalg.norm(np.ptp(track, axis=0)))
