"""The penalty terms of all fits, each a pure function of tensors; "paper" names the section that has the term.

Those that return [N] are sums over the frames of a clip (as the paper writes the correction), others values of frames [N, T, ...]
of which a caller takes the mean (`frame_mean`), so that a long take and a short one ask for the same steps. Padding frames are
masked by `valid` [N, T].

The paper writes jerk in m/s3. In position units, times dt^3, it is the distance by which a point misses a smooth path, and one
weight of 1000 means the same for metres of penetration, of missed contact and of jerk; in m/s3 it is 27000 times as much at 30
frames a second, and drowns all else.
"""

from typing import Literal

import torch
from torch import Tensor

JerkUnit = Literal["m", "m/s3"]


def frame_sum(values: Tensor, valid: Tensor) -> Tensor:
    """Sum over real frames, and over whatever else values [N, T, ...] have: [N]."""
    return (values.flatten(2).sum(-1) * valid if values.dim() > 2 else values * valid).sum(1)


def frame_mean(values: Tensor, valid: Tensor) -> Tensor:
    """Mean over real frames of values [N, T, ...], summed over the rest: [N]."""
    return frame_sum(values, valid) / valid.sum(1).clamp_min(1)


def second_difference(x: Tensor) -> Tensor:
    """x_{t+1} - 2 x_t + x_{t-1} along dimension 1."""
    return x[:, 2:] - 2 * x[:, 1:-1] + x[:, :-2]


def third_difference(x: Tensor) -> Tensor:
    """x_{t+3} - 3 x_{t+2} + 3 x_{t+1} - x_t along dimension 1."""
    return x[:, 3:] - 3 * x[:, 2:-1] + 3 * x[:, 1:-2] - x[:, :-3]


def soft_distance(distance: Tensor, width: float) -> Tensor:
    """|d| beyond `width`, its square below: pulls all the way without shaking at the end."""
    return torch.where(distance < width, distance.square() / (2 * width), distance - 0.5 * width)


def regularisation(shift: Tensor, root_turn: Tensor, joint_turn: Tensor, valid: Tensor, root_weight: float = 1.0) -> Tensor:
    """L_reg (paper, E.2), [N]: squared change of root position [N, T, 3], root rotation [N, T, 3] (weighed) and joint coordinates
    [N, T, D]."""
    change = shift.square().sum(-1) + root_weight * root_turn.square().sum(-1) + joint_turn.square().sum(-1)
    return frame_sum(change, valid)


def smoothness(shift: Tensor, root_turn: Tensor, joint_turn: Tensor, valid: Tensor) -> Tensor:
    """Squared second difference of the change, [N]: what is added to a motion must not shake, whatever the motion does."""
    second = [second_difference(x).square().sum(-1) for x in (shift, root_turn, joint_turn)]
    return frame_sum(second[0] + second[1] + second[2], valid[:, 2:])


def penetration(signed: Tensor, valid: Tensor) -> Tensor:
    """L_pen = sum -min(sd, 0) over points (paper, C.2), [N]; signed distances [N, T, P]."""
    return frame_sum((-signed).clamp_min(0), valid)


def contact(body_distance: Tensor, contacts: Tensor, valid: Tensor) -> Tensor:
    """L_contact = sum_b c_b min_p |sd(p)| (paper, C.3), [N]; least |sd| over each body's points [N, T, B]."""
    return frame_sum(contacts * body_distance, valid)


def excess_jerk(pos: Tensor, valid: Tensor, limit: float, fps: float, unit: JerkUnit = "m") -> Tensor:
    """L_jerk = sum_b max(|jerk| - limit, 0) (paper, C.4) of body positions [N, T, B, 3], [N]; limit in m/s3. In m: times dt^3."""
    size = third_difference(pos).square().sum(-1).add(1e-12).sqrt()
    excess = frame_sum((size - limit / fps**3).clamp_min(0), valid[:, 3:])
    return excess * fps**3 if unit == "m/s3" else excess


def self_penetration(depth: Tensor, clip: Tensor, clips: int) -> Tensor:
    """sum max(depth, 0) over shapes in each other, [N]; depths [M] m, each in one of so many clips [M]."""
    return depth.new_zeros(clips).index_add(0, clip, depth.clamp_min(0))


def sliding(points: Tensor, patch: Tensor, held: Tensor) -> Tensor:
    """Step of the slowest point of each contact patch while contact is held, m, [N].

    points [N, T, K, R, 3] of K bodies, patch [N, T, K, R] which of them touch, held [N, T-1, K] contact in both frames.
    """
    step = (points[:, 1:] - points[:, :-1]).square().sum(-1)
    slowest = torch.where(patch[:, 1:], step, 1e3).amin(-1)
    return ((slowest + 1e-8).sqrt() * held).sum((1, 2))


def held_apart(points: Tensor, places: Tensor, held: Tensor) -> Tensor:
    """Squared distance of points [N, T, K, D] to where they are held, m2, 0 where `held` [N, T, K] is: [N, T, K]."""
    return (points - places).square().sum(-1) * held


def bone_directions(start: Tensor, end: Tensor) -> Tensor:
    """Unit vectors [..., 3] from the start to the end of bones."""
    return torch.nn.functional.normalize(end - start, dim=-1)


def difference(found: Tensor, wanted: Tensor, dims: int) -> Tensor:
    """Squared difference, summed over the last `dims` dimensions: 1 for positions and directions, 2 for rotation matrices."""
    return (found - wanted).square().sum(tuple(range(-dims, 0)))
