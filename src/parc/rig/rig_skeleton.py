"""An artist's skeleton: its nodes as they stand, and where on it the places of a human body are.

A rig has the axes and the length unit of its file. Retargeting wants it in metres, z up, facing +x: `Stance` is the rig's
reference pose (a T-pose, an A-pose, anything that stands upright) seen so, with what is measured there: how long the legs are and
where the soles are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from parc.dataset.convert.gltf_scene import Local, world_matrices
from parc.errors import FormatError
from parc.fit.held_parts import SIDES

Array = NDArray[np.float64]
_UPRIGHT = 0.7
"""share of a leg's and of a trunk's length by which it must stand up in the reference pose"""
_UNEVEN = 0.05
"""scales of a node that differ by more than this share would bend bones"""
_BALL = 0.7
"""where on the sole the ball is, from heel to tip, if no joint tells"""
_PAD = 0.02
"""m of flesh below the lowest joint of a foot, for a leg of 0.83 m, where no skin tells"""


@dataclass(frozen=True, eq=False)
class Rig:
    """A skeleton in its file's axes and unit."""

    name: str
    joints: tuple[str, ...]
    parents: tuple[int, ...]
    order: tuple[int, ...]
    """parents before children"""
    reference: Local
    """[N, ..] against the parents, in the pose from which turns are measured"""
    places: Mapping[str, int]
    """{place of the body: joint}"""
    to_z_up: Array
    """[3, 3] rotation from the file's axes"""
    unit: float
    """m"""
    bones: frozenset[int]
    """nodes that skin may follow; others above the pelvis only place the skeleton"""
    sole_points: Mapping[str, Array | None]
    """{side: [P, 3]} skin of each foot in the reference pose, in the file's axes and unit"""

    @cached_property
    def world(self) -> Array:
        """[N, 4, 4] of the reference pose in the file."""
        return world_matrices(self.reference, self.parents, self.order)

    @cached_property
    def stance(self) -> "Stance":
        """Refused for a rig that does not stand."""
        return _stance(self)

    @property
    def to_file(self) -> Array:
        """[3, 3] from the axes of the stance (z up, facing +x) to those of the file."""
        return self.to_z_up.T @ self.stance.facing

    def chain(self, above: int, joint: int) -> list[int]:
        """Joints from below `above` to `joint`; none if it does not hang on `above`."""
        line = self.ancestors(joint)
        return line[: line.index(above)][::-1] if above in line else []

    def ancestors(self, joint: int) -> list[int]:
        """From the joint itself to the root."""
        chain = []
        while joint >= 0:
            chain.append(joint)
            joint = self.parents[joint]
        return chain

    def common(self, joints: Sequence[int]) -> int:
        """The nearest node that all of these hang on."""
        shared = set.intersection(*(set(self.ancestors(joint)) for joint in joints))
        return next((joint for joint in self.ancestors(joints[0]) if joint in shared), -1)

    @cached_property
    def pelvis(self) -> int:
        """What all limbs hang on: the node that carries the motion of the root."""
        joints = [self.places[f"{side}_{part}"] for side in SIDES for part in ("hip", "shoulder")]
        found = self.common(joints)
        named = self.places.get("pelvis", -1)
        if named >= 0 and all(named in self.ancestors(joint) for joint in joints):
            return named
        if found < 0:
            raise FormatError(f"{self.name}: arms and legs do not hang on one joint")
        return found

    @cached_property
    def root(self) -> int:
        """The uppermost bone above the pelvis, -1 if there is none."""
        above = [joint for joint in self.ancestors(self.pelvis)[1:] if joint in self.bones]
        return above[-1] if above else -1

    @cached_property
    def chest(self) -> int:
        """What both arms hang on."""
        return self.common([self.places[f"{side}_shoulder"] for side in SIDES])

    @cached_property
    def subtree(self) -> tuple[int, ...]:
        """The pelvis and all below it, parents first."""
        below = {self.pelvis}
        for joint in self.order:
            if self.parents[joint] in below:
                below.add(joint)
        return tuple(joint for joint in self.order if joint in below)


@dataclass(frozen=True, eq=False)
class Stance:
    """The reference pose in metres, z up, facing +x."""

    pos: Array
    """[N, 3]"""
    rot: Array
    """[N, 3, 3]"""
    leg: float
    """m from hip over knee to ankle, mean of both"""
    sole: Mapping[str, Array]
    """{side: [2, 3]} heel and ball under the foot, from the ankle, in the frame of the foot as it points forward"""
    foot_yaw: Mapping[str, float]
    """rad that a foot points to the left"""
    facing: Array
    """[3, 3] turn about the vertical that leads back to the way the file faces"""

    def bone(self, start: int, end: int) -> Array:
        """[3] m"""
        return self.pos[end] - self.pos[start]


