"""Legs and arms of a character: the chains of bodies that end in its feet and hands, found from its tree.

The origin of a body is the joint it turns about: the thigh's is the hip, the shin's the knee, the foot's the ankle. A joint made
of several bodies, as robots have, counts once: going up from a foot, the knee is the next origin more than `APART` away.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from parc.character.character import Character
from parc.character.find_symmetry import extent

APART = 0.1
"""m: origins nearer to each other belong to one joint"""
Pair = tuple[int, int]
"""bodies of the left and of the right side"""


class Limbs(NamedTuple):
    """Bodies whose origins are the joints of the four limbs, left before right."""

    hip: Pair
    knee: Pair
    ankle: Pair
    shoulder: Pair
    elbow: Pair
    hand: Pair
    head: int
    """the body named so, or else the one that carries the left shoulder"""
    sole: Tensor
    """[2, 4, 3] m, lowest corners of each foot in its own frame: heel right and left, toe right and left"""


@cache  # captured graphs read the tensor, so none may be dropped
def limbs_of(character: Character, device: torch.device | str = "cpu") -> Limbs | None:
    """None for a character without two legs and two arms that bend."""
    hands = tuple(b for b in character.key_bodies if b not in character.feet)
    legs, arms = _pair_of_chains(character, character.feet), _pair_of_chains(character, hands)
    if legs is None or arms is None:
        return None
    names = character.names
    head = names.index("head") if "head" in names else character.parents[arms[0][0]]
    sole = torch.tensor([_sole(character, leg[2]) for leg in legs], device=device, dtype=torch.float32)
    hip, knee, ankle = zip(*legs, strict=True)
    shoulder, elbow, hand = zip(*arms, strict=True)
    return Limbs(hip, knee, ankle, shoulder, elbow, hand, head, sole)


def _pair_of_chains(character: Character, ends: tuple[int, ...]) -> tuple[tuple[int, int, int], tuple[int, int, int]] | None:
    """(upper, middle, end) of the left and of the right limb; left is +y at rest."""
    if len(ends) != 2:
        return None
    place = _rest(character)
    left, right = sorted(ends, key=lambda b: -place[b, 1])
    chains = [_chain(character, place, end) for end in (left, right)]
    if chains[0] is None or chains[1] is None or not place[left, 1] > place[right, 1]:
        return None
    return chains[0], chains[1]


def _chain(character: Character, place: np.ndarray, end: int) -> tuple[int, int, int] | None:
    middle = _next_joint(character, place, end)
    upper = _next_joint(character, place, middle)
    return (upper, middle, end) if upper > 0 else None


def _next_joint(character: Character, place: np.ndarray, body: int) -> int:
    """The nearest ancestor whose origin is apart from the body's; 0 or less where none is."""
    at = character.parents[body] if body > 0 else -1
    while at > 0 and np.linalg.norm(place[at] - place[body]) < APART:
        at = character.parents[at]
    return at


def _rest(character: Character) -> np.ndarray:
    """[B, 3] origins at rest."""
    place = np.zeros((character.num_bodies, 3))
    for k, body in enumerate(character.bodies[1:], 1):
        place[k] = place[body.parent] + body.offset
    return place


def _sole(character: Character, foot: int) -> list[tuple[float, float, float]]:
    (x0, y0, z), (x1, y1, _) = extent(character.bodies[foot])
    return [(x0, y0, z), (x0, y1, z), (x1, y0, z), (x1, y1, z)]
