"""Left and right: the reflection of a pose in the plane y = 0.

A position keeps x and z and negates y; a rotation (x, y, z, w) becomes (-x, y, -z, w); each body takes the
values of its mirror image. Reflecting twice is the identity.
"""

from functools import cache

import torch
from torch import Tensor

from parc.character import rotation
from parc.character.character import Character
from parc.errors import CharacterError


def mirror_bodies(character: Character) -> tuple[int, ...]:
    """Mirror image of each body; a clear error for a character without one."""
    if character.mirror_of is None:
        raise CharacterError(f"character '{character.name}' has no left-right symmetry, so it cannot be mirrored")
    return character.mirror_of


def mirror_positions(pos: Tensor) -> Tensor:
    """Points or free vectors [..., 3]."""
    x, y, z = pos.unbind(-1)
    return torch.stack([x, -y, z], -1)


def mirror_joint_rotations(character: Character, joint_rot: Tensor) -> Tensor:
    """Joint quaternions [..., B-1, 4], bodies swapped and each reflected."""
    return rotation.reflect(joint_rot.index_select(-2, _swap(character, joint_rot.device)[1:] - 1))


def mirror_contacts(character: Character, contacts: Tensor) -> Tensor:
    """One value a body [..., B], bodies swapped."""
    return contacts.index_select(-1, _swap(character, contacts.device))


@cache  # captured graphs read these tensors, so none may be dropped
def _swap(character: Character, device: torch.device) -> Tensor:
    with torch.inference_mode(False):
        return torch.tensor(mirror_bodies(character), device=device)
