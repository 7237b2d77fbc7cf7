"""Sets of motions against each other: Frechet distance on fixed features, and diversity.

The features are made by hand, not learned, so that numbers of different versions stay comparable. From every window of 15 frames
(half a second), in the heading frame of its middle frame: root height above the ground below it, root velocity, pelvis tilt,
body positions relative to the root at the first, middle and last frame, and contact labels averaged over the window.

    FD = |m1 - m2|^2 + tr(C1 + C2 - 2 (C1 C2)^(1/2))

Report it beside the data-against-data floor: the distance between two random halves of the same set.
"""

import numpy as np
import torch
from torch import Tensor

from parc.character import rotation
from parc.errors import MotionError
from parc.metrics.clip_batch import ClipBatch

WINDOW = 15
"""frames"""
STRIDE = 5
"""frames between the starts of windows"""


def window_features(batch: ClipBatch) -> Tensor:
    """[M, F] features of all windows of all clips; raises if no clip is long enough."""
    frames = batch.root_pos.shape[1]
    starts = torch.arange(0, max(frames - WINDOW + 1, 0), STRIDE, device=batch.frames.device)
    clip, slot = torch.nonzero(starts.unsqueeze(0) + WINDOW <= batch.frames.unsqueeze(1), as_tuple=True)
    if len(clip) == 0:
        raise MotionError(f"no clip has the {WINDOW} frames that the features need")
    first = starts[slot]
    middle, last = first + WINDOW // 2, first + WINDOW - 1
    turn = rotation.conjugate(rotation.heading(batch.root_rot[clip, middle]))
    root = batch.root_pos[clip, middle]
    ground = batch.terrains.select(clip).height_at(root[:, None, :2])[:, 0]
    velocity = (batch.root_pos[clip, last] - batch.root_pos[clip, first]) * (batch.fps / (WINDOW - 1))
    tilt = rotation.to_sixd(rotation.multiply(turn, batch.root_rot[clip, middle]))
    bodies = [
        rotation.rotate(turn.unsqueeze(1), batch.pose.pos[clip, at] - root.unsqueeze(1)).flatten(1)
        for at in (first, middle, last)
    ]
    frame = first.unsqueeze(1) + torch.arange(WINDOW, device=first.device)
    labels = batch.contacts[clip.unsqueeze(1), frame].mean(1)
    return torch.cat([(root[:, 2] - ground).unsqueeze(1), rotation.rotate(turn, velocity), tilt, *bodies, labels], 1)


def frechet_distance(a: Tensor, b: Tensor) -> float:
    """Between two sets of features [M, F], each scaled by the standard deviation of `a`."""
    scale = a.std(0).clamp_min(1e-3)
    x, y = (a / scale).double().cpu().numpy(), (b / scale).double().cpu().numpy()
    cx, cy = np.cov(x, rowvar=False), np.cov(y, rowvar=False)
    # tr (Cx Cy)^(1/2) by way of the symmetric Cx^(1/2) Cy Cx^(1/2): features that never vary make Cx Cy singular
    values, vectors = np.linalg.eigh(cx)
    half = (vectors * np.sqrt(values.clip(0))) @ vectors.T
    root = np.sqrt(np.linalg.eigvalsh(half @ cy @ half).clip(0)).sum()
    return float(((x.mean(0) - y.mean(0)) ** 2).sum() + np.trace(cx + cy) - 2 * root)


def diversity(features: Tensor, pairs: int = 1000, seed: int = 0, against: Tensor | None = None) -> float:
    """Mean distance between random pairs of windows, features scaled to unit deviation.

    A set scaled by its own deviations always looks about as diverse as any other. To compare sets give both the same `against`,
    whose deviations then count, none as less than their root mean square: what hardly varies there must not decide.
    """
    scale = features.std(0).clamp_min(1e-3) if against is None else deviations(against)
    pick = torch.randint(len(features), (2, pairs), generator=torch.Generator().manual_seed(seed)).to(features.device)
    return float(((features[pick[0]] - features[pick[1]]) / scale).norm(dim=-1).mean())


def deviations(features: Tensor) -> Tensor:
    """Of each feature [F], none less than their root mean square: what other sets are measured in."""
    deviation = features.std(0)
    return torch.maximum(deviation, deviation.square().mean().sqrt()).clamp_min(1e-3)
