"""What else touches: labels of bodies other than feet and hands, by geometry, once a motion stands on its terrain.

Knees in a crawl, the back in a roll. A body touches while it is within 8 mm of the terrain for two frames or more.
"""

from dataclasses import replace

import torch

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.metrics.batch import ClipBatch
from parc.mocap.anatomy import Anatomy
from parc.mocap.naming import SIDES

NEAR = 0.008
"""m"""


def label_touching(clip: Clip, character: Character) -> Clip:
    """The clip with labels of all bodies; those of feet and hands stay."""
    anatomy = Anatomy.of(character)
    near = ClipBatch.stack([clip], character).body_clearance[0] < NEAR
    before = torch.cat([torch.zeros_like(near[:1]), near[:-1]])
    after = torch.cat([near[1:], torch.zeros_like(near[:1])])
    labels = (near & (before | after)).float()
    ends = [anatomy.body[f"{side}_{part}"] for side in SIDES for part in ("ankle", "wrist")]
    labels[:, ends] = clip.motion.contacts[:, ends]
    return replace(clip, motion=replace(clip.motion, contacts=labels))
