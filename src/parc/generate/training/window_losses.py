"""Training losses: pure functions of predicted and recorded windows.

A prediction has K branches, [B, K, T, ...]; the recording has one, [B, 1, T, ...]. Every term returns [B, K], so that its weight
may depend on the item (random terrain) and on the noise level.

Positions are metres and differences are metres per frame (per frame squared): at 30 fps a foot that slides at 0.2 m/s moves
6.7 mm a frame, which is why velocity terms carry weights in the hundreds.
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from parc.character import rotation
from parc.character.body_surface import min_per_body, world_points
from parc.character.kinematics import BodyPose
from parc.generate.data.body_sample_points import Probe
from parc.generate.data.frame_table import FPS
from parc.generate.model.canonical_frame import CanonicalFrame
from parc.generate.model.feature_layout import FeatureLayout
from parc.motion.frame_state import FrameState
from parc.terrain.carrying_surface import distances
from parc.terrain.terrain import TerrainBatch

FALL_PER_FRAME = 9.81 / FPS**2
"""m by which a falling body's step grows from frame to frame"""
AIRBORNE = 0.05
"""m from ground that carries: the nearest point of a body in flight is farther"""
PATCH = 0.02
"""m: sole points this much farther from the ground than the lowest may be the ones that stand"""


class Posed(NamedTuple):
    """A window in poses."""

    state: FrameState
    pose: BodyPose
    """[B, K, T, bodies, ...] from kinematics"""
    joint_pos: Tensor
    """[B, K, T, bodies - 1, 3] as predicted"""

    def first(self, branches: int) -> "Posed":
        """The first branches only."""
        return Posed(
            FrameState(*(part[:, :branches] for part in self.state)),
            BodyPose(*(part[:, :branches] for part in self.pose)),
            self.joint_pos[:, :branches],
        )


def pose_of(layout: FeatureLayout, features: Tensor) -> Posed:
    """Features [B, K, T, D], not standardised, as poses."""
    decoded = layout.decode(features)
    return Posed(decoded.state, decoded.state.body_pose(layout.character), decoded.joint_pos)


def reconstruction(predicted: Tensor, recorded: Tensor, used: int) -> Tensor:
    """L_rec on our features (paper, section 3.1): mean squared difference of standardised features [B, K, T, D]."""
    return (predicted - recorded)[..., :used].square().mean((-1, -2))


def position_error(predicted: Tensor, recorded: Tensor) -> Tensor:
    """||FK(x0_hat) - FK(x0)||^2, positions [B, K, T, N, 3], mean over frames and bodies."""
    return (predicted - recorded).square().sum(-1).mean((-1, -2))


def joint_consistency(posed: Posed) -> Tensor:
    """L_joint (paper, appendix D.1): predicted joint positions against kinematics of the predicted rotations."""
    return (posed.joint_pos - posed.pose.pos[..., 1:, :]).square().sum(-1).mean((-1, -2))


def difference_error(predicted: Tensor, recorded: Tensor, past_shown: Tensor, order: int) -> Tensor:
    """L_velocity of positions [B, K, T, N, 3] (paper, appendix D.1), or with order 2 the same of accelerations.

    The seam to the past is included. The past is the same for both, so its error is zero; differences that reach into it count
    only where it is shown, [B, K].
    """
    error = functional.pad(predicted - recorded, (0, 0, 0, 0, order, 0))
    for _ in range(order):
        error = error[:, :, 1:] - error[:, :, :-1]
    error = error.square().sum(-1).mean(-1)
    across = torch.arange(error.shape[2], device=error.device) < order
    return torch.where(across & ~past_shown.unsqueeze(-1), torch.zeros_like(error), error).mean(-1)


def held_point_error(predicted: Tensor, recorded: Tensor, label: Tensor) -> Tensor:
    """Sole points [B, K, T, F, S, 3] must move as recorded while the recorded label [B, 1, T, F] says contact in both frames."""
    error = predicted[:, :, 1:] - predicted[:, :, :-1] - (recorded[:, :, 1:] - recorded[:, :, :-1])
    held = torch.minimum(label[:, :, 1:], label[:, :, :-1])
    return (error.square().sum(-1).mean(-1) * held).mean((-1, -2))


