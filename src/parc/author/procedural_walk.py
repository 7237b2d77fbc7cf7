"""A walk made by rule: feet planted on footholds along a path, legs by two-bone inverse kinematics.

No motion capture and no learning are needed for it, so it is the clip that examples, tests and first runs start from. Feet stand
exactly still on the ground while labelled in contact. It climbs steps it can reach with a foot, nothing higher.

Trace of one foot: it stands while the root passes from 0.3 m before its foothold to 0.3 m beyond, then swings to the
foothold two steps on, lifted over whatever lies between.
"""

from dataclasses import dataclass

import numpy as np
import torch
from scipy import ndimage

from parc.character import rotation
from parc.character.character import Character
from parc.character.named_character import HUMANOID, find_character
from parc.dataset.clip import Clip, Provenance
from parc.errors import PathError
from parc.fit.two_bone_ik import limb_angles
from parc.mocap.subject.body_landmarks import turned_xy
from parc.mocap.terrain.snap_footholds import heights_under
from parc.motion.motion import Motion
from parc.path.terrain_path import TerrainPath
from parc.terrain.terrain import Terrain


@dataclass(frozen=True)
class StrollSettings:
    """How one walks."""

    speed: float = 1.0
    """m/s along the path"""
    step: float = 0.5
    """m between footholds of the two feet"""
    fps: float = 30.0
    lift: float = 0.08
    """m, clearance of the swinging foot"""
    highest_step: float = 0.35
    """m, a higher one is refused"""
    arm_swing: float = 0.35
    """rad"""


_SOLE_DROP = 0.05
"""m from the ankle down to the sole"""
_SOLE_CORNERS = np.array([[-0.0435, -0.045], [-0.0435, 0.045], [0.1335, -0.045], [0.1335, 0.045]])
"""m, in the foot's frame"""
_HIP_SIDE = 0.084887
_THIGH, _SHIN = 0.421546, 0.409870
_REACH = 0.995 * (_THIGH + _SHIN)


def stroll(terrain: Terrain, path: TerrainPath, settings: StrollSettings = StrollSettings(), name: str = "stroll") -> Clip:
    """A clip of the humanoid, whose lengths these are, walking along a path at constant speed."""
    character = find_character(HUMANOID)
    dense = path.resampled(0.02)
    if dense.length < 2 * settings.step:
        raise PathError(f"a stroll needs a path of at least {2 * settings.step:g} m, this one has {path.length:.2f} m")
    route = _Route(dense, smoothing=0.35)
    frames = int(dense.length / settings.speed * settings.fps) + 1
    s = np.arange(frames) * settings.speed / settings.fps
    feet = [_foot_track(terrain, route, s, side, settings) for side in (-1, 1)]
    root = np.concatenate([route.at(s), np.zeros((frames, 1))], 1)
    heading = route.heading(s)
    root[:, 2] = _root_height(root, heading, feet)
    return Clip(
        name=name,
        motion=_pose(character, root, heading, feet, s, settings),
        terrain=terrain,
        path=path,
        character=character.fingerprint,
        provenance=Provenance(source="stroll", skill="walk"),
    )


class _Route:
    """The path as smooth functions of the distance walked."""

    def __init__(self, path: TerrainPath, smoothing: float) -> None:
        xy = path.nodes[:, :2].double().numpy()
        self.s = path.arc_length.double().numpy()
        spacing = self.s[-1] / max(len(self.s) - 1, 1)
        self.xy = ndimage.gaussian_filter1d(xy, smoothing / spacing, axis=0, mode="nearest")
        tangent = np.gradient(self.xy, axis=0)
        self.angle = np.unwrap(np.arctan2(tangent[:, 1], tangent[:, 0]))

    def at(self, s: np.ndarray) -> np.ndarray:
        return np.stack([np.interp(s, self.s, self.xy[:, k]) for k in range(2)], -1)

    def heading(self, s: np.ndarray) -> np.ndarray:
        return np.interp(s, self.s, self.angle)


@dataclass(frozen=True)
class _FootTrack:
    side: int
    """-1 right, 1 left"""
    ankle: np.ndarray
    """[T, 3]"""
    yaw: np.ndarray
    """[T]"""
    planted: np.ndarray
    """[T] bool"""


def _foothold(terrain: Terrain, route: _Route, s: float, side: int) -> tuple[np.ndarray, float]:
    """Ankle position and yaw of a foot that stands level near s: the nearest place where the whole sole is on one height."""
    tries = s + np.array(sorted(np.linspace(-0.24, 0.24, 25), key=abs))
    yaw = route.heading(tries)
    ankle = route.at(tries) + turned_xy(np.array([0.0, side * _HIP_SIDE]), yaw)
    corners = ankle[:, None] + turned_xy(_SOLE_CORNERS, yaw[:, None])
    heights = heights_under(terrain, corners)
    level = np.ptp(heights, axis=1) < 1e-6
    best = int(np.argmax(level))
    return np.array([*ankle[best], heights[best].max() + _SOLE_DROP]), float(yaw[best])


