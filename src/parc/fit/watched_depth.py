"""How deep bodies are in the terrain and in each other, for a fit that moves them a little many times.

Only what is near is looked at, and what that is gets chosen again every few dozen steps, as nothing comes far in between.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from parc.character import rotation
from parc.character.body_surface import surface_points, world_points
from parc.character.character import Character
from parc.character.kinematics import BodyPose
from parc.character.self_distance import NearPairs, self_depth
from parc.fit.penalty_terms import frame_mean, soft_distance
from parc.terrain.terrain import Terrain, TerrainBatch
from parc.terrain.terrain_distance import signed_distance_local


class _Watched(NamedTuple):
    """[N, M] points, some repeated to fill up."""

    at: Tensor
    """row of the point's body among the poses of all frames"""
    local: Tensor
    """[N, M, 3] in its body's frame"""
    real: Tensor
    """1, or 0 for a filler"""
    margin: Tensor
    """m"""


class TerrainDepth:
    """Penetration of surface points into the terrain (paper, C.2), soft and watched."""

    def __init__(
        self,
        character: Character,
        terrains: Sequence[Terrain],
        valid: Tensor,
        near: float,
        renew: int,
        soft: float,
        margin: Tensor | None = None,
    ) -> None:
        """For frames that count, `valid` [N, T].

        Points within `near` (m) of the terrain are watched, chosen again every `renew` steps; a depth under `soft` (m) counts by
        its square. `margin` [B] (m) is what each body keeps away.
        """
        self.valid, self.near, self.renew, self.soft = valid, near, renew, soft
        self.surface = surface_points(character, valid.device)
        margin = torch.zeros(len(character)) if margin is None else margin
        self.margin = margin.to(valid.device)[self.surface.body]
        self.terrains = TerrainBatch.stack(list(terrains)).to(valid.device)
        self.steps = 0
        self.watched: _Watched | None = None

    def __call__(self, pose: BodyPose) -> Tensor:
        """Sum of depths over points, mean over frames, [N], m; rotations as quaternions or matrices."""
        if self.watched is None or self.steps % self.renew == 0:
            self.watched = self._near(pose)
        self.steps += 1
        n = len(self.valid)
        turns = (rotation.to_matrix(pose.rot) if pose.rot.shape[-1] == 4 else pose.rot).reshape(n, -1, 9)
        turn, origin = (
            x.gather(1, self.watched.at.unsqueeze(-1).expand(-1, -1, x.shape[-1])) for x in (turns, pose.pos.flatten(1, 2))
        )
        points = origin + (turn.unflatten(-1, (3, 3)) @ self.watched.local.unsqueeze(-1)).squeeze(-1)
        signed = signed_distance_local(self.terrains, points, reach=1, border="wall")
        depth = soft_distance((self.watched.margin - signed).clamp_min(0), self.soft) * self.watched.real
        return depth.sum(1) / self.valid.sum(1).clamp_min(1)

    def _near(self, pose: BodyPose) -> _Watched:
        with torch.no_grad():
            points = world_points(self.surface, pose)
            n, t, p = points.shape[:3]
            signed = signed_distance_local(self.terrains, points.reshape(n, t * p, 3), reach=1, border="wall")
        near = (signed < self.near) & self.valid.bool().repeat_interleave(p, 1)
        most = max(int(near.sum(1).max()), 1)
        order = near.to(torch.int8).argsort(dim=1, descending=True, stable=True)[:, :most]
        frame, point = torch.div(order, p, rounding_mode="floor"), order % p
        return _Watched(
            at=frame * pose.pos.shape[2] + self.surface.body[point],
            local=self.surface.points[point],
            real=near.gather(1, order).to(points.dtype),
            margin=self.margin[point],
        )


class SelfDepth:
    """Depth of the body's shapes in each other, soft and watched shape by shape."""

    def __init__(self, character: Character, valid: Tensor, near: float, renew: int, soft: float, margin: float) -> None:
        """As `TerrainDepth`; bodies keep `margin` (m) from each other."""
        self.character, self.valid, self.near, self.renew, self.soft, self.margin = character, valid, near, renew, soft, margin
        self.steps = 0
        self.watched: NearPairs | None = None

    def __call__(self, pose: BodyPose) -> Tensor:
        """Sum of depths over shapes, mean over frames, [N], m; rotations as quaternions or matrices."""
        if self.watched is None or self.steps % self.renew == 0:
            self.watched = NearPairs(self.character, pose, self.near, self.valid.bool())
        self.steps += 1
        n, t = self.valid.shape
        depth = soft_distance((self.watched.depth(pose) + self.margin).clamp_min(0), self.soft)
        return depth.new_zeros(n).index_add(0, self.watched.frame // t, depth) / self.valid.sum(1).clamp_min(1)


class SelfDepthByPair(SelfDepth):
    """The same, but of a pair of bodies only its deepest shapes count; frames with near bodies are watched.

    Authored clips are solved with this count. A body made of several shapes weighs more when each of them counts, and an
    authored clip then comes out up to 0.035 rad otherwise; so both counts stay, with one watch and one softening.
    """

    def __init__(self, character: Character, valid: Tensor, near: float, renew: int, soft: float, margin: float) -> None:
        super().__init__(character, valid, near, renew, soft, margin)
        self.tight = torch.zeros(0, dtype=torch.long, device=valid.device)

    def __call__(self, pose: BodyPose) -> Tensor:
        """Sum of depths over pairs, mean over frames, [N], m; rotations as quaternions or matrices."""
        frames = BodyPose(pose.pos.flatten(0, 1), pose.rot.flatten(0, 1))
        if self.steps % self.renew == 0:
            with torch.no_grad():
                near = (self_depth(self.character, frames) > -self.near).any(-1)
                self.tight = (near & self.valid.flatten().bool()).nonzero().squeeze(-1)
        self.steps += 1
        chosen = BodyPose(*(part.index_select(0, self.tight) for part in frames))
        depth = soft_distance((self_depth(self.character, chosen) + self.margin).clamp_min(0), self.soft).sum(-1)
        return frame_mean(depth.new_zeros(len(frames.pos)).index_add(0, self.tight, depth).view_as(self.valid), self.valid)
