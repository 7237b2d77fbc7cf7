"""What else touches: labels by geometry, once a motion stands on its terrain.

Knees in a crawl, the back in a roll, and the short touches of a hand that kinematics alone cannot tell from a pass. Bodies touch
while they are within 8 mm of the terrain for two frames or more; a hand must also not rush by: of the part of it that is near,
the slowest point is slower than 0.6 m/s. What was labelled a contact stays one, feet are left as they are, so are hands of clips
in which they are said not to touch: arms swing close to walls.
"""

from dataclasses import replace

import torch
from torch import Tensor

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.metrics.clip_batch import ClipBatch
from parc.mocap.subject.human_anatomy import Anatomy

NEAR = 0.008
"""m"""
PASSING = 0.6
"""m/s"""


def label_touching(clip: Clip, character: Character, hands: bool = False) -> Clip:
    """The clip with labels of all bodies; `hands` says whether hands touch anything."""
    labels = touching_labels(ClipBatch.stack([clip], character), torch.tensor([hands]))[0]
    return replace(clip, motion=replace(clip.motion, contacts=labels))


def touching_labels(batch: ClipBatch, used: Tensor) -> Tensor:
    """[N, T, B] labels of all bodies of clips side by side; `used` [N] bool: whether hands touch anything."""
    anatomy = Anatomy.of(batch.character)
    feet, hands = anatomy.feet, anatomy.hands
    near = (batch.body_clearance < NEAR) & batch.valid.unsqueeze(-1)
    near[..., hands] &= (_slowest(batch, hands) < PASSING) & used.to(near.device)[:, None, None]
    nothing = torch.zeros_like(near[:, :1])
    before, after = torch.cat([nothing, near[:, :-1]], 1), torch.cat([near[:, 1:], nothing], 1)
    labels = (near & (before | after)).float()
    labels[..., hands] = torch.maximum(labels[..., hands], batch.contacts[..., hands])
    labels[..., feet] = batch.contacts[..., feet]
    return labels


def _slowest(batch: ClipBatch, bodies: list[int]) -> Tensor:
    """[N, T, K] m/s of the slowest point near the terrain, the lower of its speeds from the frame before and to the frame after;
    infinite where none is near."""
    rows = batch.surface.by_body[bodies]
    points = batch.points.index_select(-2, rows.flatten()).unflatten(-2, rows.shape)
    steps = (points[:, 1:] - points[:, :-1]).norm(dim=-1) * batch.fps
    far = torch.full_like(points[:, :1, ..., 0], torch.inf)
    speed = torch.minimum(torch.cat([steps, far], 1), torch.cat([far, steps], 1))
    near = batch.point_clearance.index_select(-1, rows.flatten()).unflatten(-1, rows.shape) < NEAR
    return torch.where(near, speed, torch.inf).amin(-1)
