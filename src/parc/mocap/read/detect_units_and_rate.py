"""Frame rate, scale and up axis are checked, not believed.

    up       a standing person's shoulders are above the feet, and whatever is lowest stays at the height of the ground
    unit     a leg is 0.6 to 1.1 m long: the known unit (m, dm, cm, mm, inch, CMU's 0.0564444 m) that makes it so
    rate     who touches nothing falls at 9.81 m/s2: a measured fall of a means a true rate of fps sqrt(9.81 / a)

A frame is taken for flight if every part of both feet is fast and the body's middle has, for a while, a steady acceleration
straight down. Several public takes say 120 frames a second and fall at 39 m/s2: they are 60.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from parc.errors import FormatError
from parc.fit.held_parts import SIDES
from parc.mocap.read.source_motion import SourceMotion
from parc.mocap.subject.body_landmarks import Landmarks, landmarks_of

Axis = Literal["x", "y", "z"]
UNITS = {"m": 1.0, "dm": 0.1, "cm": 0.01, "mm": 0.001, "inch": 0.0254, "CMU": 0.0564444}
"""m"""
LEG = (0.6, 1.1)
"""m, plausible length from hip over knee to ankle"""
GRAVITY = 9.81
_TYPICAL_LEG = 0.83
_WINDOW = 0.04
"""s before and after a frame over which accelerations are fitted"""
_FAST = 0.6
"""m/s: a foot slower than this may stand"""
_LEAST = 8
"""frames of flight needed for a judgement"""
UP_TO_Z: dict[str, NDArray[np.float64]] = {
    "z": np.eye(3),
    "y": np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
    "x": np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]),
}
"""even permutations of the axes, so that nothing is mirrored; y up facing z becomes z up facing x"""


def upright(
    source: SourceMotion,
    naming: Mapping[str, str] | None = None,
    unit: float | None = None,
    up: Axis | None = None,
    fps: float | None = None,
) -> SourceMotion:
    """In metres with z up; what was guessed or looks wrong is in its `warnings`. Unit (m), up axis and rate can be given."""
    places = source.places(naming)
    warnings = list(source.warnings)
    found = up or likely_up(source, places)
    if found not in UP_TO_Z:
        raise FormatError(f"{source.told_as}: the up axis is '{found}', expected x, y or z")
    leg = _leg(source, places)
    scale = unit or likely_unit(leg)
    if not LEG[0] <= scale * leg <= LEG[1]:
        warnings.append(f"legs are {scale * leg:.2f} m long, expected {LEG[0]} to {LEG[1]}; a unit of "
                        f"{_TYPICAL_LEG / leg:.4g} m would give {_TYPICAL_LEG} m")  # fmt: skip
    turned = source.turned(UP_TO_Z[found], scale)
    turned = replace(turned, fps=fps or source.fps)
    implied = implied_fps(landmarks_of(turned, naming))
    if implied is not None and not 0.8 < implied / turned.fps < 1.25:
        warnings.append(f"bodies in flight fall as if the frame rate were {implied:.0f}, not {turned.fps:g}")
    return replace(turned, warnings=tuple(warnings))


def unit_in_metres(text: str, told_as: str) -> float:
    """A length unit as people give it: a name of UNITS, or how many metres it is long."""
    named = {name.lower(): metres for name, metres in UNITS.items()}.get(text.strip().lower())
    if named is not None:
        return named
    try:
        metres = float(text)
    except ValueError:
        metres = float("nan")
    if not 1e-6 <= metres < 1e9:
        raise FormatError(f"{told_as} is '{text}', expected {', '.join(UNITS)} or a positive number of metres")
    return metres


def implied_fps(take: Landmarks) -> float | None:
    """The frame rate at which flights of the take fall at 9.81 m/s2; None if it has none that can be judged."""
    falls = fall_accelerations(take)
    return None if len(falls) < _LEAST else take.fps * float(np.sqrt(GRAVITY / np.median(falls)))


def fall_accelerations(take: Landmarks) -> NDArray[np.float64]:
    """Downward acceleration of the body's middle, m/s2 at the rate the take claims, of every frame that looks like flight."""
    reach = max(3, round(_WINDOW * take.fps))
    if len(take) < 4 * reach + 2:
        return np.zeros(0)
    velocity = {place: np.gradient(track, axis=0) * take.fps for place, track in take.at.items()}
    feet = np.stack([np.linalg.norm(velocity[f"{side}_{part}"], axis=-1) for side in SIDES for part in ("ankle", "toe")
                     if f"{side}_{part}" in velocity])  # fmt: skip
    across, up = _acceleration(body_middle(take), reach, take.fps)
    steady = ndimage.maximum_filter1d(up, reach) - ndimage.minimum_filter1d(up, reach)
    free = (feet > _FAST).all(0) & (up < -3.0) & (across < 0.2 * -up) & (steady < 0.3 * -up)
    free[: 2 * reach] = free[-2 * reach :] = False
    runs, _ = ndimage.label(free)
    long = np.bincount(runs) >= reach
    return -up[free & long[runs]]


