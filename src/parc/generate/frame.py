"""The canonical frame: where the root is and which way it faces in the most recent past frame.

Everything the generator sees or predicts is relative to it: x along the heading, z up, the origin at the root. A motion
moved over the ground and turned about the vertical has therefore the same features, if the terrain moves with it.

World poses travel as `FrameState`: rotation matrices, because 6D features and forward kinematics both work on matrices and
no conversion is then needed inside a captured window.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from parc.character import rotation
from parc.character.character import Character
from parc.character.kinematics import BodyPose, forward_kinematics_matrix
from parc.motion.motion import Motion
from parc.terrain.heightmap import HeightmapGrid, relative_heightmap, sample_heightmap
from parc.terrain.terrain import TerrainBatch

HEIGHT_LIMIT = 3.0
"""m above and below the root beyond which the ground looks all the same"""


class FrameState(NamedTuple):
    """Frames of a character, any leading dims."""

    root_pos: Tensor
    """[..., 3]"""
    root_rot: Tensor
    """[..., 3, 3]"""
    joint_rot: Tensor
    """[..., B-1, 3, 3] against the parent"""
    contacts: Tensor
    """[..., B]"""

    @classmethod
    def of_motion(cls, motion: Motion) -> "FrameState":
        return cls(motion.root_pos, rotation.to_matrix(motion.root_rot), rotation.to_matrix(motion.joint_rot), motion.contacts)

    def to_motion(self, fps: float = 30.0) -> Motion:
        """For states [T, ...]."""
        return Motion(
            self.root_pos,
            rotation.from_matrix(self.root_rot),
            rotation.from_matrix(self.joint_rot),
            self.contacts.clamp(0, 1),
            fps,
        )

    def body_pose(self, character: Character) -> BodyPose:
        return forward_kinematics_matrix(character, self.root_pos, self.root_rot, self.joint_rot)

    def select(self, condition: Tensor, other: "FrameState") -> "FrameState":
        """These frames where `condition` [B] holds, the other's elsewhere; leading dim B."""
        parts = [torch.where(condition.view(-1, *[1] * (a.dim() - 1)), a, b) for a, b in zip(self, other, strict=True)]
        return FrameState(*parts)

    def narrow(self, start: int, length: int) -> "FrameState":
        """Frames start .. start+length-1 of states [B, T, ...]."""
        return FrameState(*(part.narrow(1, start, length) for part in self))


class CanonicalFrame(NamedTuple):
    origin: Tensor
    """[B, 3] root in the world"""
    yaw: Tensor
    """[B] heading, rad"""

    @classmethod
    def of(cls, root_pos: Tensor, root_rot: Tensor) -> "CanonicalFrame":
        """Of a root at [B, 3] with rotation [B, 3, 3]."""
        return cls(root_pos, torch.atan2(root_rot[..., 1, 0], root_rot[..., 0, 0]))

    def matrix(self) -> Tensor:
        """[B, 3, 3] from this frame to the world."""
        c, s = self.yaw.cos(), self.yaw.sin()
        zero, one = torch.zeros_like(c), torch.ones_like(c)
        return torch.stack([c, -s, zero, s, c, zero, zero, zero, one], -1).unflatten(-1, (3, 3))

    def points_to_local(self, points: Tensor) -> Tensor:
        """World points [B, ..., 3] in this frame."""
        return rotation.matrix_rotate(_fit(self.matrix().mT, points), points - _fit(self.origin, points))

    def points_to_world(self, points: Tensor) -> Tensor:
        return rotation.matrix_rotate(_fit(self.matrix(), points), points) + _fit(self.origin, points)

    def to_local(self, state: FrameState) -> FrameState:
        """States [B, T, ...]."""
        turn = self.matrix().mT.unsqueeze(1)
        return state._replace(
            root_pos=self.points_to_local(state.root_pos), root_rot=rotation.matrix_multiply(turn, state.root_rot)
        )

    def to_world(self, state: FrameState) -> FrameState:
        turn = self.matrix().unsqueeze(1)
        return state._replace(
            root_pos=self.points_to_world(state.root_pos), root_rot=rotation.matrix_multiply(turn, state.root_rot)
        )

    def direction_to(self, target: Tensor, dead_zone: float = 0.1) -> Tensor:
        """Unit direction [B, 2] in this frame to world points [B, 2]; zero for a target nearer than `dead_zone` (m)."""
        offset = target - self.origin[..., :2]
        c, s = self.yaw.cos(), self.yaw.sin()
        x, y = offset.unbind(-1)
        local = torch.stack([c * x + s * y, c * y - s * x], -1)
        length = local.norm(dim=-1, keepdim=True)
        return torch.where(length < dead_zone, torch.zeros_like(local), local / length.clamp_min(1e-6))

    def heightmap(self, terrain: TerrainBatch, grid: HeightmapGrid) -> Tensor:
        """What the network sees, [B, nx, ny]: heights against the root within +-3 m, divided by 3.

        B / N frames in turn are on each of N terrains.
        """
        rows = (len(terrain), -1)
        heights = sample_heightmap(terrain, grid, self.origin[:, :2].unflatten(0, rows), self.yaw.unflatten(0, rows)).flatten(
            0, 1
        )
        return relative_heightmap(heights, self.origin[:, 2], HEIGHT_LIMIT) / HEIGHT_LIMIT


def _fit(value: Tensor, points: Tensor) -> Tensor:
    """[B, *own] with ones put in so that it broadcasts over points [B, ..., 3]."""
    extra = points.dim() - 2
    return value.view(value.shape[0], *[1] * extra, *value.shape[1:]) if extra else value
