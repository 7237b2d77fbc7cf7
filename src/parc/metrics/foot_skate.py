"""Skating: a body that is labelled in contact and yet slides.

The contact point is the slowest of the body's points that are within 2 cm of its nearest one, so a foot that rolls over heel
and toe does not skate; it does if even that point moves faster than 0.2 m/s while the label says contact in both frames.
"""

import torch
from torch import Tensor

from parc.metrics.clip_batch import ClipBatch

FAST = 0.2
"""m/s"""
SOLE = 0.02
"""m: points this much farther from the terrain than the body's nearest one still count as its contact patch"""


def skate(batch: ClipBatch, bodies: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """(share of contact frames that slide in %, mean sliding speed in contact in m/s), [N] each, over the bodies given.

    NaN for a clip in which none of them is ever in contact for two frames.
    """
    rows = batch.surface.by_body[list(bodies)]
    at = rows.flatten()
    shape = (len(bodies), rows.shape[1])
    points = batch.points.index_select(-2, at)
    speed = ((points[:, 1:] - points[:, :-1]).norm(dim=-1) * batch.fps).unflatten(-1, shape)
    near = batch.point_clearance.index_select(-1, at)[:, 1:].unflatten(-1, shape)
    patch = near <= near.amin(-1, keepdim=True) + SOLE
    slide = torch.where(patch, speed, float("inf")).amin(-1)
    label = batch.contacts[..., list(bodies)] > 0.5
    held = label[:, 1:] & label[:, :-1] & batch.valid[:, 1:].unsqueeze(-1)
    count = held.sum((1, 2))
    share = 100 * ((slide > FAST) & held).sum((1, 2)) / count.clamp_min(1)
    mean = torch.where(held, slide, 0.0).sum((1, 2)) / count.clamp_min(1)
    nothing = torch.full_like(share, float("nan"))
    return torch.where(count > 0, share, nothing), torch.where(count > 0, mean, nothing)
