"""Forward kinematics, batched and differentiable, one step for each level of the tree.

    p_b = p_parent + R_parent o_b        R_b = R_parent Q_b

Quaternions for motion, matrices for networks that predict 6D rotations: the same walk with another product.
A level's bodies are computed from those of the level above, side by side, and all are put into the character's order at the
end; the index tensors for that live on the device (`_Levels`), so nothing is copied from the host inside a captured CUDA graph.

For float32 matrices on CUDA, where Triton is installed, walk and gradient are one kernel each (`kinematics_kernel`) instead of
some 70 and 250 operations: an operator of its own (`parc::kinematics`), which compilers leave as it is.
"""

import importlib.util
from collections.abc import Callable
from functools import cache, lru_cache
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
    """for each level, where its bodies' parents stand in the level above"""
    joints: list[Tensor]
    """for each level, the rows of its bodies in the joint rotations"""
    offsets: list[Tensor]
    """for each level, [n, 3] offsets from the parents"""
    back: Tensor
    """level order to the character's order"""


@cache  # captured graphs read these tensors, so none may be dropped
def _levels(character: Character, device: torch.device, dtype: torch.dtype) -> _Levels:
    above = [(0,), *character.levels]
    order = [body for level in above for body in level]

    def index(values: list[int]) -> Tensor:
        return torch.tensor(values, device=device)

    def vectors(values: list[tuple[float, float, float]]) -> Tensor:
        return torch.tensor(values, device=device, dtype=dtype)

    with torch.inference_mode(False):  # the cache outlives the caller's mode, and inference tensors cannot take part in autograd
        return _Levels(
            parents=[
                index([up.index(character.parents[b]) for b in level]) for up, level in zip(above, character.levels, strict=False)
            ],
            joints=[index([b - 1 for b in level]) for level in character.levels],
            offsets=[vectors([character.bodies[b].offset for b in level]) for level in character.levels],
            back=index([order.index(b) for b in range(len(character))]),
        )


def forward_kinematics(character: Character, root_pos: Tensor, root_rot: Tensor, joint_rot: Tensor) -> BodyPose:
    """Root position [..., 3], root quaternion [..., 4], joint quaternions [..., B-1, 4] (xyzw) to body poses."""
    return _walk(character, root_pos, root_rot, joint_rot, -2, rotation.multiply, rotation.rotate)


def forward_kinematics_matrix(character: Character, root_pos: Tensor, root_rot: Tensor, joint_rot: Tensor) -> BodyPose:
    """The same for rotation matrices [..., 3, 3] and [..., B-1, 3, 3]."""
    if _kernel_applies(root_pos, joint_rot):
        _check_joints(character, joint_rot.shape[-3])
        batch = root_pos.shape[:-1]
        tree = _tree(character, root_pos.device)
        pos, rot = walk_matrices(
            root_pos.reshape(-1, 3), root_rot.reshape(-1, 3, 3), joint_rot.reshape(-1, *joint_rot.shape[-3:]), *tree
        )
        return BodyPose(pos.view(*batch, -1, 3), rot.view(*batch, -1, 3, 3))
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
    _check_joints(character, joint_rot.shape[body_dim])
    levels = _levels(character, root_pos.device, root_pos.dtype)
    pos, rot = [root_pos.unsqueeze(-2)], [root_rot.unsqueeze(body_dim)]
    for parents, joints, offsets in zip(levels.parents, levels.joints, levels.offsets, strict=True):
        parent_rot = rot[-1].index_select(body_dim, parents)
        pos.append(pos[-1].index_select(-2, parents) + apply(parent_rot, offsets))
        rot.append(compose(parent_rot, joint_rot.index_select(body_dim, joints)))
    return BodyPose(
        torch.cat(pos, -2).index_select(-2, levels.back), torch.cat(rot, body_dim).index_select(body_dim, levels.back)
    )


def _check_joints(character: Character, given: int) -> None:
    if given != character.num_joints:
        raise CharacterError(f"rotations for {given} joints given, character '{character.name}' has {character.num_joints}")


@torch.library.custom_op("parc::kinematics", mutates_args=())
def walk_matrices(
    root_pos: Tensor, root_rot: Tensor, joint_rot: Tensor, parents: Tensor, offsets: Tensor
) -> tuple[Tensor, Tensor]:
    """Body positions [M, B, 3] and rotations [M, B, 3, 3] of roots [M, 3], [M, 3, 3] and joints [M, B-1, 3, 3].

    parents [B] int32, each before its children, and offsets [B, 3] describe the tree; the root's are not read.
    """
    given = root_pos.contiguous(), root_rot.contiguous(), joint_rot.contiguous()
    if root_pos.is_cuda:
        from parc.character.kinematics_kernel import walk_on_gpu

        return walk_on_gpu(*given, parents, offsets)
    return _walk_plainly(*given, parents, offsets)


