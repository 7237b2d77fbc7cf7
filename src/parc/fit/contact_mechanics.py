"""The mechanics of a motion: can the contacts that it has carry it, and can the motors hold against them?

    sum_j f_j = sum_k m_k (a_k + g)            sum_j (p_j - c) x f_j = sum_k m_k (x_k - c) x a_k

k runs over point masses that stand for the bodies' shapes, j over the parts that are held; a_k are second differences of
positions. Without contact the right sides must vanish: the centre of mass c falls, the angular momentum stays. Forces are
unknowns of the fit beside the pose. They must push, stay inside the cone of friction, and be such as the motors can hold against
(inverse dynamics; k and j run over what is beyond a joint at o):

    | I d - sum_j (p_j - o) x f_j + sum_k m_k (x_k - o) x (a_k + g) |  <=  torque x limit

along its axis if it is a hinge. d is the joint's angular acceleration against its parent, I its armature in the simulated body:
that of the character and h times the damping, as physics of step h puts it (`parc.physics.mujoco_model`). The damping itself
takes nothing away: the limit bounds the motor's whole torque, which is the same at any speed.

Forces are in units of the body's weight, moments of weight times 1 m.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

from parc.character.body_shape import Capsule, Shape
from parc.character.character import Character
from parc.character.kinematics import BodyPose
from parc.fit.held_parts import part_bodies
from parc.metrics.free_flight import GRAVITY

TORQUE_SCALE = 1.0
"""times the character's torque limits: what the simulated body has (`Contract.torque_scale`)"""
TORQUE_SHARE = 0.8
"""of that for the motion itself; the rest is a tracker's, to correct what goes wrong"""
TIMESTEP = 1 / 120
"""s, of the simulated body (`Contract.timestep`)"""


@dataclass(frozen=True)
class MechanicsSettings:
    """What contacts and motors may bear."""

    friction: float = 0.8
    """of the cone the forces must stay in"""
    foot_push: float = 3.0
    """weights that one foot may bear"""
    hand_push: float = 0.9
    """weights that one hand may bear"""
    torque: float = TORQUE_SHARE * TORQUE_SCALE
    """times the motors' limits of the character"""


class Effort(NamedTuple):
    """How well contacts and motors carry a motion."""

    push: float
    """root mean square over frames of the force that contacts would have to give and cannot, weights"""
    torque: float
    """largest torque of any motor in any frame, in the character's limits"""


class Masses(NamedTuple):
    """Point masses that stand for the bodies' shapes, M of them."""

    share: Tensor
    """[M] of the whole mass"""
    turn: Tensor
    """[9B, 3M] sparse: the bodies' rotation matrices, flattened, times this are all turned points, flattened"""
    columns: Tensor
    """[3M] where each coordinate of each point finds its body's in the flattened body positions"""


@cache  # captured graphs read these tensors, so none may be dropped
def point_masses(character: Character, device: torch.device | str = "cpu") -> Masses:
    """Two for a capsule and one for a sphere or box, with the shape's mass and centre."""
    body: list[int] = []
    local: list[tuple[float, ...]] = []
    mass: list[float] = []
    for b, weighed in enumerate(character.bodies):
        if (told := weighed.inertial) is not None:
            body.append(b)
            local.append(told.centre)
            mass.append(told.mass)
            continue
        for shape in weighed.shapes:
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
    """What contacts must give so that a motion obeys Newton's and Euler's laws."""

    force: Tensor
    """[N, T-2, 3] what contacts must give, weights"""
    moment: Tensor
    """[N, T-2, 3] about the centre of mass, weights x m"""
    centre: Tensor
    """[N, T, 3] centre of mass, m"""
    load: Tensor
    """[N, T-2, M, 3] what each of the point masses needs, weights"""


