"""Forward kinematics, batched and differentiable, one step for each level of the tree.

    p_b = p_parent + R_parent o_b        R_b = R_parent Q_b

Quaternions for motion, matrices for networks that predict 6D rotations: the same walk with another product.
Bodies are laid out level by level while walking and put back into the character's order at the end; the index
tensors for that live on the device (`_Levels`), so nothing is copied from the host inside a captured CUDA graph.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from parc.character import rotation
from parc.character.character import Character
from parc.errors import CharacterError


class BodyPose(NamedTuple):
    """World positions [..., B, 3] and rotations [..., B, 4] (xyzw) or [..., B, 3, 3] of every body's origin."""

    pos: Tensor
    rot: Tensor


class _Levels(NamedTuple):
    parents: list[Tensor]
    """for each level, where its bodies' parents stand in level order"""
    joints: list[Tensor]
    """for each level, the rows of its bodies in the joint rotations"""
    offsets: list[Tensor]
    """for each level, [n, 3] offsets from the parents"""
    back: Tensor
    """level order to the character's order"""


@lru_cache(maxsize=64)
def _levels(character: Character, device: torch.device, dtype: torch.dtype) -> _Levels:
    order = [0, *(b for level in character.levels for b in level)]
    place = {body: i for i, body in enumerate(order)}

    def index(values: list[int]) -> Tensor:
        return torch.tensor(values, device=device)

    def vectors(values: list[tuple[float, float, float]]) -> Tensor:
        return torch.tensor(values, device=device, dtype=dtype)

    with torch.inference_mode(False):  # the cache outlives the caller's mode, and inference tensors cannot take part in autograd
        return _Levels(
            parents=[index([place[character.parents[b]] for b in level]) for level in character.levels],
            joints=[index([b - 1 for b in level]) for level in character.levels],
            offsets=[vectors([character.bodies[b].offset for b in level]) for level in character.levels],
            back=index([place[b] for b in range(len(character))]),
        )


def forward_kinematics(character: Character, root_pos: Tensor, root_rot: Tensor, joint_rot: Tensor) -> BodyPose:
    """Root position [..., 3], root quaternion [..., 4], joint quaternions [..., B-1, 4] (xyzw) to body poses."""
    return _walk(character, root_pos, root_rot, joint_rot, -2, rotation.multiply, rotation.rotate)


def forward_kinematics_matrix(character: Character, root_pos: Tensor, root_rot: Tensor, joint_rot: Tensor) -> BodyPose:
    """The same for rotation matrices [..., 3, 3] and [..., B-1, 3, 3]."""
    return _walk(character, root_pos, root_rot, joint_rot, -3, rotation.matrix_multiply, rotation.matrix_rotate)


def _walk(
    character: Character,
    root_pos: Tensor,
    root_rot: Tensor,
    joint_rot: Tensor,
    body_dim: int,
    compose: Callable[[Tensor, Tensor], Tensor],
    apply: Callable[[Tensor, Tensor], Tensor],
) -> BodyPose:
    if joint_rot.shape[body_dim] != character.num_joints:
        raise CharacterError(
            f"rotations for {joint_rot.shape[body_dim]} joints given, character '{character.name}' has {character.num_joints}"
        )
    levels = _levels(character, root_pos.device, root_pos.dtype)
    pos, rot = root_pos.unsqueeze(-2), root_rot.unsqueeze(body_dim)
    for parents, joints, offsets in zip(levels.parents, levels.joints, levels.offsets, strict=True):
        parent_rot = rot.index_select(body_dim, parents)
        pos = torch.cat([pos, pos.index_select(-2, parents) + apply(parent_rot, offsets)], -2)
        rot = torch.cat([rot, compose(parent_rot, joint_rot.index_select(body_dim, joints))], body_dim)
    return BodyPose(pos.index_select(-2, levels.back), rot.index_select(body_dim, levels.back))
