"""Fitting a person to the character: how long the legs are, how the foot stands, where the ground is.

Leg length and the drop from ankle to toe of a foot that stands flat belong to the *subject*: they are medians over all its takes,
as one dynamic take may never show a flat foot. The height of the ground belongs to the *take*. After `fit_take` the landmarks
have the character's legs, and an ankle that stands on the lowest ground is exactly as high as the character's would be.

The recorded floor may be tilted by a per cent or two, as a laboratory's calibration leaves it. Who walks on one side of a box and
then climbs it shows none of it, and the box comes out low by centimetres: so the tilt, too, is taken from all takes of a subject
together, as the plane through every ankle that stands flat on the floor.

What is made larger by s falls at s g unless it is also slowed down by sqrt(s): lengths and times are scaled together (Froude), so
that a jump of a small person is a possible jump of the character.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from parc.errors import MotionError
from parc.fit.held_parts import SIDES
from parc.mocap.subject.body_landmarks import Landmarks
from parc.mocap.subject.human_anatomy import Anatomy

_STAGES = ((0.12, 0.12, 0.95), (0.25, 0.20, 0.85), (0.60, 0.30, -1.0))
"""(ankle speed m/s, toe speed m/s, cosine of the knee) under which a foot counts as standing flat; later ones if none is found"""
_LEAST = 3
"""frames"""
_STEEPEST = 0.03
"""a floor steeper than this is none"""
_WIDE = 1.2
"""m of floor that must have been stood on to tell its slope"""
_NEAR = 0.05
"""m over the lowest ankle of a take within which ankles are on the floor, and between the floors of takes"""
_BETTER = 0.75
"""share of the footholds' spread in height that a plane must leave at most"""
_LEAN = np.radians(5.5)
"""rad that the line from hips to shoulders leans back in a person who stands upright, as skeletons of motion capture have it"""
_UPRIGHT = (0.2, 0.92, 12)
"""m/s of the hips under which, cosine of both knees over which a person stands, and frames that are enough to tell the lean"""
_ODD = 0.015
"""m off the plane at which a foothold counts half"""


@dataclass(frozen=True)
class Calibration:
    """What takes of one subject have in common."""

    leg: float
    """m from hip over knee to ankle"""
    toe_drop: float
    """m the toe joint of a flat foot is below its ankle"""
    slope: tuple[float, float] = (0.0, 0.0)
    """rise of the recorded floor in x and y"""

    def scale(self, anatomy: Anatomy) -> float:
        """From the subject's size to the character's."""
        return anatomy.leg / self.leg


@dataclass(frozen=True, eq=False)
class Fitted:
    """A take in the character's size, with the ground at 0."""

    landmarks: Landmarks
    foot_pitch: float
    """rad that the line from ankle to toe points down when the foot is level"""
    scale: float
    lean: float = float(_LEAN)
    """rad that the line from hips to shoulders leans back when the person stands upright"""


def calibrate(takes: Sequence[Landmarks]) -> Calibration:
    """From the takes of one subject, in metres."""
    legs = [leg_length(take) for take in takes]
    standing = [_flat_feet(take) for take in takes]
    slope = _floor_slope([s[0] for s in standing])
    ankles = np.concatenate([s[0][:, 2] - s[0][:, :2] @ slope for s in standing])
    drops = np.concatenate([s[1] for s in standing])
    if len(drops) == 0:
        return Calibration(float(np.median(legs)), 0.0)
    near_ground = ankles < np.quantile(ankles, 0.02) + _NEAR
    return Calibration(float(np.median(legs)), float(np.median(drops[near_ground])), (float(slope[0]), float(slope[1])))


def fit_take(take: Landmarks, calibration: Calibration, anatomy: Anatomy) -> Fitted:
    """In the character's size and time, floor level and at 0."""
    scale = calibration.scale(anatomy)
    take = levelled(take, np.array(calibration.slope))
    lift = anatomy.ankle_drop - scale * standing_ankle(take)
    landmarks = take.moved(lambda track: scale * track + np.array([0.0, 0.0, lift]))
    landmarks = replace(landmarks, fps=take.fps / float(np.sqrt(scale)))
    pitch = 0.0
    if "left_toe" in take and "right_toe" in take:
        length = np.median([np.linalg.norm(landmarks[f"{s}_toe"] - landmarks[f"{s}_ankle"], axis=-1) for s in SIDES])
        pitch = float(np.arcsin(np.clip(scale * calibration.toe_drop / max(length, 1e-6), -0.9, 0.9)))
    return Fitted(landmarks, pitch, scale, standing_lean(take))


def standing_lean(take: Landmarks) -> float:
    """rad that the line from hips to shoulders leans back while the person stands upright; a usual one if that is never."""
    slow, straight, enough = _UPRIGHT
    hips, shoulders = (0.5 * (take[f"left_{part}"] + take[f"right_{part}"]) for part in ("hip", "shoulder"))
    stands = np.ones(len(take), dtype=bool)
    for side in SIDES:
        thigh, shin = take[f"{side}_knee"] - take[f"{side}_hip"], take[f"{side}_ankle"] - take[f"{side}_knee"]
        lengths = np.linalg.norm(thigh, axis=-1) * np.linalg.norm(shin, axis=-1)
        stands &= ((thigh * shin).sum(-1) > straight * np.maximum(lengths, 1e-9)) & (_speed(take, f"{side}_hip") < slow)
    if stands.sum() < enough:
        return float(_LEAN)
    left = (take["left_hip"] - take["right_hip"])[stands, :2]
    forward = np.stack([left[:, 1], -left[:, 0]], -1) / np.maximum(np.linalg.norm(left, axis=-1, keepdims=True), 1e-9)
    way = (shoulders - hips)[stands]
    lean = np.arctan2(-(way[:, :2] * forward).sum(-1), way[:, 2])
    return float(np.clip(np.quantile(lean, 0.9), 0.0, 2 * _LEAN))


