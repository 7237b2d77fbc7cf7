"""How deep bodies are in the ground, for a fit: only points near the terrain are looked at, and which those are is decided again
every few dozen steps, as no point comes far in between.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from parc.character import rotation
from parc.character.body_surface import surface_points, world_points
from parc.character.character import Character
from parc.character.kinematics import BodyPose
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


class NearGround:
    def __init__(
        self,
        character: Character,
        terrains: Sequence[Terrain],
        valid: Tensor,
        near: float,
        renew: int,
        soft: float,
        margin: float = 0.0,
    ) -> None:
        """For frames that count, `valid` [N, T].

        Points within `near` (m) of the terrain are watched, chosen again every `renew` steps; a depth under `soft` (m) counts by
        its square. Hands and feet may touch; all else keeps `margin` (m) away.
        """
        self.valid, self.near, self.renew, self.soft = valid, near, renew, soft
        self.surface = surface_points(character, valid.device)
        ends = torch.tensor(character.key_bodies, device=valid.device)
        self.margin = torch.where(torch.isin(self.surface.body, ends), 0.0, margin)
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


def soft_distance(distance: Tensor, width: float) -> Tensor:
    """|d| beyond `width`, its square below: pulls all the way without shaking at the end."""
    return torch.where(distance < width, distance.square() / (2 * width), distance - 0.5 * width)
