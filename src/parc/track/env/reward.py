"""The tracking reward: the paper's six terms and two of ours, each a pure function of simulation and reference (hatted).

    r = 0.5 r_pose + 0.1 r_pose_velocity + 0.15 r_root + 0.1 r_root_velocity + 0.15 r_key + r_contact
        + r_key_velocity + 15 r_smooth

The paper's first five are exp(-distance), 1 when the two agree; its contact term pays for touching where the reference touches
and charges for touching where it does not.

Nothing in them asks for quiet feet: a policy trained on them alone moved its motor targets by 0.1 to 0.2 rad from one control
step to the next, its feet hammered 5 mm into the ground and slid in half of the frames in which they should stand. Targets that
wobble by 0.05 rad make even a standing body do so. Hence two more terms: the velocity of hands and feet, and a price on
targets that jump.
"""

from dataclasses import dataclass, fields
from typing import Any

import torch
from torch import Tensor

from parc.track.env.fast_quaternion import angle_between


@dataclass(frozen=True)
class RewardSettings:
    """Weights of the terms, in the order in which `parc.track.env.rewarded_bodies` computes them."""

    pose: float = 0.5
    """weight"""
    pose_velocity: float = 0.1
    """weight"""
    root: float = 0.15
    """weight"""
    root_velocity: float = 0.1
    """weight"""
    key: float = 0.15
    """weight"""
    contact: float = 1.0
    """weight; the paper's public code has 5"""
    key_velocity: float = 1.0
    """weight; the paper has no such term"""
    smooth: float = 15.0
    """weight; the paper has no such term"""

    @staticmethod
    def completed(stored: dict[str, Any]) -> dict[str, Any]:
        """Settings from a file, with what older files leave unsaid."""
        return {"key_velocity": 0.0, "smooth": 0.0} | stored

    @property
    def names(self) -> tuple[str, ...]:
        """Of the terms, in order."""
        return tuple(field.name for field in fields(self))

    @property
    def weights(self) -> tuple[float, ...]:
        """Of the terms, in order."""
        return tuple(getattr(self, name) for name in self.names)


def pose_reward(joint_rot: Tensor, reference: Tensor, weight: Tensor) -> Tensor:
    """exp(-0.25 sum_j w_j |q_j (-) q^_j|^2): joint quaternions [..., J, 4], weights [J]."""
    return torch.exp(-0.25 * (weight * angle_between(joint_rot, reference).square()).sum(-1))


def pose_velocity_reward(joint_vel: Tensor, reference: Tensor, weight: Tensor) -> Tensor:
    """exp(-0.01 sum_j w_j |dq_j - dq^_j|^2): joint velocities [..., D] in rad/s, weights [D]."""
    return torch.exp(-0.01 * (weight * (joint_vel - reference).square()).sum(-1))


def root_reward(position_error: Tensor, angle_error: Tensor) -> Tensor:
    """exp(-5 (|p - p^|^2 + 0.1 |q (-) q^|^2)): distance in m and angle in rad of the root, [...]."""
    return torch.exp(-5.0 * (position_error.square() + 0.1 * angle_error.square()))


def root_velocity_reward(linear: Tensor, reference_linear: Tensor, angular: Tensor, reference_angular: Tensor) -> Tensor:
    """exp(-(|dp - dp^|^2 + 0.1 |w - w^|^2)): velocities [..., 3] in the world, m/s and rad/s."""
    return torch.exp(-((linear - reference_linear).square().sum(-1) + 0.1 * (angular - reference_angular).square().sum(-1)))


def key_reward(key_error: Tensor) -> Tensor:
    """exp(-10 sum_i |p_i - p^_i|^2): distances [..., K] of the key bodies, root-relative, m."""
    return torch.exp(-10.0 * key_error.square().sum(-1))


def contact_reward(contacts: Tensor, reference: Tensor, may_touch: Tensor | float = 0.0) -> Tensor:
    """mean_j [c^_j c_j - (1 - c^_j) (1 - m_j) c_j]: labels [..., B]; m_j is 1 where touching is no fault (the paper: 0)."""
    return ((reference - (1.0 - reference) * (1.0 - may_touch)) * contacts).mean(-1)


def key_velocity_reward(velocity: Tensor, reference: Tensor, contacts: Tensor) -> Tensor:
    """mean_i 1 / (1 + (2 + 18 c^_i) |v_i - v^_i|^2): velocities [..., K, 3] of the key bodies in the world, m/s, over the last
    control step, and the reference's labels [..., K]. What should stand is held to a finer scale than what swings.

    A mean over bodies: a hand that swings wrongly does not hide a foot that slides. No exponential: a foot that slides at
    0.5 m/s must still notice that 0.4 is better.
    """
    return (1.0 / (1.0 + (2.0 + 18.0 * contacts) * (velocity - reference).square().sum(-1))).mean(-1)


def smooth_reward(change: Tensor) -> Tensor:
    """-min(0.1, mean_d (t_d - t'_d)^2): change [..., D] of the motor targets since the last control step, rad, less the
    reference's own.

    Bounded, so that no wild step costs more than a good one earns and falling early never pays.
    """
    return -change.square().mean(-1).clamp_max(0.1)
