"""How upright a body stands: the bend of its knees and the height of its pelvis over its feet.

People on level ground bend the knee they stand on by 20 to 30 degrees. Scores that pay for progress and for survival alone prefer
a low quick step, so whatever chooses between motions of a character may ask for this price too.

Lengths that say how a body stands, crouches or lies are told in metres of the humanoid (how low a pelvis is down, how high a root
is over a path) and multiplied by `size_of`, the stature beside the humanoid's, which is exactly 1 for it.
"""

from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

from parc.character.character import Character
from parc.character.find_symmetry import extent
from parc.character.humanoid import humanoid
from parc.character.kinematics import BodyPose
from parc.character.limb_chains import limbs_of


class _Columns(NamedTuple):
    """Where to look, as tensors on a device: captured code never copies a Python list."""

    hip: Tensor
    knee: Tensor
    ankle: Tensor
    """[2] left before right"""
    feet: Tensor
    """[F]"""
    others: Tensor
    """[bodies - F]"""


@cache  # captured graphs read these tensors, so none may be dropped
def _columns(character: Character, device: torch.device) -> _Columns | None:
    """None for a character without two legs and two arms."""
    limbs = limbs_of(character)
    if limbs is None:
        return None
    others = [b for b in range(len(character)) if b not in character.feet]
    lists = (limbs.hip, limbs.knee, limbs.ankle, character.feet, others)
    with torch.inference_mode(False):  # the cache outlives the caller's mode
        return _Columns(*(torch.tensor(columns, dtype=torch.long, device=device) for columns in lists))


def bend(upper: Tensor, middle: Tensor, lower: Tensor) -> Tensor:
    """[...] rad by which the limb through three joints [..., 3] is bent; 0 is straight."""
    first, second = torch.nn.functional.normalize(middle - upper, dim=-1), torch.nn.functional.normalize(lower - middle, dim=-1)
    return torch.atan2(torch.linalg.cross(first, second).norm(dim=-1), (first * second).sum(-1))


def crouch(character: Character, pose: BodyPose, contacts: Tensor, allowed: float) -> Tensor:
    """[...] rad that the straighter knee of each pose [..., bodies] is bent beyond `allowed`.

    0 where no foot touches (jumps) or a body that is no foot touches (climbs), by labels [..., bodies], and for a character
    without two legs.
    """
    at = _columns(character, contacts.device)
    if at is None:
        return contacts.new_zeros(contacts.shape[:-1])
    knees = bend(*(pose.pos.index_select(-2, joint) for joint in (at.hip, at.knee, at.ankle)))
    on_feet = contacts.index_select(-1, at.feet).amax(-1)
    by_others = contacts.index_select(-1, at.others).amax(-1)
    return (knees.amin(-1) - allowed).clamp_min(0.0) * (on_feet * (1.0 - by_others)).clamp(0.0, 1.0)


def stature(character: Character) -> float:
    """m from the lowest point up to the root, at rest."""
    heights = [0.0]
    for body in character.bodies[1:]:
        heights.append(heights[body.parent] + body.offset[2])
    return -min(height + extent(body)[0][2] for height, body in zip(heights, character.bodies, strict=True))


@cache
def size_of(character: Character) -> float:
    """The stature in those of the humanoid; a root that is the lowest point of its body says nothing, and counts as 1."""
    own = stature(character)
    return own / stature(humanoid()) if own > 0.02 else 1.0
