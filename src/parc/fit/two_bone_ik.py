"""Two-bone inverse kinematics: where a knee or elbow is, and the turns of a limb whose end comes to its place.

A limb of two bones of lengths a and b whose ends are r apart bends in a plane. From the way's start its middle joint is

    x = (r^2 + a^2 - b^2) / 2 r    along the way,        y = sqrt(a^2 - x^2)    beside it

`limb_bones` turns this into vectors in the world, `limb_angles` into angles in the plane. `bend_legs` gives joint rotations of a
character whose bones need not be at right angles to the hinge between them; only legs with a ball at the hip and a hinge at the
knee are bent.
"""

from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from parc.character import rotation
from parc.character.character import Character
from parc.character.kinematics import BodyPose
from parc.motion.frame_state import FrameState


def _triangle(reach: Tensor, upper: float, lower: float) -> tuple[Tensor, Tensor]:
    """x and y above, [...] m."""
    x = (reach.square() + upper**2 - lower**2) / (2 * reach)
    return x, (upper**2 - x.square()).clamp_min(0).sqrt()


def limb_bones(
    way: Tensor, towards: Tensor, upper: float, lower: float, nearest: float, straight: float
) -> tuple[Tensor, Tensor]:
    """The two bones [..., 3] of limbs from start to end by `way` [..., 3], bent `towards` [..., 3].

    An end that is out of reach is led along its way to `nearest` m over the difference of the lengths, or `straight` times their
    sum.
    """
    size = way.norm(dim=-1, keepdim=True)
    along = way / size.clamp_min(1e-9)
    reach = size.clamp(abs(upper - lower) + nearest, straight * (upper + lower))
    x, y = _triangle(reach, upper, lower)
    side = towards - (towards * along).sum(-1, keepdim=True) * along
    first = x * along + y * side / side.norm(dim=-1, keepdim=True).clamp_min(1e-9)
    return first, reach * along - first


def limb_angles(reach: Tensor, upper: float, lower: float) -> tuple[Tensor, Tensor]:
    """Angles [...] between the way and the upper bone, and by which the middle joint is bent, rad."""
    x, y = _triangle(reach, upper, lower)
    start = torch.atan2(y, x)
    return start, start + torch.atan2(y, reach - x)


class Legs(NamedTuple):
    """Indices and lengths of the legs that can be bent."""

    thigh: Tensor
    """[F] body indices; shin and foot likewise"""
    shin: Tensor
    foot: Tensor
    hip_parent: Tensor
    upper: Tensor
    """[F, 3] knee in the thigh's frame"""
    lower: Tensor
    """[F, 3] ankle in the shin's frame"""
    axis: Tensor
    """[F, 3] of the knee"""
    along: Tensor
    """[F] c of `bend_legs`; likewise p and M"""
    middle: Tensor
    size: Tensor
    joint_order: Tensor
    """rows of (all joints, new thighs, shins, feet) that make up the new joints"""
    label_order: Tensor
    """columns of (labels of all bodies, new labels of the feet) that make up the new labels"""


@cache  # captured graphs read these tensors, so none may be dropped
def legs_of(character: Character, device: torch.device) -> Legs | None:
    """The legs of a character; None where they are not a ball, a hinge and a foot each."""
    bodies = character.bodies
    feet = list(character.feet)
    shins = [bodies[f].parent for f in feet]
    if not feet or min(shins) < 1:
        return None
    thighs = [bodies[s].parent for s in shins]
    if min(thighs) < 1 or not all(
        bodies[t].joint.is_ball and bodies[s].joint.is_hinge for t, s in zip(thighs, shins, strict=True)
    ):
        return None
    order = list(range(character.num_joints))
    for block, group in enumerate((thighs, shins, feet)):
        for place, body in enumerate(group):
            order[body - 1] = character.num_joints + block * len(feet) + place

    labels = list(range(len(bodies)))
    for place, body in enumerate(feet):
        labels[body] = len(bodies) + place

    def index(values: list[int]) -> Tensor:
        return torch.tensor(values, device=device)

    def vectors(values: list) -> Tensor:
        return torch.tensor(values, device=device, dtype=torch.float32)

    u, v = vectors([bodies[s].offset for s in shins]), vectors([bodies[f].offset for f in feet])
    axis = vectors([bodies[s].joint.axes[0] for s in shins])
    c = (u * axis).sum(-1) * (v * axis).sum(-1)
    a, b = (u * v).sum(-1) - c, (u * torch.linalg.cross(axis, v, dim=-1)).sum(-1)
    return Legs(
        thigh=index(thighs), shin=index(shins), foot=index(feet), hip_parent=index([bodies[t].parent for t in thighs]),
        upper=u, lower=v, axis=axis, along=c, middle=torch.atan2(b, a), size=torch.hypot(a, b),
        joint_order=index(order), label_order=index(labels),
    )  # fmt: skip