def _acceleration(track: NDArray, reach: int, fps: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Horizontal size and vertical acceleration [T] of parabolas fitted to 2 reach + 1 frames around each."""
    t = np.arange(-reach, reach + 1) / fps
    weights = 2 * np.linalg.pinv(np.stack([np.ones_like(t), t, t * t], -1))[2]
    second = ndimage.correlate1d(track, weights, axis=0, mode="nearest")
    return np.linalg.norm(second[:, :2], axis=-1), second[:, 2]


def body_middle(take: Landmarks) -> NDArray[np.float64]:
    """The centre of mass, roughly: trunk two thirds, thighs, shins, arms and head the rest."""
    weights = {"hip": 0.16, "shoulder": 0.15, "knee": 0.07, "ankle": 0.04, "elbow": 0.03, "wrist": 0.02}
    limbs = sum(w * take[f"{side}_{part}"] for part, w in weights.items() for side in SIDES)
    head = take["head"] if "head" in take else 0.5 * (take["left_shoulder"] + take["right_shoulder"])
    return limbs + 0.06 * head


def vertical_acceleration(middle: NDArray[np.float64], fps: float) -> NDArray[np.float64]:
    """Of a track [T, 3], fitted over 0.08 s around each frame, m/s2; 0 near the ends."""
    reach = max(2, round(_WINDOW * fps))
    if len(middle) < 2 * reach + 1:
        return np.zeros(len(middle))
    up = _acceleration(middle, reach, fps)[1]
    up[:reach] = up[-reach:] = 0.0
    return up


def likely_up(source: SourceMotion, places: Mapping[str, int]) -> str:
    """The axis with the best evidence: shoulders above ankles in most frames, a lowest joint that stays at one height (on all
    fours nothing else tells), and, where the file has rotations, shoulders above ankles in the rest pose."""
    at = {p: source.pos[:, [places[f"{s}_{p}"] for s in SIDES]].mean(1) for p in ("shoulder", "ankle")}
    rise = at["shoulder"] - at["ankle"]
    share = (rise > 0.8 * np.linalg.norm(rise, axis=-1, keepdims=True)).mean(0)
    wander = source.pos.min(1).std(0) / _leg(source, places)
    score = share - wander + np.array([0.0, 0.0, 0.1])
    if source.rot is not None:
        rest = _rest_pose(source)
        stand = np.mean([rest[places[f"{s}_shoulder"]] - rest[places[f"{s}_ankle"]] for s in SIDES], axis=0)
        score = score + 0.5 * stand / max(np.linalg.norm(stand), 1e-9)
    upside_down = -rise > 0.8 * np.linalg.norm(rise, axis=-1, keepdims=True)
    if upside_down.mean(0).max() > max(0.7, share.max()):
        raise FormatError(f"{source.told_as}: the feet are above the shoulders in most frames; say which axis is up (x, y or z)")
    return "xyz"[int(np.argmax(score))]


def _rest_pose(source: SourceMotion) -> NDArray[np.float64]:
    """[J, 3] joints with all rotations zero: the sum of the bones on the way from the root."""
    assert source.rot is not None
    rest = np.zeros((len(source.joints), 3))
    for j, parent in enumerate(source.parents):
        if parent >= 0:
            rest[j] = rest[parent] + source.rot[0, parent].T @ (source.pos[0, j] - source.pos[0, parent])
    return rest


def _leg(source: SourceMotion, places: Mapping[str, int]) -> float:
    """In the file's unit."""

    def length(a: str, b: str) -> float:
        return float(np.median(np.linalg.norm(source.pos[:, places[a]] - source.pos[:, places[b]], axis=-1)))

    leg = float(np.mean([length(f"{s}_hip", f"{s}_knee") + length(f"{s}_knee", f"{s}_ankle") for s in SIDES]))
    if leg <= 0:
        raise FormatError(f"{source.told_as}: the legs have no length")
    return leg


def likely_unit(leg: float) -> float:
    """m: the known unit in which a leg of this length is most like a person's."""
    return min(UNITS.values(), key=lambda unit: abs(np.log(unit * leg / _TYPICAL_LEG)))
