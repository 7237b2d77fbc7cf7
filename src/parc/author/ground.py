"""How deep bodies are in the ground, for a fit: only points near the terrain are looked at, and which those are is decided again
every few dozen steps, as no point comes far in between.

Hands and feet may touch. All else keeps a finger's breadth away, so that knees that pass a wall do not count as leaning on it.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from parc.character.character import Character
from parc.character.kinematics import BodyPose
from parc.character.surface import surface_points, world_points
from parc.terrain.distance import signed_distance_local
from parc.terrain.terrain import Terrain, TerrainBatch

NEAR = 0.1
"""m from the terrain within which points are watched"""
RENEW = 25
"""steps between choices of points to watch"""
MARGIN = 0.015
"""m that bodies other than hands and feet keep from the terrain"""
SOFT = 0.004
"""m under which a depth counts by its square"""


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
    def __init__(self, character: Character, terrains: Sequence[Terrain], valid: Tensor) -> None:
        self.valid = valid
        self.surface = surface_points(character, valid.device)
        ends = torch.tensor(character.key_bodies, device=valid.device)
        self.margin = torch.where(torch.isin(self.surface.body, ends), 0.0, MARGIN)
        self.terrains = TerrainBatch.stack(list(terrains)).to(valid.device)
        self.steps = 0
        self.watched: _Watched | None = None

    def __call__(self, pose: BodyPose) -> Tensor:
        """Sum of depths over points, mean over frames, [N], m; for matrix poses."""
        if self.watched is None or self.steps % RENEW == 0:
            self.watched = self._near(pose)
        self.steps += 1
        n = len(self.valid)
        turns = pose.rot.reshape(n, -1, 9)
        turn, origin = (
            x.gather(1, self.watched.at.unsqueeze(-1).expand(-1, -1, x.shape[-1])) for x in (turns, pose.pos.flatten(1, 2))
        )
        points = origin + (turn.unflatten(-1, (3, 3)) @ self.watched.local.unsqueeze(-1)).squeeze(-1)
        signed = signed_distance_local(self.terrains, points, reach=1, border="wall")
        depth = (self.watched.margin - signed).clamp_min(0)
        depth = torch.where(depth < SOFT, depth.square() / (2 * SOFT), depth - 0.5 * SOFT) * self.watched.real
        return depth.sum(1) / self.valid.sum(1).clamp_min(1)

    def _near(self, pose: BodyPose) -> _Watched:
        with torch.no_grad():
            points = world_points(self.surface, pose)
            n, t, p = points.shape[:3]
            signed = signed_distance_local(self.terrains, points.reshape(n, t * p, 3), reach=1, border="wall")
        near = (signed < NEAR) & self.valid.bool().repeat_interleave(p, 1)
        most = max(int(near.sum(1).max()), 1)
        order = near.to(torch.int8).argsort(dim=1, descending=True, stable=True)[:, :most]
        frame, point = torch.div(order, p, rounding_mode="floor"), order % p
        return _Watched(
            at=frame * pose.pos.shape[2] + self.surface.body[point],
            local=self.surface.points[point],
            real=near.gather(1, order).to(points.dtype),
            margin=self.margin[point],
        )
