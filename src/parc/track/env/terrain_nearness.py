"""Which bodies of a reference are at the ground, whatever their labels say.

Labels say where a body *stands*: hands and feet that bear weight and do not move. A back that rolls over the floor, a shin that
brushes an edge are not labelled, and yet the reference cannot be followed without touching there. Such contacts are neither
asked for nor held against the policy.
"""

import torch
from torch import Tensor

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.metrics.clip_batch import ClipBatch, groups


def near_ground(character: Character, clips: list[Clip], distance: float, device: torch.device | str = "cpu") -> list[Tensor]:
    """Bool [T, B] of each clip, on the CPU: bodies nearer to the terrain than `distance` (m)."""
    result: list[Tensor] = []
    for group in groups(clips):
        near = (ClipBatch.stack(group, character, device).body_clearance < distance).cpu()
        result += [rows[: len(c.motion)] for rows, c in zip(near, group, strict=True)]
    return result
