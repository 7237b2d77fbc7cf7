"""Centroidal mechanics: can the contacts that a motion has carry it?

    sum_j f_j = sum_k m_k (a_k + g)            sum_j (p_j - c) x f_j = sum_k m_k (x_k - c) x a_k

k runs over point masses that stand for the bodies' shapes, j over the parts that are held; a_k are second differences of
positions. Without contact the right sides must vanish: the centre of mass c falls, the angular momentum stays. Forces are
unknowns of the fit beside the pose. They must push, stay inside the cone of friction, and be such as the motors can hold against:

    | d w - sum_j (p_j - o) x f_j |  <=  torque x limit

for a limb's joint at o that turns at w against a damping d, along its axis if it is a hinge; the limbs' own weights and inertia
are left out, they are light. The damping is that of the simulated body, where it is no part of the motor: it alone uses up all of
a knee's torque at 6 rad/s, so that such a body is strong but slow: a jump
lifts its pelvis no more than 0.2 m over where it is when it stands.

Forces are in units of the body's weight, moments of weight times 1 m.
"""

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

from parc.author.draft import PARTS
from parc.character.character import Character
from parc.character.kinematics import BodyPose
from parc.character.shape import Capsule, Shape
from parc.mocap.anatomy import Anatomy

GRAVITY = 9.81
"""m/s2"""


@dataclass(frozen=True)
class MechanicsSettings:
    friction: float = 0.8
    """of the cone the forces must stay in"""
    foot_push: float = 3.0
    """weights that one foot may bear"""
    hand_push: float = 0.9
    """weights that one hand may bear"""
    torque: float = 2.0
    """times the motors' limits; simulated bodies have more (`Contract.torque_scale`), to correct what goes wrong"""


class Masses(NamedTuple):
    share: Tensor
    """[M] of the whole mass"""
    turn: Tensor
    """[9B, 3M] sparse: the bodies' rotation matrices, flattened, times this are all turned points, flattened"""
    columns: Tensor
    """[3M] where each coordinate of each point finds its body's in the flattened body positions"""


@cache  # captured graphs read these tensors, so none may be dropped
def point_masses(character: Character, device: torch.device | str = "cpu") -> Masses:
    """Two for a capsule and one for a sphere or box, with the shape's mass and centre."""
    body, local, mass = [], [], []
    for b, shapes in enumerate(x.shapes for x in character.bodies):
        for shape in shapes:
            points = _points(shape)
            body += [b] * len(points)
            local += points
            mass += [shape.mass / len(points)] * len(points)
    turn = torch.zeros(len(character), 3, 3, len(body), 3)
    for k, (b, place) in enumerate(zip(body, local, strict=True)):
        for axis in range(3):
            turn[b, axis, :, k, axis] = torch.tensor(place)
    share = torch.tensor(mass)
    columns = torch.tensor([3 * b + axis for b in body for axis in range(3)])
    return Masses((share / share.sum()).to(device), turn.reshape(9 * len(character), -1).to(device), columns.to(device))


def _points(shape: Shape) -> list[tuple[float, ...]]:
    if not isinstance(shape, Capsule):
        return [tuple(shape.centre)]
    radius = 12**-0.5 * (1 + shape.radius / max(shape.length, 1e-6))

    def at(share: float) -> tuple[float, ...]:
        return tuple(share * a + (1 - share) * b for a, b in zip(shape.start, shape.end, strict=True))

    return [at(0.5 - radius), at(0.5 + radius)]


def place_masses(masses: Masses, pose: BodyPose) -> Tensor:
    """[..., M, 3] in the world, for matrix poses; one matrix product for all."""
    origins = pose.pos.flatten(-2).index_select(-1, masses.columns)
    return (origins + pose.rot.flatten(-3) @ masses.turn).unflatten(-1, (-1, 3))


class Wrench(NamedTuple):
    force: Tensor
    """[N, T-2, 3] what contacts must give, weights"""
    moment: Tensor
    """[N, T-2, 3] about the centre of mass, weights x m"""
    centre: Tensor
    """[N, T, 3] centre of mass, m"""


def needed(points: Tensor, share: Tensor, fps: float) -> Wrench:
    """The wrench that point masses [N, T, M, 3] need at all frames but the first and last."""
    centre = (points * share.unsqueeze(-1)).sum(-2)
    acceleration = (points[:, 2:] - 2 * points[:, 1:-1] + points[:, :-2]) * (fps**2 / GRAVITY)
    weighted = acceleration * share.unsqueeze(-1)
    arm = points[:, 1:-1] - centre[:, 1:-1].unsqueeze(-2)
    up = torch.tensor([0.0, 0.0, 1.0], device=points.device)
    return Wrench(weighted.sum(-2) + up, torch.linalg.cross(arm, weighted, dim=-1).sum(-2), centre)


