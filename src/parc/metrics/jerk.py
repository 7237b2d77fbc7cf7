"""Jerk: third forward difference of body positions, and the paper's percentage of high jerk frames (%HJF).

    jerk_t = (p_{t+3} - 3 p_{t+2} + 3 p_{t+1} - p_t) fps^3

The released code counts (frame, body) pairs over the limit per frame (`hjf_code`); the paper's text counts frames with any
body over it (`hjf_paper`). Both divide by T - 3. A clip of fewer than four frames has no jerk: 0.
"""

import torch
from torch import Tensor

from parc.metrics.clip_batch import ClipBatch

LIMIT = 11666.3906
"""m/s3: the largest jerk in the paper's motion capture"""


def jerk(pos: Tensor, fps: float) -> Tensor:
    """Magnitude of the jerk of points [..., T, B, 3] -> [..., T-3, B], m/s3."""
    third = pos[..., 3:, :, :] - 3 * pos[..., 2:-1, :, :] + 3 * pos[..., 1:-2, :, :] - pos[..., :-3, :, :]
    return third.norm(dim=-1) * fps**3


def _body_jerk(batch: ClipBatch) -> tuple[Tensor, Tensor]:
    """Jerk [N, T-3, B] and which of its frames are real [N, T-3]."""
    return jerk(batch.pose.pos, batch.fps), batch.valid[:, 3:]


def max_jerk(batch: ClipBatch) -> Tensor:
    """[N], m/s3"""
    values, valid = _body_jerk(batch)
    if values.shape[1] == 0:
        return values.new_zeros(len(batch))
    return torch.where(valid.unsqueeze(-1), values, 0.0).flatten(1).amax(1)


def high_jerk_frames(batch: ClipBatch, limit: float = LIMIT) -> tuple[Tensor, Tensor]:
    """(hjf_code, hjf_paper), [N] each, %."""
    values, valid = _body_jerk(batch)
    over = (values > limit) & valid.unsqueeze(-1)
    spans = (batch.frames - 3).clamp_min(1)
    return 100 * over.sum((1, 2)) / spans, 100 * over.any(-1).sum(1) / spans


def seam_jerk_ratio(batch: ClipBatch, period: int, first: int) -> Tensor:
    """Mean jerk across the seams of a windowed rollout over the mean jerk elsewhere, [N]; 1 means seams cannot be told.

    Frames first, first + period, ... are the first new frames of a window; a third difference starting at t crosses the
    seam before frame f if t < f <= t + 3.
    """
    values, valid = _body_jerk(batch)
    mean = values.mean(-1)
    start = torch.arange(mean.shape[1], device=mean.device)
    to_next_seam = (first - 1 - start) % period
    crossing = ((to_next_seam <= 2) & (start + 3 >= first)).unsqueeze(0) & valid
    inside = valid & ~crossing

    def average(mask: Tensor) -> Tensor:
        return (mean * mask).sum(1) / mask.sum(1).clamp_min(1)

    return average(crossing) / average(inside).clamp_min(1e-9)