def own_contact_slide(sole: Tensor, label: Tensor, allowed: float = 0.05) -> Tensor:
    """A foot the model itself labels in contact must stand: squared speed, over `allowed` (m/s), of its slowest low point.

    Sole points [B, K, T, F, S, 3], predicted label [B, K, T, F] in [0, 1].
    """
    height = sole.detach()[..., 2]
    standing = (height <= height.amin(-1, keepdim=True) + PATCH)[:, :, 1:]
    speed = (sole[:, :, 1:] - sole[:, :, :-1]).square().sum(-1).clamp_min(1e-12).sqrt()
    slowest = torch.where(standing, speed, torch.full_like(speed, 1.0)).amin(-1)
    held = torch.minimum(label[:, :, 1:], label[:, :, :-1]).detach()
    return ((slowest - allowed / FPS).clamp_min(0).square() * held).mean((-1, -2))


def rotation_error(predicted: Tensor, recorded: Tensor) -> Tensor:
    """L_rec of rotations, ||q0 (-) q0_hat||^2 (paper, appendix D.1): matrices [B, K, T, N, 3, 3], rad^2 summed over N."""
    relative = rotation.matrix_multiply(recorded.mT, predicted)
    return _angle(relative).square().sum(-1).mean(-1)


def angular_velocity_error(predicted: Tensor, recorded: Tensor) -> Tensor:
    """L_velocity of rotations (paper, appendix D.1): difference of turns as exponential maps, rad^2 per frame^2."""
    return (_turns(predicted) - _turns(recorded)).square().sum((-1, -2)).mean(-1)


class GroundTerms(NamedTuple):
    """Losses against the terrain, [B, K] each."""

    penetration: Tensor
    """L_pen (paper, appendix C.2): depth summed over points, mean over frames, m"""
    contact: Tensor
    """L_contact (paper, appendix C.3) with the recorded labels: distance of labelled bodies, mean over bodies, m"""
    own_contact: Tensor
    """the same with the model's own labels: a label must be true"""
    flight: Tensor
    """departure from free fall of the centre of mass while nothing carries the body, frames^2 of 9.81 m/s2"""


def ground_terms(
    posed: Posed, label: Tensor, recorded_label: Tensor, patch: TerrainBatch, frame: CanonicalFrame, probe: Probe
) -> GroundTerms:
    """For a window [B, K, T, ...] in the frame [B]; labels [B, K, T, bodies]."""
    world = frame.points_to_world(world_points(probe.surface, posed.pose))
    distance, carrying = distances(patch, world)
    above = min_per_body(probe.surface, distance).clamp_min(0)
    depth = (-distance).clamp_min(0)
    return GroundTerms(
        penetration=depth.sum(-1).mean(-1),
        contact=(above * recorded_label).mean((-1, -2)),
        own_contact=(above.clamp_max(0.5) * label).mean((-1, -2)),
        flight=flight_departure(posed.pose, carrying.amin(-1), probe).mean(-1),
    )


def flight_departure(pose: BodyPose, nearest: Tensor, probe: Probe) -> Tensor:
    """(a_z / g + 1)^2, limited, of the centre of mass in frames [..., T-2] that are airborne with their neighbours.

    Pose [..., T, ...]; nearest [..., T]: distance of the body's nearest point to ground that carries.
    """
    height = ((pose.pos + rotation.matrix_rotate(pose.rot, probe.centre))[..., 2] * probe.mass).sum(-1)
    step = height[..., 1:] - height[..., :-1]
    error = (step[..., 1:] - step[..., :-1]) / FALL_PER_FRAME + 1.0
    free = (nearest > AIRBORNE).float()
    free = free[..., 1:-1] * free[..., 2:] * free[..., :-2]
    return functional.smooth_l1_loss(error, torch.zeros_like(error), reduction="none") * free


def _angle(m: Tensor) -> Tensor:
    """Angle of a rotation matrix, smooth at zero: 2 asin(||R - I|| / (2 sqrt 2))."""
    eye = torch.eye(3, device=m.device, dtype=m.dtype)
    chord = (m - eye).square().sum((-1, -2)).clamp_min(1e-12).sqrt() / 8**0.5
    return 2 * torch.asin(chord.clamp_max(1 - 1e-4))


def _turns(m: Tensor) -> Tensor:
    """[..., T, N, 3, 3] to exponential maps of the turns [..., T-1, N, 3]."""
    relative = rotation.matrix_multiply(m[..., 1:, :, :, :], m[..., :-1, :, :, :].mT)
    return rotation.to_exp(rotation.from_matrix(relative))
