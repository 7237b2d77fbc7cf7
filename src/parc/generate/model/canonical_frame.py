"""The canonical frame: where the root is and which way it faces in the most recent past frame.

Everything the generator sees or predicts is relative to it: x along the heading, z up, the origin at the root. A motion
moved over the ground and turned about the vertical has therefore the same features, if the terrain moves with it.

World poses travel as `parc.motion.frame_state.FrameState`.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from parc.character import rotation
from parc.motion.frame_state import FrameState
from parc.terrain.heightmap import HeightmapGrid, relative_heightmap, sample_heightmap
from parc.terrain.terrain import TerrainBatch

FPS = 30.0
"""frames a second of all motions that a generator reads and makes"""
HEIGHT_LIMIT = 3.0
"""m above and below the root beyond which the ground looks all the same"""


class CanonicalFrame(NamedTuple):
    """Frames of B windows."""

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
        """The inverse of `points_to_local`."""
        return rotation.matrix_rotate(_fit(self.matrix(), points), points) + _fit(self.origin, points)

    def to_local(self, state: FrameState) -> FrameState:
        """States [B, T, ...]."""
        turn = self.matrix().mT.unsqueeze(1)
        return state._replace(
            root_pos=self.points_to_local(state.root_pos), root_rot=rotation.matrix_multiply(turn, state.root_rot)
        )

    def to_world(self, state: FrameState) -> FrameState:
        """The inverse of `to_local`."""
        turn = self.matrix().unsqueeze(1)
        return state._replace(
            root_pos=self.points_to_world(state.root_pos), root_rot=rotation.matrix_multiply(turn, state.root_rot)
        )

    def direction_to(self, target: Tensor, dead_zone: float = 0.1) -> Tensor:
        """d of the paper's section 5.1: unit direction [B, 2] in this frame to world points [B, 2].

        It is zero for a target nearer than `dead_zone` (m).
        """
        offset = target - self.origin[..., :2]
        c, s = self.yaw.cos(), self.yaw.sin()
        x, y = offset.unbind(-1)
        local = torch.stack([c * x + s * y, c * y - s * x], -1)
        length = local.norm(dim=-1, keepdim=True)
        return torch.where(length < dead_zone, torch.zeros_like(local), local / length.clamp_min(1e-6))

    def heightmap(self, terrain: TerrainBatch, grid: HeightmapGrid) -> Tensor:
        """h of the paper's section 5.1, [B, nx, ny]: heights against the root within +-3 m, divided by 3.

        B / N frames in turn are on each of N terrains.
        """
        rows = (terrain.count, -1)
        heights = sample_heightmap(terrain, grid, self.origin[:, :2].unflatten(0, rows), self.yaw.unflatten(0, rows)).flatten(
            0, 1
        )
        return relative_heightmap(heights, self.origin[:, 2], HEIGHT_LIMIT) / HEIGHT_LIMIT


def _fit(value: Tensor, points: Tensor) -> Tensor:
    """[B, *own] with ones put in so that it broadcasts over points [B, ..., 3]."""
    extra = points.dim() - 2
    return value.view(value.shape[0], *[1] * extra, *value.shape[1:]) if extra else value