@walk_matrices.register_fake
def _(root_pos: Tensor, root_rot: Tensor, joint_rot: Tensor, parents: Tensor, offsets: Tensor) -> tuple[Tensor, Tensor]:
    frames, bodies = root_pos.shape[0], parents.shape[0]
    return root_pos.new_empty(frames, bodies, 3), root_pos.new_empty(frames, bodies, 3, 3)


@torch.library.custom_op("parc::kinematics_backward", mutates_args=())
def _walk_back(
    grad_pos: Tensor, grad_rot: Tensor, joint_rot: Tensor, rot: Tensor, parents: Tensor, offsets: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of what `walk_matrices` was given, from those of its results and the rotations it found."""
    given = grad_pos.contiguous(), grad_rot.contiguous(), joint_rot.contiguous(), rot.contiguous()
    if grad_pos.is_cuda:
        from parc.character.kinematics_kernel import walk_back_on_gpu

        return walk_back_on_gpu(*given, parents, offsets)
    return _walk_back_plainly(*given, parents, offsets)


@_walk_back.register_fake
def _(
    grad_pos: Tensor, grad_rot: Tensor, joint_rot: Tensor, rot: Tensor, parents: Tensor, offsets: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    return grad_pos.new_empty(grad_pos.shape[0], 3), grad_pos.new_empty(grad_pos.shape[0], 3, 3), torch.empty_like(joint_rot)


def _keep(ctx, inputs: tuple, output: tuple[Tensor, Tensor]) -> None:
    ctx.save_for_backward(inputs[2], output[1], inputs[3], inputs[4])


def _gradient(ctx, grad_pos: Tensor, grad_rot: Tensor) -> tuple[Tensor | None, ...]:
    return (*_walk_back(grad_pos, grad_rot, *ctx.saved_tensors), None, None)


walk_matrices.register_autograd(_gradient, setup_context=_keep)


def _walk_plainly(
    root_pos: Tensor, root_rot: Tensor, joint_rot: Tensor, parents: Tensor, offsets: Tensor
) -> tuple[Tensor, Tensor]:
    """Body after body in plain torch, on any device."""
    pos, rot = [root_pos], [root_rot]
    for b, parent in enumerate(parents.tolist()[1:], 1):
        pos.append(pos[parent] + rotation.matrix_rotate(rot[parent], offsets[b]))
        rot.append(rotation.matrix_multiply(rot[parent], joint_rot[:, b - 1]))
    return torch.stack(pos, 1), torch.stack(rot, 1)


def _walk_back_plainly(
    grad_pos: Tensor, grad_rot: Tensor, joint_rot: Tensor, rot: Tensor, parents: Tensor, offsets: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """From the leaves to the root; the formulas stand in `kinematics_kernel`."""
    pos, turn, joint = grad_pos.clone(), grad_rot.clone(), torch.empty_like(joint_rot)
    for b, parent in reversed(list(enumerate(parents.tolist()))[1:]):
        joint[:, b - 1] = rotation.matrix_multiply(rot[:, parent].mT, turn[:, b])
        turn[:, parent] += rotation.matrix_multiply(turn[:, b], joint_rot[:, b - 1].mT) + pos[:, b, :, None] * offsets[b]
        pos[:, parent] += pos[:, b]
    return pos[:, 0].clone(), turn[:, 0].clone(), joint


@cache  # captured graphs read these tensors, so none may be dropped
def _tree(character: Character, device: torch.device) -> tuple[Tensor, Tensor]:
    with torch.inference_mode(False):
        parents = torch.tensor(character.parents, dtype=torch.int32, device=device)
        return parents, torch.tensor([b.offset for b in character.bodies], dtype=torch.float32, device=device)


def _kernel_applies(root_pos: Tensor, joint_rot: Tensor) -> bool:
    return root_pos.is_cuda and root_pos.dtype == torch.float32 and joint_rot.numel() < 1 << 30 and _has_triton()


@lru_cache(maxsize=1)
def _has_triton() -> bool:
    return importlib.util.find_spec("triton") is not None