def _stance(rig: Rig) -> Stance:
    world, places = rig.world, rig.places
    size = np.linalg.norm(world[:, :3, :3], axis=1)
    inside = list(rig.subtree)
    if np.linalg.det(world[inside, :3, :3]).min() <= 0:
        raise FormatError(f"{rig.name}: a joint is mirrored or has no size, which retargeting cannot keep")
    if (np.ptp(size[inside], axis=1) > _UNEVEN * size[inside].max(1)).any():
        raise FormatError(
            f"{rig.name}: a joint is stretched along one axis, which retargeting cannot keep; apply its scale first"
        )
    rot = rig.to_z_up @ (world[:, :3, :3] / np.maximum(size, 1e-12)[:, None, :])
    pos = rig.unit * world[:, :3, 3] @ rig.to_z_up.T

    # upright, and turned to face +x
    at = {place: pos[joint] for place, joint in places.items()}
    middle = {part: 0.5 * (at[f"left_{part}"] + at[f"right_{part}"]) for part in ("hip", "ankle", "shoulder")}
    legs = [_length(at, side, ("hip", "knee", "ankle")) for side in SIDES]
    trunk = middle["shoulder"] - middle["hip"]
    stands = middle["hip"][2] - middle["ankle"][2] > _UPRIGHT * min(legs) and trunk[2] > _UPRIGHT * np.linalg.norm(trunk)
    across = at["left_hip"] - at["right_hip"] + at["left_shoulder"] - at["right_shoulder"]
    if not stands or np.hypot(*across[:2]) < 1e-6:
        raise FormatError(f"{rig.name} does not stand upright in its rest pose, expected a T-pose or an A-pose")
    forward = np.arctan2(-across[0], across[1])
    turn = _yaw(-forward)
    pos, rot = pos @ turn.T, turn @ rot

    yaw: dict[str, float] = {}
    sole: dict[str, Array] = {}
    for side in SIDES:
        ankle, toe = places[f"{side}_ankle"], places.get(f"{side}_toe")
        along = pos[toe] - pos[ankle] if toe is not None else np.array([1.0, 0.0, 0.0])
        yaw[side] = float(np.arctan2(along[1], along[0])) if along[0] > abs(along[1]) else 0.0
        skin = rig.sole_points.get(side)
        skin = None if skin is None else rig.unit * skin @ (turn @ rig.to_z_up).T
        sole[side] = _sole(rig, pos, side, _yaw(-yaw[side]), skin, float(np.mean(legs)))
    return Stance(pos, rot, float(np.mean(legs)), sole, yaw, turn.T)


def _sole(rig: Rig, pos: Array, side: str, turn: Array, skin: Array | None, leg: float) -> Array:
    """Heel and ball of a foot that stands level, from its ankle, with the foot turned forward."""
    ankle = rig.places[f"{side}_ankle"]
    below = [joint for joint in rig.subtree if ankle in rig.ancestors(joint)]
    points = (pos[below] if skin is None or len(skin) < 8 else skin) - pos[ankle]
    points = points @ turn.T
    size = leg / 0.83
    if skin is None or len(skin) < 8:
        ground = -pos[ankle, 2]  # where the rig stands at height 0, as most do
        lowest = float(points[:, 2].min())
        height = ground if -0.06 * size < ground - lowest <= 0 and ground < -0.02 * size else lowest - _PAD * size
        heel, tip = -0.045 * size, max(float(points[:, 0].max()), 0.1 * size)
    else:
        height, heel, tip = float(points[:, 2].min()), float(points[:, 0].min()), float(points[:, 0].max())
    toe = rig.places.get(f"{side}_toe")
    ball = float((turn @ (pos[toe] - pos[ankle]))[0]) if toe is not None else heel + _BALL * (tip - heel)
    return np.array([(heel, 0.0, height), (max(ball, heel + 0.05 * size), 0.0, height)])


def _length(at: Mapping[str, Array], side: str, parts: Sequence[str]) -> float:
    points = [at[f"{side}_{part}"] for part in parts]
    total = float(sum(np.linalg.norm(b - a) for a, b in pairwise(points)))
    if total < 1e-9:
        raise FormatError("the rig's legs have no length")
    return total


def _yaw(angle: float) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([(c, -s, 0.0), (s, c, 0.0), (0.0, 0.0, 1.0)])
