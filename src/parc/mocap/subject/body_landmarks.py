"""Landmarks: where the places of a human body are, frame by frame, whatever skeleton they were taken from.

Between the readers and everything after them: {place: [T, 3]}, metres, z up.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import interpolate, ndimage

from parc.character import rotation
from parc.character.character import Character
from parc.errors import MotionError
from parc.fit.held_parts import SIDES
from parc.mocap.read.source_motion import SourceMotion
from parc.mocap.subject.human_anatomy import Anatomy
from parc.motion.motion import Motion

Track = NDArray[np.float64]
PALM = 0.05
"""m from the wrist to the palm"""


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Tracks of a recorded body's places."""

    name: str
    at: Mapping[str, Track]
    """[T, 3] of each place, m"""
    fps: float

    def __len__(self) -> int:
        return len(next(iter(self.at.values())))

    def __getitem__(self, place: str) -> Track:
        return self.at[place]

    def __contains__(self, place: str) -> bool:
        return place in self.at

    def moved(self, change: Callable[[Track], Track]) -> "Landmarks":
        """With every track changed."""
        return replace(self, at={place: change(track) for place, track in self.at.items()})

    def turned(self, angle: float) -> "Landmarks":
        """About the vertical through the origin."""
        return self.moved(lambda track: track @ yaw_matrix(angle).T)

    def resampled(self, fps: float, smoothing: float = 0.35) -> "Landmarks":
        """At another rate; frames of the old rate are first averaged with a Gaussian of `smoothing` new frames where there are
        at least two of them in a new one."""
        times = np.arange(len(self)) / self.fps
        count = int(np.floor(times[-1] * fps + 1e-6)) + 1
        at = np.minimum(np.arange(count) / fps, times[-1])
        many = self.fps > 1.9 * fps

        def resample(track: Track) -> Track:
            if many:
                track = ndimage.gaussian_filter1d(track, smoothing * self.fps / fps, axis=0, mode="nearest")
            if len(track) < 4:
                return np.stack([np.interp(at, times, track[:, k]) for k in range(3)], -1)
            return interpolate.CubicSpline(times, track, axis=0)(at)

        return replace(self.moved(resample), fps=fps)


def turned_xy(xy: Track, angle: Track | float) -> Track:
    """Vectors [..., 2] of the plane turned by angles [...], rad."""
    c, s = np.cos(angle), np.sin(angle)
    x, y = xy[..., 0], xy[..., 1]
    return np.stack([c * x - s * y, s * x + c * y], -1)


def yaw_matrix(angle: float) -> Track:
    """[3, 3], a turn about the vertical."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def landmarks_of(source: SourceMotion, naming: Mapping[str, str] | None = None) -> Landmarks:
    """The places of the body of a motion in metres, z up."""
    places = source.places(naming)
    at = {place: source.pos[:, joint] for place, joint in places.items()}
    at.setdefault("pelvis", 0.5 * (at["left_hip"] + at["right_hip"]))
    for side in SIDES:
        if f"{side}_finger" in at:
            at[f"{side}_wrist"] = _palm(at[f"{side}_wrist"], at.pop(f"{side}_finger"))
    return Landmarks(source.name, at, source.fps)


def _palm(wrist: Track, finger: Track) -> Track:
    """A character's hand is a ball: its centre is the palm, a little beyond the wrist."""
    along = finger - wrist
    return wrist + PALM * along / np.maximum(np.linalg.norm(along, axis=-1, keepdims=True), PALM)


def landmarks_of_motion(character: Character, motion: Motion, name: str = "motion") -> Landmarks:
    """Those of a motion that is a character's already: origins of its bodies, and the front of its feet."""
    anatomy = Anatomy.of(character)
    pose = motion.body_poses(character)
    pos = pose.pos.double().numpy()
    turns = rotation.to_matrix(pose.rot.double()).numpy()
    at = {place: pos[:, body] for place, body in anatomy.body.items()}
    for place, point in anatomy.point.items():
        if point.any():
            at[place] = at[place] + turns[:, anatomy.body[place]] @ point
    for side in SIDES:
        foot = anatomy.body[f"{side}_ankle"]
        at[f"{side}_toe"] = pos[:, foot] + turns[:, foot] @ anatomy.toe
    if not all(np.isfinite(track).all() for track in at.values()):
        raise MotionError(f"{name}: the motion is not finite")
    return Landmarks(name, at, motion.fps)