def levelled(take: Landmarks, slope: NDArray) -> Landmarks:
    """With the floor's slope [2] taken out of all heights."""
    return take.moved(lambda track: track - np.array([0.0, 0.0, 1.0]) * (track[:, :2] @ slope)[:, None]) if slope.any() else take


def _floor_slope(standing: Sequence[NDArray]) -> NDArray:
    """Of the floor under ankles [N, 3] that stand flat, of each take; takes with another floor are left out, one take is not
    enough."""
    floors = [s[s[:, 2] < np.quantile(s[:, 2], 0.02) + _NEAR] for s in standing if len(s)]
    if len(floors) < 2:
        return np.zeros(2)
    lowest = np.array([np.median(f[:, 2]) for f in floors])
    floors = [f for f, z in zip(floors, lowest, strict=True) if abs(z - np.median(lowest)) < _NEAR]
    return plane_slope(np.concatenate([_thinned(f) for f in floors]), _WIDE, 0.2, True) if len(floors) > 1 else np.zeros(2)


def plane_slope(spots: NDArray, widest: float, ridge: float, robust: bool) -> NDArray:
    """Rise in x and y, [2], of a plane through footholds [N, 3]: what a laboratory's calibration leaves, a per cent or so.

    Zero where footholds are too few or do not reach `widest` m, or the plane is too steep to be that. `ridge` (m) keeps it level
    where they tell little. `robust`: odd ones count less, and a plane that explains little is none.
    """
    if len(spots) < 6 or np.ptp(spots[:, :2], axis=0).max() < widest:
        return np.zeros(2)
    slope, level, weight = np.zeros(2), float(np.median(spots[:, 2])), np.ones(len(spots))
    for _ in range(20 if robust else 1):
        if robust:
            weight = 1 / (1 + ((spots[:, 2] - level - spots[:, :2] @ slope) / _ODD) ** 2)
        middle = (weight[:, None] * spots).sum(0) / weight.sum()
        away = spots - middle
        square = (weight[:, None] * away[:, :2]).T @ away[:, :2] + ridge**2 * weight.sum() * np.eye(2)
        slope = np.linalg.solve(square, (weight * away[:, 2]) @ away[:, :2])
        level = float(middle[2] - middle[:2] @ slope)
    left = np.median(np.abs(spots[:, 2] - level - spots[:, :2] @ slope))
    explained = not robust or left < _BETTER * np.median(np.abs(spots[:, 2] - np.median(spots[:, 2])))
    return slope if explained and np.linalg.norm(slope) < _STEEPEST else np.zeros(2)


def _thinned(points: NDArray) -> NDArray:
    """One mean point for each square of 10 cm: standing long is not standing often."""
    _, own = np.unique(np.floor(points[:, :2] / 0.1).astype(int), axis=0, return_inverse=True)
    count = np.bincount(own.ravel())
    return np.stack([np.bincount(own.ravel(), points[:, k]) / count for k in range(3)], -1)


def leg_length(take: Landmarks) -> float:
    """m, median over frames, mean of both legs"""

    def length(a: str, b: str) -> float:
        return float(np.median(np.linalg.norm(take[a] - take[b], axis=-1)))

    value = float(np.mean([length(f"{s}_hip", f"{s}_knee") + length(f"{s}_knee", f"{s}_ankle") for s in SIDES]))
    if value <= 0:
        raise MotionError(f"{take.name}: the legs have no length")
    return value


def standing_ankle(take: Landmarks) -> float:
    """Height of an ankle that stands flat on the lowest ground of the take, m; the lowest ankle if none stands."""
    heights = []
    for side in SIDES:
        ankle, toe = _speed(take, f"{side}_ankle"), _speed(take, f"{side}_toe" if f"{side}_toe" in take else f"{side}_ankle")
        still = (ankle < 0.15) & (toe < 0.15)
        if still.sum() < 4:
            still = (ankle < 0.5) & (toe < 0.35)
        if still.sum() < _LEAST:
            still = toe <= np.quantile(toe, 0.15)
        heights.append(take[f"{side}_ankle"][still, 2])
    z = np.concatenate(heights)
    return float(np.median(z[z < np.quantile(z, 0.02) + 0.06]))


def _flat_feet(take: Landmarks) -> tuple[NDArray, NDArray]:
    """Ankles [N, 3] and drops [N] from ankle to toe of frames with a flat foot."""
    ankles, drops = [], []
    for side in SIDES:
        if f"{side}_toe" not in take:
            continue
        ankle, toe = _speed(take, f"{side}_ankle"), _speed(take, f"{side}_toe")
        thigh = take[f"{side}_knee"] - take[f"{side}_hip"]
        shin = take[f"{side}_ankle"] - take[f"{side}_knee"]
        lengths = np.linalg.norm(thigh, axis=-1) * np.linalg.norm(shin, axis=-1)
        straight = (thigh * shin).sum(-1) / np.maximum(lengths, 1e-9)
        for ankle_limit, toe_limit, cosine in _STAGES:
            still = (ankle < ankle_limit) & (toe < toe_limit) & (straight > cosine)
            if still.sum() >= _LEAST:
                ankles.append(take[f"{side}_ankle"][still])
                drops.append((take[f"{side}_ankle"] - take[f"{side}_toe"])[still, 2])
                break
    return np.concatenate([np.zeros((0, 3)), *ankles]), np.concatenate([np.zeros(0), *drops])


def _speed(take: Landmarks, place: str) -> NDArray:
    track = take[place]
    return np.linalg.norm(np.gradient(track, axis=0), axis=-1) * take.fps if len(track) > 1 else np.zeros(len(track))
