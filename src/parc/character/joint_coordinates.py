"""Joint rotations to coordinates and back: the DoF vector of motors, DeepMimic frames and MuJoCo.

A ball joint's coordinates are its exponential map, a hinge's its angle, and two perpendicular hinges in sequence give two
angles with Q = R(axis1, a1) R(axis2, a2). Bodies with a fixed joint have none. Joints of one kind are converted
together; the index tensors for that live on the device, so nothing is copied from the host inside a captured CUDA graph.
"""

import math
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

from parc.character import rotation
from parc.character.character import Character


class _Kinds(NamedTuple):
    """Rows of the joint rotations by kind, the axes of hinges, and how to put what was computed by kind back into order."""

    fixed: Tensor
    balls: Tensor
    hinges: Tensor
    hinge_axes: Tensor
    """[n, 3]"""
    pairs: Tensor
    pair_axes: Tensor
    """[n, 2, 3]"""
    dof_by_kind: Tensor
    """DoF of balls, hinges, pairs in this order: their places in the DoF vector"""
    dof_back: Tensor
    """inverse of `dof_by_kind`"""
    joint_back: Tensor
    """joints of balls, hinges, pairs, fixed in this order back to the character's order"""


@cache  # captured graphs read these tensors, so none may be dropped
def _kinds(character: Character, device: torch.device, dtype: torch.dtype) -> _Kinds:
    joints = [b.joint for b in character.bodies[1:]]
    fixed, hinges, pairs, balls = ([row for row, j in enumerate(joints) if j.dof == dof] for dof in range(4))
    dof_by_kind = [character.dof_start[row + 1] + k for row in balls + hinges + pairs for k in range(joints[row].dof)]
    by_kind = balls + hinges + pairs + fixed

    def index(values: list[int]) -> Tensor:
        return torch.tensor(values, device=device, dtype=torch.long)

    def axes(rows: list[int], *shape: int) -> Tensor:
        return torch.tensor([joints[row].axes for row in rows], device=device, dtype=dtype).reshape(len(rows), *shape)

    with torch.inference_mode(False):  # the cache outlives the caller's mode, and inference tensors cannot take part in autograd
        return _Kinds(
            fixed=index(fixed),
            balls=index(balls),
            hinges=index(hinges),
            hinge_axes=axes(hinges, 3),
            pairs=index(pairs),
            pair_axes=axes(pairs, 2, 3),
            dof_by_kind=index(dof_by_kind),
            dof_back=index(sorted(range(len(dof_by_kind)), key=dof_by_kind.__getitem__)),
            joint_back=index(sorted(range(len(by_kind)), key=by_kind.__getitem__)),
        )


def joints_to_dof(character: Character, joint_rot: Tensor) -> Tensor:
    """Joint quaternions [..., B-1, 4] (xyzw) to coordinates [..., D]; turns off a hinge's axis are dropped."""
    kinds = _kinds(character, joint_rot.device, joint_rot.dtype)
    parts = [
        rotation.to_exp(joint_rot.index_select(-2, kinds.balls)).flatten(-2),
        rotation.to_angle_about(joint_rot.index_select(-2, kinds.hinges), kinds.hinge_axes),
    ]
    if len(kinds.pairs):
        parts.append(_two_angles(joint_rot.index_select(-2, kinds.pairs), kinds.pair_axes).flatten(-2))
    return torch.cat(parts, -1).index_select(-1, kinds.dof_back)


def dof_to_joints(character: Character, dof: Tensor) -> Tensor:
    """Coordinates [..., D] to joint quaternions [..., B-1, 4] (xyzw)."""
    kinds = _kinds(character, dof.device, dof.dtype)
    balls, hinges, pairs = len(kinds.balls), len(kinds.hinges), len(kinds.pairs)
    exp, angles, angle_pairs = dof.index_select(-1, kinds.dof_by_kind).split([3 * balls, hinges, 2 * pairs], -1)
    parts = [
        rotation.from_exp(exp.unflatten(-1, (balls, 3))),
        rotation.from_axis_angle(kinds.hinge_axes, angles),
    ]
    if pairs:
        first, second = angle_pairs.unflatten(-1, (pairs, 2)).unbind(-1)
        a, b = kinds.pair_axes.unbind(-2)
        parts.append(rotation.multiply(rotation.from_axis_angle(a, first), rotation.from_axis_angle(b, second)))
    if len(kinds.fixed):
        parts.append(rotation.identity((*dof.shape[:-1], len(kinds.fixed)), device=dof.device, dtype=dof.dtype))
    return torch.cat(parts, -2).index_select(-2, kinds.joint_back)


def beyond_limits(character: Character, joint_rot: Tensor) -> Tensor:
    """By how much each joint coordinate is outside of its range, [..., D] rad; 0 inside, and for joints without one.

    Of the joint rotations [..., B-1, 4], as in `joints_to_dof`. A joint whose limits are equal has no range.
    """
    dof, (lower, upper) = joints_to_dof(character, joint_rot), _limits(character, joint_rot.device, joint_rot.dtype)
    return (lower - dof).clamp_min(0) + (dof - upper).clamp_min(0)


@cache  # captured graphs read these tensors, so none may be dropped
def _limits(character: Character, device: torch.device, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """[D] each"""
    ranges = [
        (a, b) if a < b else (-math.inf, math.inf)
        for j in character.bodies
        for a, b in zip(j.joint.lower, j.joint.upper, strict=True)
    ]
    with torch.inference_mode(False):
        lower, upper = torch.tensor(ranges, device=device, dtype=dtype).reshape(-1, 2).unbind(-1)
        return lower, upper


def _two_angles(q: Tensor, axes: Tensor) -> Tensor:
    """Angles [..., n, 2] about two perpendicular axes a, b [n, 2, 3] with q = R(a, s) R(b, t).

    b is fixed by R(b, t), so q b = R(a, s) b: s is the angle of the image of b about a; what is left is R(b, t).
    """
    a, b = axes.unbind(-2)
    image = rotation.rotate(q, b)
    c = torch.linalg.cross(a, b, dim=-1)
    first = torch.atan2((image * c).sum(-1), (image * b).sum(-1))
    rest = rotation.multiply(rotation.conjugate(rotation.from_axis_angle(a, first)), q)
    return torch.stack([first, rotation.to_angle_about(rest, b)], -1)