def given(force: Tensor, at: Tensor, centre: Tensor) -> tuple[Tensor, Tensor]:
    """Sum [..., 3] of forces [..., 6, 3] on the held parts at [..., 6, 3] and of their moments about the centre [..., 3]."""
    arm = at - centre.unsqueeze(-2)
    return force.sum(-2), torch.linalg.cross(arm, force, dim=-1).sum(-2)


def over_the_cone(force: Tensor, normal: Tensor, settings: MechanicsSettings) -> Tensor:
    """[..., 6] by how much forces pull, slip or push too hard, weights; zero inside the cone."""
    push = (force * normal).sum(-1)
    along = force - push.unsqueeze(-1) * normal
    size = along.square().sum(-1).add(1e-8).sqrt()
    most = push.new_tensor([settings.foot_push] * 4 + [settings.hand_push] * 2)
    return (-push).clamp_min(0) + (size - settings.friction * push.clamp_min(0)).clamp_min(0) + (push - most).clamp_min(0)


class Limbs(NamedTuple):
    parts: Tensor
    """[J, 6] 1 for the PARTS of the joint's limb"""
    joint: Tensor
    """[J] bodies whose origin is the joint"""
    parent: Tensor
    """[J] bodies they are joined to"""
    hinge: Tensor
    """[J] bool"""
    axis: Tensor
    """[J, 3] of a hinge, in the body's frame"""
    limit: Tensor
    """[J] weights x m"""
    damping: Tensor
    """[J] weights x m x s"""


@cache  # captured graphs read these tensors, so none may be dropped
def limb_joints(character: Character, device: torch.device | str = "cpu") -> Limbs:
    body, weight = Anatomy.of(character).body, character.mass * GRAVITY
    places = {"foot": ("hip", "knee", "ankle"), "hand": ("shoulder", "elbow")}
    names = [(side, limb, place) for limb in places for side in ("left", "right") for place in places[limb]]
    rows = [body[f"{side}_{place}"] for side, _, place in names]
    joints = [character.bodies[row].joint for row in rows]
    own = [[float(side == s and (limb == "hand") == (part == "hand")) for s, part in PARTS] for side, limb, _ in names]
    return Limbs(
        torch.tensor(own, device=device),
        torch.tensor(rows, device=device),
        torch.tensor([character.parents[row] for row in rows], device=device),
        torch.tensor([joint.is_hinge for joint in joints], device=device),
        torch.tensor([joint.axes[0] for joint in joints], device=device),
        torch.tensor([joint.torque_limit / weight for joint in joints], device=device),
        torch.tensor([joint.damping / weight for joint in joints], device=device),
    )


def turning(rot: Tensor, fps: float) -> Tensor:
    """[N, T-2, B, 3] angular velocities in the world, rad/s, of rotation matrices [N, T, B, 3, 3]."""
    return torch.linalg.cross(rot[:, :-2], rot[:, 2:], dim=-2).sum(-1) * (0.25 * fps)


def over_torque(force: Tensor, at: Tensor, pose: BodyPose, spin: Tensor, limbs: Limbs, settings: MechanicsSettings) -> Tensor:
    """[...] sum over the limbs' joints of the square of what motors lack, weights x m; for parts' forces [..., 6, 3] at
    [..., 6, 3], matrix poses and the bodies' angular velocities [..., B, 3]."""
    load, moment = limbs.parts @ force, limbs.parts @ torch.linalg.cross(at, force, dim=-1)
    moment = moment - torch.linalg.cross(pose.pos.index_select(-2, limbs.joint), load, dim=-1)
    bend = spin.index_select(-2, limbs.joint) - spin.index_select(-2, limbs.parent)
    motor = limbs.damping.unsqueeze(-1) * bend - moment
    axis = (pose.rot.index_select(-3, limbs.joint) * limbs.axis.unsqueeze(-2)).sum(-1)
    size = torch.where(limbs.hinge, (motor * axis).sum(-1).abs(), motor.square().sum(-1).add(1e-8).sqrt())
    return (size - settings.torque * limbs.limit).clamp_min(0).square().sum(-1)
