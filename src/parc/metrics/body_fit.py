"""How a motion fits the body itself: bodies inside of each other, joints turned beyond their ranges."""

import math

import torch
from torch import Tensor

from parc.character.joint_coordinates import beyond_limits
from parc.metrics.clip_batch import ClipBatch

DEEP = 0.01
"""m: bodies deeper than this in each other are visibly wrong"""
BEYOND = math.radians(5)
"""rad: joint coordinates farther than this outside of their ranges are no person's"""


def self_penetration_mm(batch: ClipBatch) -> Tensor:
    """Depth of the deepest pair of bodies in each other, mean over frames, [N], mm."""
    return 1000 * (deepest_pair(batch).clamp_min(0) * batch.valid).sum(1) / batch.frames


def self_penetration_frames(batch: ClipBatch) -> Tensor:
    """Share of frames with two bodies more than 1 cm inside each other, [N], %."""
    return 100 * ((deepest_pair(batch) > DEEP) & batch.valid).sum(1) / batch.frames


def joint_limit_frames(batch: ClipBatch) -> Tensor:
    """Share of frames with a joint coordinate more than 5 degrees outside of its range, [N], %."""
    beyond = (beyond_limits(batch.character, batch.joint_rot) > BEYOND).any(-1)
    return 100 * (beyond & batch.valid).sum(1) / batch.frames


def deepest_pair(batch: ClipBatch) -> Tensor:
    """Depth of the deepest pair of bodies in each frame, [N, T] m, negative where all are apart."""
    depth = batch.self_depth
    return depth.amax(-1) if depth.shape[-1] else torch.zeros_like(depth[..., :1]).sum(-1)
