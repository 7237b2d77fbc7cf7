"""The parts of a body that a contact can hold: heel and toe edge of each sole, and each hand."""

from typing import Literal

import torch
from torch import Tensor

from parc.character.character import Character
from parc.character.limb_chains import limbs_of
from parc.errors import CharacterError

Side = Literal["left", "right"]
Part = Literal["heel", "toe", "hand"]
SIDES: tuple[Side, Side] = ("left", "right")
_KINDS: tuple[Part, ...] = ("heel", "toe", "hand")
PARTS: tuple[tuple[Side, Part], ...] = tuple((side, part) for part in _KINDS for side in SIDES)
"""in the order of tensors [..., 6]"""


def part_bodies(character: Character) -> tuple[int, ...]:
    """The body that each of the `PARTS` is on."""
    limbs = limbs_of(character)
    if limbs is None:
        raise CharacterError(f"character '{character.name}' has no two legs and two arms that could be held")
    return (*limbs.ankle, *limbs.ankle, *limbs.hand)


def part_points(sole: Tensor) -> Tensor:
    """[6, 3] middle of each part in its body's frame, from the corners [4, 3] of a sole, heel first."""
    heel, toe = sole[:2].mean(0), sole[2:].mean(0)
    return torch.stack([{"heel": heel, "toe": toe, "hand": torch.zeros_like(heel)}[part] for _, part in PARTS])


def held_labels(character: Character, held: Tensor) -> Tensor:
    """Contact labels [..., B] of held parts [..., 6]."""
    labels = held.new_zeros(*held.shape[:-1], len(character))
    for k, body in enumerate(part_bodies(character)):
        labels[..., body] = torch.maximum(labels[..., body], held[..., k])
    return labels
