"""What a body does over time, as curves that gait is read from: joint angles, soles, who stands when. Angles in degrees.

*Stance* is read from the motion, not from labels, so that recorded, generated and captured motions are asked the same: a foot
stands while its lowest corner is less than `NEAR` above the ground below it and its slowest corner slower than `SLOW`. Gaps and
stretches shorter than .1 s are none. A *strike* is the first frame of a stance, a *lift-off* the first frame after it. Hands are
another matter (near a wall is not on it): their labels say whether they touch.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from parc.character import rotation
from parc.character.kinematics import BodyPose
from parc.character.limb_chains import Limbs, limbs_of
from parc.character.posture import bend
from parc.metrics.clip_batch import ClipBatch
from parc.metrics.time_filters import moving_mean, tidied, unwrapped
from parc.terrain.terrain import TerrainBatch

NEAR = 0.03
"""m"""
SLOW = 0.5
"""m/s"""
SHORT = 0.1
"""s, stances and gaps between them shorter than this are none"""
HANGS = 5.0
"""degrees, a limb that swings by less hangs: a turning trunk alone moves the hands"""
_TOUCHES = 0.5
"""label"""


def signals_of(batch: ClipBatch) -> "BodySignals | None":
    """None for a character without two legs and two arms."""
    limbs = limbs_of(batch.character, batch.root_pos.device)
    if limbs is None:
        return None
    return BodySignals(limbs, batch.pose, batch.contacts, batch.terrains, batch.frames, batch.fps)


@dataclass(frozen=True, eq=False)
class BodySignals:
    """Curves [N, T, ...] of N motions; pairs are left, right. Frames behind a motion's end repeat its last."""

    limbs: Limbs
    pose: BodyPose
    contacts: Tensor
    """[N, T, B]"""
    terrains: TerrainBatch
    frames: Tensor
    """[N]"""
    fps: float

    def span(self, seconds: float) -> int:
        """Frames, at least one."""
        return max(1, round(seconds * self.fps))

    @cached_property
    def valid(self) -> Tensor:
        """[N, T] bool"""
        return torch.arange(self.root.shape[1], device=self.root.device) < self.frames.unsqueeze(1)

    @cached_property
    def _neighbours(self) -> tuple[Tensor, Tensor]:
        return (self._at - 1).clamp_min(0), (self._at + 1).minimum((self.frames - 1).unsqueeze(1))

    @cached_property
    def _at(self) -> Tensor:
        """[N, T] each frame, or the motion's last behind its end"""
        return torch.arange(self.root.shape[1], device=self.root.device).minimum((self.frames - 1).unsqueeze(1))

    def velocity(self, values: Tensor) -> Tensor:
        """Change a second of [N, T, ...]: central differences, one-sided at a motion's ends."""
        before, after = self._neighbours
        row = torch.arange(len(before), device=before.device).unsqueeze(1)
        seconds = (after - before).clamp_min(1).view(*before.shape, *[1] * (values.dim() - 2)) / self.fps
        return (values[row, after] - values[row, before]) / seconds

    # ---- places ----------------------------------------------------------------------------------------------------

    def at(self, bodies: tuple[int, ...]) -> Tensor:
        """[N, T, 2, 3] origins."""
        return self.pose.pos[:, :, list(bodies)]

    @cached_property
    def root(self) -> Tensor:
        """[N, T, 3] m"""
        return self.pose.pos[:, :, 0]

    @cached_property
    def root_velocity(self) -> Tensor:
        """[N, T, 3] m/s, mean over .3 s"""
        return moving_mean(self.velocity(self.root), self.span(0.3))

    @cached_property
    def forward(self) -> Tensor:
        """[N, T, 3] unit vector in the plane where the pelvis points."""
        x = torch.tensor([1.0, 0.0, 0.0], device=self.root.device)
        return rotation.rotate(rotation.heading(self.pose.rot[:, :, 0]), x)

    @cached_property
    def left(self) -> Tensor:
        """[N, T, 3]"""
        x, y, z = self.forward.unbind(-1)
        return torch.stack([-y, x, z], -1)

    @cached_property
    def sole(self) -> Tensor:
        """[N, T, 2, 4, 3] corners in the world, m"""
        turn = self.pose.rot[:, :, list(self.limbs.ankle)].unsqueeze(-2)
        return self.at(self.limbs.ankle).unsqueeze(-2) + rotation.rotate(turn, self.limbs.sole)

    @cached_property
    def ground(self) -> Tensor:
        """[N, T, 2, 4] height under each corner, m"""
        return self.terrains.height_at(self.sole[..., :2])

    @cached_property
    def clearance(self) -> Tensor:
        """[N, T, 2] m, of the corner nearest to the ground below it"""
        return (self.sole[..., 2] - self.ground).amin(-1)

    @cached_property
    def pelvis_height(self) -> Tensor:
        """[N, T] m, of the root over the lowest corner of both soles"""
        return self.root[..., 2] - self.sole[..., 2].flatten(2).amin(-1)

    @cached_property
    def foot_speed(self) -> Tensor:
        """[N, T, 2] m/s, of the ankles in the plane"""
        return self.velocity(self.at(self.limbs.ankle))[..., :2].norm(dim=-1)

    @cached_property
    def sole_speed(self) -> Tensor:
        """[N, T, 2] m/s, of the slowest corner"""
        return self.velocity(self.sole).norm(dim=-1).amin(-1)

    # ---- angles, degrees -------------------------------------------------------------------------------------------

    @cached_property
    def yaw(self) -> Tensor:
        """[N, T] heading of the pelvis, without jumps"""
        return unwrapped(torch.rad2deg(torch.atan2(self.forward[..., 1], self.forward[..., 0])))

    @cached_property
    def knee(self) -> Tensor:
        """[N, T, 2] flexion, 0 straight"""
        return torch.rad2deg(bend(self.at(self.limbs.hip), self.at(self.limbs.knee), self.at(self.limbs.ankle)))

    @cached_property
    def elbow(self) -> Tensor:
        """[N, T, 2] flexion, 0 straight"""
        return torch.rad2deg(bend(self.at(self.limbs.shoulder), self.at(self.limbs.elbow), self.at(self.limbs.hand)))

    @cached_property
    def thigh(self) -> Tensor:
        """[N, T, 2] knee before (+) or behind (-) the hip, seen from the side; 0 hangs straight down"""
        return self._swing(self.at(self.limbs.knee) - self.at(self.limbs.hip))

    @cached_property
    def arm(self) -> Tensor:
        """[N, T, 2] hand before (+) or behind (-) the shoulder, seen from the side"""
        return self._swing(self.at(self.limbs.hand) - self.at(self.limbs.shoulder))

    @cached_property
    def abduction(self) -> Tensor:
        """[N, T, 2] hand outwards of the shoulder, seen from the front"""
        reach = self.at(self.limbs.hand) - self.at(self.limbs.shoulder)
        outwards = (reach * self.left.unsqueeze(2)).sum(-1) * torch.tensor([1.0, -1.0], device=reach.device)
        return torch.rad2deg(torch.atan2(outwards, -reach[..., 2]))

    @cached_property
    def trunk(self) -> Tensor:
        """[N, T] lean from the pelvis to between the shoulders, + forwards"""
        up = self.at(self.limbs.shoulder).mean(2) - self.root
        return torch.rad2deg(torch.atan2((up * self.forward).sum(-1), up[..., 2]))

    @cached_property
    def head(self) -> Tensor:
        """[N, T] pitch of the head, + looks up"""
        return self._pitch((self.limbs.head,)).squeeze(-1)

    @cached_property
    def foot_pitch(self) -> Tensor:
        """[N, T, 2] + toes up"""
        return self._pitch(self.limbs.ankle)

    def _pitch(self, bodies: tuple[int, ...]) -> Tensor:
        x = torch.tensor([1.0, 0.0, 0.0], device=self.root.device)
        ahead = rotation.rotate(self.pose.rot[:, :, list(bodies)], x)
        return torch.rad2deg(torch.asin(ahead[..., 2].clamp(-1, 1)))

    def _swing(self, limb: Tensor) -> Tensor:
        return unwrapped(torch.rad2deg(torch.atan2((limb * self.forward.unsqueeze(2)).sum(-1), -limb[..., 2])))

    # ---- contact ---------------------------------------------------------------------------------------------------

    @cached_property
    def stance(self) -> Tensor:
        """[N, T, 2] bool"""
        stands = (self.clearance < NEAR) & (self.sole_speed < SLOW)
        return tidied(stands, self.span(SHORT)) & self.valid.unsqueeze(-1)

    @cached_property
    def strike(self) -> Tensor:
        """[N, T, 2] bool; no motion begins with one"""
        return self._edge(self.stance)

    @cached_property
    def lift_off(self) -> Tensor:
        """[N, T, 2] bool"""
        return self._edge(~self.stance) & self.valid.unsqueeze(-1)

    @cached_property
    def hand_touches(self) -> Tensor:
        """[N, T, 2] bool, by label"""
        return (self.contacts[:, :, list(self.limbs.hand)] > _TOUCHES) & self.valid.unsqueeze(-1)

    @staticmethod
    def _edge(mask: Tensor) -> Tensor:
        return torch.cat([torch.zeros_like(mask[:, :1]), mask[:, 1:] & ~mask[:, :-1]], 1)