def needed(points: Tensor, share: Tensor, fps: float) -> Wrench:
    """The wrench that point masses [N, T, M, 3] need at all frames but the first and last."""
    centre = (points * share.unsqueeze(-1)).sum(-2)
    acceleration = (points[:, 2:] - 2 * points[:, 1:-1] + points[:, :-2]) * (fps**2 / GRAVITY)
    up = torch.tensor([0.0, 0.0, 1.0], device=points.device)
    load = (acceleration + up) * share.unsqueeze(-1)
    arm = points[:, 1:-1] - centre[:, 1:-1].unsqueeze(-2)
    return Wrench(load.sum(-2), torch.linalg.cross(arm, load, dim=-1).sum(-2), centre, load)


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


class Motors(NamedTuple):
    """Of all joints, J of them."""

    parts: Tensor
    """[J, 6] 1 for the parts that can be held (`parc.fit.held_parts`) beyond the joint"""
    masses: Tensor
    """[J, M] 1 for the point masses beyond the joint"""
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
    armature: Tensor
    """[J] weights x m x s2"""


@cache  # captured graphs read these tensors, so none may be dropped
def joint_motors(character: Character, device: torch.device | str = "cpu") -> Motors:
    """Of every joint that moves. A ball's three motors are held to one limit together, which is stricter than theirs."""
    weight, ends = character.mass * GRAVITY, part_bodies(character)
    carriers = [int(b) for b in point_masses(character).columns[::3] // 3]
    rows = [row for row, b in enumerate(character.bodies) if b.joint.dof]
    joints = [character.bodies[row].joint for row in rows]

    def beyond(row: int, bodies: Sequence[int]) -> list[float]:
        return [float(row in _ancestry(character, b)) for b in bodies]

    return Motors(
        torch.tensor([beyond(row, ends) for row in rows], device=device),
        torch.tensor([beyond(row, carriers) for row in rows], device=device),
        torch.tensor(rows, device=device),
        torch.tensor([character.parents[row] for row in rows], device=device),
        torch.tensor([joint.is_hinge for joint in joints], device=device),
        torch.tensor([joint.axes[0] for joint in joints], device=device),
        torch.tensor([joint.torque_limit / weight for joint in joints], device=device),
        torch.tensor([(joint.armature + TIMESTEP * joint.damping) / weight for joint in joints], device=device),
    )


def _ancestry(character: Character, body: int) -> set[int]:
    """The body and all that it hangs from."""
    found = set()
    while body >= 0:
        found.add(body)
        body = character.parents[body]
    return found


def angular_acceleration(rot: Tensor, fps: float) -> Tensor:
    """[N, T-2, B, 3] in the world, rad/s2, of rotation matrices [N, T, B, 3, 3]."""
    rate = torch.linalg.cross(rot[:, :-1], rot[:, 1:], dim=-2).sum(-1) * (0.5 * fps)
    return (rate[:, 1:] - rate[:, :-1]) * fps


def joint_torques(
    force: Tensor, at: Tensor, load: Tensor, points: Tensor, pose: BodyPose, acceleration: Tensor, motors: Motors
) -> Tensor:
    """[..., J] torques that the motors must give, weights x m; for the parts' forces [..., 6, 3] at [..., 6, 3], what masses at
    `points` [..., M, 3] need, matrix poses and the bodies' angular accelerations [..., B, 3]."""
    moment = motors.masses @ torch.linalg.cross(points, load, dim=-1) - motors.parts @ torch.linalg.cross(at, force, dim=-1)
    net = motors.masses @ load - motors.parts @ force
    moment = moment - torch.linalg.cross(pose.pos.index_select(-2, motors.joint), net, dim=-1)
    bend = acceleration.index_select(-2, motors.joint) - acceleration.index_select(-2, motors.parent)
    torque = moment + motors.armature.unsqueeze(-1) * bend
    axis = (pose.rot.index_select(-3, motors.joint) * motors.axis.unsqueeze(-2)).sum(-1)
    return torch.where(motors.hinge, (torque * axis).sum(-1).abs(), torque.square().sum(-1).add(1e-8).sqrt())
