"""Two windows agree on the frames they share.

A window plans 13 frames of which 7 are kept; the rest are planned again by the next window, from the same past but from new
noise. The next window's first frames are taken between the two plans,

    x_i = (1 - w_i) old_i + w_i new_i,        w_i = smooth((i + 1) / (n + 1)),   i = 0 .. n-1

for the old plan leaves the past without a jerk, which a new sample never quite does. Positions and labels are blended linearly,
rotations along the straight line between matrices, made orthogonal again (the plans are a few degrees apart).
"""

import torch
from torch import Tensor

from parc.character import rotation
from parc.motion.frame_state import FrameState


def fade_in(frames: int, device: torch.device | str) -> Tensor:
    """[frames] weights of the new plan, rising smoothly between 0 and 1 without reaching either."""
    t = torch.arange(1, frames + 1, device=device) / (frames + 1)
    return t * t * (3 - 2 * t)


def continue_plan(old: FrameState, new: FrameState, weight: Tensor, known: Tensor) -> FrameState:
    """New frames [B, T, ...] that leave the old plan [B, n, ...] gradually; `known` (a 0-d 0 or 1): whether there is one."""
    n = len(weight)
    w = 1 - known * (1 - weight)

    def mix(a: Tensor, b: Tensor) -> Tensor:
        return torch.lerp(a, b[:, :n], w.view(-1, *(1,) * (b.ndim - 2)))

    first = FrameState(
        mix(old.root_pos, new.root_pos),
        _orthogonal(mix(old.root_rot, new.root_rot)),
        _orthogonal(mix(old.joint_rot, new.joint_rot)),
        mix(old.contacts, new.contacts),
    )
    return FrameState(*(torch.cat([a, b[:, n:]], 1) for a, b in zip(first, new, strict=True)))


def _orthogonal(m: Tensor) -> Tensor:
    return rotation.sixd_to_matrix(torch.cat([m[..., 0], m[..., 1]], -1))
