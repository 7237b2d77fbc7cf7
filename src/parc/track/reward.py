"""The paper's tracking reward: six terms, each a pure function of the simulated state and the reference (hatted).

    r = 0.5 r_pose + 0.1 r_pose_velocity + 0.15 r_root + 0.1 r_root_velocity + 0.15 r_key + r_contact

The first five are exp(-distance), 1 when the two agree; the contact term pays for touching where the reference touches and
charges for touching where it does not.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from parc.track.quaternion import angle_between


@dataclass(frozen=True)
class RewardSettings:
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

    @property
    def names(self) -> tuple[str, ...]:
        return ("pose", "pose_velocity", "root", "root_velocity", "key", "contact")

    @property
    def weights(self) -> tuple[float, ...]:
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


def contact_reward(contacts: Tensor, reference: Tensor) -> Tensor:
    """mean_j [c^_j c_j - (1 - c^_j) c_j]: contact labels [..., B] in [0, 1]."""
    return ((2.0 * reference - 1.0) * contacts).mean(-1)