def _foot_track(terrain: Terrain, route: _Route, s: np.ndarray, side: int, settings: StrollSettings) -> _FootTrack:
    first = 0.0 if side < 0 else settings.step
    places = np.arange(first - 2 * settings.step, s[-1] + 3 * settings.step, 2 * settings.step)
    holds = [_foothold(terrain, route, float(np.clip(p, 0, route.s[-1])), side) for p in places]
    rises = np.abs(np.diff([h[0][2] for h in holds]))
    if rises.max(initial=0) > 2 * settings.highest_step:
        raise PathError(
            f"the path climbs {rises.max():.2f} m within two steps, a stroll manages {2 * settings.highest_step:.2f} m"
        )
    stance = 0.5 * settings.step + 0.06
    ankle, yaw, planted = np.zeros((len(s), 3)), np.zeros(len(s)), np.zeros(len(s), bool)
    for k in range(len(holds) - 1):
        (from_pos, from_yaw), (to_pos, to_yaw) = holds[k], holds[k + 1]
        lift_off, touch_down = places[k] + stance, places[k + 1] - stance
        here = (s >= places[k] - stance) & (s < touch_down)
        t = np.clip((s[here] - lift_off) / (touch_down - lift_off), 0, 1)
        ease = t * t * (3 - 2 * t)
        ankle[here] = from_pos + ease[:, None] * (to_pos - from_pos)
        yaw[here] = from_yaw + ease * (to_yaw - from_yaw)
        planted[here] = t == 0
        between = from_pos[:2] + np.linspace(0, 1, 21)[:, None] * (to_pos[:2] - from_pos[:2])
        peak = max(heights_under(terrain, between).max() + _SOLE_DROP, from_pos[2], to_pos[2]) + settings.lift
        arch = np.sin(np.pi * t) ** 0.6
        ankle[here, 2] = ankle[here, 2] + arch * (peak - ankle[here, 2])
    return _FootTrack(side, ankle, yaw, planted)


def _root_height(root: np.ndarray, heading: np.ndarray, feet: list[_FootTrack]) -> np.ndarray:
    """As high as the standing legs allow, smooth: the mean of running minima never exceeds what it averages."""
    limit = np.full(len(root), np.inf)
    for foot in feet:
        hip = root[:, :2] + turned_xy(np.array([0.0, foot.side * _HIP_SIDE]), heading)
        away = np.linalg.norm(foot.ankle[:, :2] - hip, axis=1)
        high = foot.ankle[:, 2] + np.sqrt(np.maximum(_REACH**2 - away**2, 0.3**2))
        limit = np.where(foot.planted, np.minimum(limit, high), limit)
    window = 7
    lowest = ndimage.minimum_filter1d(limit, window, mode="nearest")
    return ndimage.uniform_filter1d(lowest, window, mode="nearest") - 0.01


def _leg(hip: np.ndarray, ankle: np.ndarray, heading: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Hip roll, hip pitch and knee angle [T] that put the ankle where it should be; the knee bends backwards."""
    d = ankle - hip
    d = np.concatenate([turned_xy(d[:, :2], -heading), d[:, 2:]], 1)
    reach = torch.as_tensor(np.clip(np.linalg.norm(d, axis=1), 0.25, _REACH))
    ahead, knee = (angle.numpy() for angle in limb_angles(reach, _THIGH, _SHIN))
    roll = np.arctan2(d[:, 1], -d[:, 2])
    down = np.hypot(d[:, 1], d[:, 2])
    lean = np.arctan2(-d[:, 0], down)
    return roll, lean - ahead, knee


def _pose(
    character: Character, root: np.ndarray, heading: np.ndarray, feet: list[_FootTrack], s: np.ndarray, settings: StrollSettings
) -> Motion:
    def about(axis: tuple[float, float, float], angle: np.ndarray) -> torch.Tensor:
        return rotation.from_axis_angle(torch.tensor(axis, dtype=torch.float64), torch.as_tensor(angle, dtype=torch.float64))

    x, y, z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    frames = len(root)
    joints = rotation.identity((frames, character.num_joints), dtype=torch.float64)
    contacts = torch.zeros(frames, character.num_bodies)
    root_rot = about(z, heading)
    phase = np.pi * s / settings.step
    for foot in feet:
        name = "right" if foot.side < 0 else "left"
        hip = np.concatenate([root[:, :2] + turned_xy(np.array([0.0, foot.side * _HIP_SIDE]), heading), root[:, 2:]], 1)
        roll, pitch, knee = _leg(hip, foot.ankle, heading)
        thigh = rotation.multiply(about(x, roll), about(y, pitch))
        shin = about(y, knee)
        leg = rotation.multiply(rotation.multiply(root_rot, thigh), shin)
        joints[:, character.index(f"{name}_thigh") - 1] = thigh
        joints[:, character.index(f"{name}_shin") - 1] = shin
        joints[:, character.index(f"{name}_foot") - 1] = rotation.difference(leg, about(z, foot.yaw))
        contacts[:, character.index(f"{name}_foot")] = torch.as_tensor(foot.planted, dtype=torch.float32)
        swing = foot.side * settings.arm_swing * np.sin(phase)
        hang = rotation.multiply(about(y, swing), about(x, np.full(frames, -foot.side * 1.35)))
        joints[:, character.index(f"{name}_upper_arm") - 1] = hang
        joints[:, character.index(f"{name}_lower_arm") - 1] = about(z, np.full(frames, -foot.side * 0.35))
    return Motion(
        root_pos=torch.as_tensor(root, dtype=torch.float32),
        root_rot=root_rot.float(),
        joint_rot=joints.float(),
        contacts=contacts,
        fps=settings.fps,
    )
