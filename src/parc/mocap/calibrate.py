"""Fitting a person to the character: how long the legs are, how the foot stands, where the ground is.

Leg length and the drop from ankle to toe of a foot that stands flat belong to the *subject*: they are medians over all its takes,
as one dynamic take may never show a flat foot. The height of the ground belongs to the *take*. After `fit_take` the landmarks
have the character's legs, and an ankle that stands on the lowest ground is exactly as high as the character's would be.

What is made larger by s falls at s g unless it is also slowed down by sqrt(s): lengths and times are scaled together (Froude), so
that a jump of a small person is a possible jump of the character.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from parc.errors import MotionError
from parc.mocap.anatomy import Anatomy
from parc.mocap.landmark import Landmarks
from parc.mocap.naming import SIDES

_STAGES = ((0.12, 0.12, 0.95), (0.25, 0.20, 0.85), (0.60, 0.30, -1.0))
"""(ankle speed m/s, toe speed m/s, cosine of the knee) under which a foot counts as standing flat; later ones if none is found"""
_LEAST = 3
"""frames"""


@dataclass(frozen=True)
class Calibration:
    leg: float
    """m from hip over knee to ankle"""
    toe_drop: float
    """m the toe joint of a flat foot is below its ankle"""

    def scale(self, anatomy: Anatomy) -> float:
        return anatomy.leg / self.leg


@dataclass(frozen=True, eq=False)
class Fitted:
    """A take in the character's size, with the ground at 0."""

    landmarks: Landmarks
    foot_pitch: float
    """rad that the line from ankle to toe points down when the foot is level"""
    scale: float


def calibrate(takes: Sequence[Landmarks]) -> Calibration:
    """From the takes of one subject, in metres."""
    legs = [leg_length(take) for take in takes]
    standing = [_flat_feet(take) for take in takes]
    ankles = np.concatenate([s[0] for s in standing])
    drops = np.concatenate([s[1] for s in standing])
    if len(drops) == 0:
        return Calibration(float(np.median(legs)), 0.0)
    near_ground = ankles < np.quantile(ankles, 0.02) + 0.05
    return Calibration(float(np.median(legs)), float(np.median(drops[near_ground])))


def fit_take(take: Landmarks, calibration: Calibration, anatomy: Anatomy) -> Fitted:
    scale = calibration.scale(anatomy)
    lift = anatomy.ankle_drop - scale * standing_ankle(take)
    landmarks = take.moved(lambda track: scale * track + np.array([0.0, 0.0, lift]))
    landmarks = replace(landmarks, fps=take.fps / float(np.sqrt(scale)))
    pitch = 0.0
    if "left_toe" in take and "right_toe" in take:
        length = np.median([np.linalg.norm(landmarks[f"{s}_toe"] - landmarks[f"{s}_ankle"], axis=-1) for s in SIDES])
        pitch = float(np.arcsin(np.clip(scale * calibration.toe_drop / max(length, 1e-6), -0.9, 0.9)))
    return Fitted(landmarks, pitch, scale)


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
    """Ankle heights and drops from ankle to toe of frames with a flat foot."""
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
                ankles.append(take[f"{side}_ankle"][still, 2])
                drops.append((take[f"{side}_ankle"] - take[f"{side}_toe"])[still, 2])
                break
    empty = np.zeros(0)
    return np.concatenate([empty, *ankles]), np.concatenate([empty, *drops])


def _speed(take: Landmarks, place: str) -> NDArray:
    track = take[place]
    return np.linalg.norm(np.gradient(track, axis=0), axis=-1) * take.fps if len(track) > 1 else np.zeros(len(track))
