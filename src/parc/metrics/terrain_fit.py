"""How a motion sits on its terrain: penetration (TPL), missed contact (TCL), and the same per frame.

    TPL = sum_t sum_p depth(p)                      over the surface points, m; a point off the map counts its distance to the map
    TCL = sum_t sum_b c_b min_{p in b} max(0, sd(p))   over the bodies, m; c_b is the raw label in [0, 1]

This TCL is the released code's, which made the paper's tables; the paper's formula has |sd(p)| (`absolute`).
Both grow with the clip's length; `pen_mm` and `pen_frames` do not.
"""

import torch
from torch import Tensor

from parc.character.body_surface import min_per_body
from parc.metrics.clip_batch import ClipBatch

DEEP = 0.02
"""m: a frame deeper than this is visibly wrong"""
NEAR = 0.02
"""m: a body closer than this touches"""


def penetration_loss(batch: ClipBatch) -> Tensor:
    """TPL, [N], m summed over points and frames."""
    return (batch.depth.sum(-1) * batch.valid).sum(1)


def contact_loss(batch: ClipBatch, absolute: bool = False) -> Tensor:
    """TCL, [N], m summed over bodies and frames; `absolute`: a labelled body inside the terrain misses its contact too."""
    distance = batch.body_clearance
    if absolute:
        distance = min_per_body(batch.surface, batch.point_clearance + batch.depth)
    return ((batch.contacts * distance).sum(-1) * batch.valid).sum(1)


def penetration_mm(batch: ClipBatch) -> Tensor:
    """Deepest point of each frame, mean over frames, [N], mm."""
    deepest = batch.depth.amax(-1)
    return 1000 * (deepest * batch.valid).sum(1) / batch.frames


def deep_frames(batch: ClipBatch) -> Tensor:
    """Share of frames with a point deeper than 2 cm, [N], %."""
    return 100 * ((batch.depth.amax(-1) > DEEP) & batch.valid).sum(1) / batch.frames


def contact_f1(batch: ClipBatch, bodies: tuple[int, ...]) -> Tensor:
    """F1 of the labels (> 0.5) of some bodies against geometry (closer than 2 cm), [N]; NaN where neither ever touches, and for
    clips without any label, which say nothing about contact rather than that there is none."""
    at = torch.tensor(bodies, device=batch.frames.device, dtype=torch.long)
    valid = batch.valid.unsqueeze(-1)
    label = (batch.contacts.index_select(-1, at) > 0.5) & valid
    touch = (batch.body_clearance.index_select(-1, at) < NEAR) & valid
    total = label.sum((1, 2)) + touch.sum((1, 2))
    f1 = 2.0 * (label & touch).sum((1, 2)) / total.clamp_min(1)
    labelled = (batch.contacts.amax(-1) * batch.valid).amax(1) > 0
    return torch.where((total > 0) & labelled, f1, torch.full_like(f1, float("nan")))
