"""Terms of the kinematic correction (the paper's appendix "Kinematic Motion Correction"), each a pure function of tensors.

Sums run over frames, bodies and points of one clip; every function returns [N]. Padding frames are masked by `valid` [N, T].
The jerk term is by default in position units: jerk over the limit times dt^3 is the distance by which a point misses a smooth
path, so that one weight of 1000 means the same for metres of penetration, of missed contact and of jerk. The paper writes m/s3,
27000 times as much at 30 frames a second, where jerk drowns all else.
"""

from typing import Literal

import torch
from torch import Tensor

from parc.character import rotation

JerkUnit = Literal["m", "m/s3"]


def regularisation(shift: Tensor, root_turn: Tensor, joint_turn: Tensor, valid: Tensor, root_weight: float = 1.0) -> Tensor:
    """L_reg: squared change of root position [N, T, 3], root rotation [N, T, 3] (weighed) and joint coordinates [N, T, D]."""
    change = shift.square().sum(-1) + root_weight * root_turn.square().sum(-1) + joint_turn.square().sum(-1)
    return (change * valid).sum(1)


def penetration(signed: Tensor, valid: Tensor) -> Tensor:
    """L_pen = sum -min(sd, 0) over points; signed distances [N, T, P]."""
    return ((-signed).clamp_min(0).sum(-1) * valid).sum(1)


def self_penetration(depth: Tensor, clip: Tensor, clips: int) -> Tensor:
    """sum max(depth, 0) over shapes in each other; depths [M] m, each in one of so many clips [M]."""
    return depth.new_zeros(clips).index_add(0, clip, depth.clamp_min(0))


def straining(beyond: Tensor, valid: Tensor) -> Tensor:
    """sum over joint coordinates of what they are outside of their ranges [N, T, D], rad."""
    return (beyond.sum(-1) * valid).sum(1)


def contact(body_distance: Tensor, contacts: Tensor, valid: Tensor) -> Tensor:
    """L_contact = sum_b c_b min_p |sd(p)|; least |sd| over each body's points [N, T, B]."""
    return ((contacts * body_distance).sum(-1) * valid).sum(1)


def excess_jerk(pos: Tensor, valid: Tensor, limit: float, fps: float, unit: JerkUnit = "m") -> Tensor:
    """L_jerk = sum_b max(|jerk| - limit, 0) of body positions [N, T, B, 3]; limit in m/s3. In m: times dt^3."""
    third = pos[:, 3:] - 3 * pos[:, 2:-1] + 3 * pos[:, 1:-2] - pos[:, :-3]
    size = third.square().sum(-1).add(1e-12).sqrt()
    excess = ((size - limit / fps**3).clamp_min(0).sum(-1) * valid[:, 3:]).sum(1)
    return excess * fps**3 if unit == "m/s3" else excess


def smoothness(shift: Tensor, root_turn: Tensor, joint_turn: Tensor, valid: Tensor) -> Tensor:
    """Squared second difference of the change: what is added to the motion must not shake, whatever the motion does."""

    def second(x: Tensor) -> Tensor:
        return (x[:, 2:] - 2 * x[:, 1:-1] + x[:, :-2]).square().sum(-1)

    return ((second(shift) + second(root_turn) + second(joint_turn)) * valid[:, 2:]).sum(1)


def sliding(points: Tensor, patch: Tensor, held: Tensor) -> Tensor:
    """Step of the slowest point of each contact patch while contact is held, m.

    points [N, T, K, R, 3] of K bodies, patch [N, T, K, R] which of them touch, held [N, T-1, K] contact in both frames.
    """
    step = (points[:, 1:] - points[:, :-1]).square().sum(-1)
    slowest = torch.where(patch[:, 1:], step, 1e3).amin(-1)
    return ((slowest + 1e-8).sqrt() * held).sum((1, 2))


def anchoring(points: Tensor, anchors: Tensor, held: Tensor) -> Tensor:
    """Squared distance of contact points [N, T, K, 3] to where they are held [N, T, K, 3], over contact frames [N, T, K]."""
    return ((points - anchors).square().sum(-1) * held).sum((1, 2))


def turned(q: Tensor, delta: Tensor) -> Tensor:
    """Rotation q [..., 4] turned by an exponential map [..., 3] in the parent frame."""
    return rotation.multiply(rotation.from_exp(delta), q)