def bend_legs(legs: Legs, state: FrameState, pose: BodyPose, goal: Tensor) -> FrameState:
    """Thigh, knee and ankle such that the feet's origins are at `goal` [..., F, 3], as far as the legs reach.

    The ankle in the thigh's frame is u + R(axis, k) v. Its squared length holds the knee angle k in u . R v, which is
    c + A cos k + B sin k = c + M cos(k - p); of the two solutions the knee keeps the side it bends to.
    """
    # the knee, from how far the ankle is to be from the hip
    hip = pose.pos.index_select(-2, legs.thigh)
    u, v, axis, middle = legs.upper, legs.lower, legs.axis, legs.middle
    reach2 = (goal - hip).square().sum(-1)
    cosine = ((0.5 * (reach2 - u.square().sum(-1) - v.square().sum(-1)) - legs.along) / legs.size).clamp(-0.999, 0.9999)
    shin_now = state.joint_rot.index_select(-3, legs.shin - 1)
    skew = shin_now - shin_now.mT
    sine = (torch.stack([skew[..., 2, 1], skew[..., 0, 2], skew[..., 1, 0]], -1) * axis).sum(-1)
    knee_now = torch.atan2(sine, shin_now.diagonal(dim1=-2, dim2=-1).sum(-1) - 1.0)
    side = torch.where(knee_now - middle < 0, -1.0, 1.0)
    knee = middle + side * torch.acos(cosine)
    shin = rotation.to_matrix(rotation.from_axis_angle(axis, knee))

    # the thigh by the shortest turn, the foot as it was in the world
    thigh_now = pose.rot.index_select(-3, legs.thigh)
    ankle = rotation.matrix_rotate(thigh_now, u + rotation.matrix_rotate(shin, v.expand(*knee.shape, 3)))
    thigh = rotation.matrix_multiply(shortest_turn(ankle, goal - hip), thigh_now)
    foot = rotation.matrix_multiply(rotation.matrix_multiply(thigh, shin).mT, pose.rot.index_select(-3, legs.foot))
    hip_parent = pose.rot.index_select(-3, legs.hip_parent)
    joints = torch.cat([state.joint_rot, rotation.matrix_multiply(hip_parent.mT, thigh), shin, foot], -3)
    return state._replace(joint_rot=joints.index_select(-3, legs.joint_order))


def shortest_turn(a: Tensor, b: Tensor) -> Tensor:
    """Rotation matrices that take the direction of a to that of b: I + [w] + [w]^2 / (1 + a.b) with w = a x b."""
    a = functional.normalize(a, dim=-1)
    b = functional.normalize(b, dim=-1)
    x, y, z = torch.linalg.cross(a, b, dim=-1).unbind(-1)
    zero = torch.zeros_like(x)
    w = torch.stack([zero, -z, y, z, zero, -x, -y, x, zero], -1).unflatten(-1, (3, 3))
    factor = 1 / (1 + (a * b).sum(-1)).clamp_min(1e-4)
    return torch.eye(3, device=a.device) + w + factor[..., None, None] * rotation.matrix_multiply(w, w)
