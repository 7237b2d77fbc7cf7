"""Motion frames to MuJoCo's generalised coordinates and back. The only place where quaternions are wxyz.

qpos holds the root's position (3) and quaternion (4), then a quaternion for each ball and an angle for each hinge; qvel holds
the root's linear velocity in the world frame (3), its angular velocity in the root frame (3), then 3 numbers for each
ball (angular velocity in the body's frame) and 1 for each hinge. MuJoCo orders joints by body, depth first, which is the
character's own order where that is depth first, as the humanoid's is.

Velocities are MuJoCo's own: v = log(conj(q1) q2) / dt for rotations, so that integrating v over dt leads from 1 to 2.
"""

from dataclasses import dataclass
from functools import cache, lru_cache

import torch
from torch import Tensor

from parc.character import rotation
from parc.character.character import Body, Character
from parc.character.joint_coordinates import joints_to_dof
from parc.character.kinematics import BodyPose, forward_kinematics
from parc.motion.motion import Motion

ROOT_QPOS, ROOT_QVEL = 7, 6


@dataclass(frozen=True)
class Layout:
    """Where each body's joint stands in qpos and qvel; -1 for bodies without one. Sizes nq and nv."""

    order: tuple[int, ...]
    """bodies depth first: MuJoCo's body i + 1 is the character's body order[i]"""
    qpos_start: tuple[int, ...]
    qvel_start: tuple[int, ...]
    nq: int
    nv: int


@lru_cache(maxsize=64)
def state_layout(character: Character) -> Layout:
    """Which number of MuJoCo's state is which joint's: bodies depth first, as MuJoCo orders them."""
    order: list[int] = []

    def visit(body: int) -> None:
        order.append(body)
        for child in range(body + 1, character.num_bodies):
            if character.parents[child] == body:
                visit(child)

    visit(0)
    qpos_start, qvel_start = [-1] * len(order), [-1] * len(order)
    nq, nv = ROOT_QPOS, ROOT_QVEL
    for body in order[1:]:
        joint = character.bodies[body].joint
        if joint.dof:
            qpos_start[body], qvel_start[body] = nq, nv
        nq += 4 if joint.is_ball else joint.dof
        nv += joint.dof
    return Layout(tuple(order), tuple(qpos_start), tuple(qvel_start), nq, nv)


def joint_names(body: Body) -> tuple[str, ...]:
    """MuJoCo's joints of a body: one for a ball or a hinge, two for two hinges in sequence."""
    if body.joint.dof == 2:
        return f"{body.name}_1", f"{body.name}_2"
    return (body.name,) if body.joint.dof else ()


@dataclass(frozen=True)
class _Tables:
    """Index tensors on the device, so that captured code copies nothing from the host."""

    root_rot: Tensor
    """[4] columns of the root's quaternion, in xyzw order"""
    ball_joint: Tensor
    """[n] rows of balls in joint_rot"""
    ball_qpos: Tensor
    """[4 n] columns of their quaternions, in xyzw order"""
    ball_dof: Tensor
    """[3 n] their columns in the DoF vector"""
    hinge_joint: Tensor
    hinge_qpos: Tensor
    hinge_dof: Tensor
    hinge_axis: Tensor
    """[m, 3]; the first of the two for joints of two axes"""
    second_joint: Tensor
    second_qpos: Tensor
    second_dof: Tensor
    second_axis: Tensor
    """[k, 3] the second axes of joints that have two"""


@cache  # captured graphs read these tensors, so none may be dropped
def _tables(character: Character, device: torch.device, dtype: torch.dtype) -> _Tables:
    layout = state_layout(character)
    balls, hinges, seconds = [], [], []
    for body, b in enumerate(character.bodies):
        if body and b.joint.is_ball:
            balls.append(body)
        elif body and b.joint.dof:
            hinges.append(body)
            if b.joint.dof == 2:
                seconds.append(body)

    def index(values: list[int]) -> Tensor:
        return torch.tensor(values, dtype=torch.long, device=device)

    def axes(bodies: list[int], k: int) -> Tensor:
        rows = [character.bodies[b].joint.axes[k] for b in bodies]
        return torch.tensor(rows, device=device, dtype=dtype).reshape(-1, 3)

    q, d = layout.qpos_start, character.dof_start
    with torch.inference_mode(False):  # the cache outlives the caller's mode
        return _Tables(
            root_rot=index([4, 5, 6, 3]),
            ball_joint=index([b - 1 for b in balls]),
            ball_qpos=index([q[b] + k for b in balls for k in (1, 2, 3, 0)]),
            ball_dof=index([d[b] + k for b in balls for k in range(3)]),
            hinge_joint=index([b - 1 for b in hinges]),
            hinge_qpos=index([q[b] for b in hinges]),
            hinge_dof=index([d[b] for b in hinges]),
            hinge_axis=axes(hinges, 0),
            second_joint=index([b - 1 for b in seconds]),
            second_qpos=index([q[b] + 1 for b in seconds]),
            second_dof=index([d[b] + 1 for b in seconds]),
            second_axis=axes(seconds, 1),
        )


def frames_to_qpos(character: Character, root_pos: Tensor, root_rot: Tensor, joint_rot: Tensor) -> Tensor:
    """Root position [..., 3], root rotation [..., 4] and joint rotations [..., B-1, 4] (xyzw) to qpos [..., nq].

    Turns off a hinge's axis are dropped; quaternions come out with w >= 0.
    """
    t = _tables(character, root_pos.device, root_pos.dtype)
    dof = joints_to_dof(character, joint_rot)
    qpos = root_pos.new_zeros(*root_pos.shape[:-1], state_layout(character).nq)
    qpos[..., :3] = root_pos
    qpos.index_copy_(-1, t.root_rot, _short_way(root_rot))
    qpos.index_copy_(-1, t.ball_qpos, _short_way(joint_rot.index_select(-2, t.ball_joint)).flatten(-2))
    qpos.index_copy_(-1, t.hinge_qpos, dof.index_select(-1, t.hinge_dof))
    qpos.index_copy_(-1, t.second_qpos, dof.index_select(-1, t.second_dof))
    return qpos


def standing_qpos(character: Character, root_pos: Tensor) -> Tensor:
    """The zero pose, unturned, with the root at root_pos [..., 3]."""
    shape, kind = tuple(root_pos.shape[:-1]), {"device": root_pos.device, "dtype": root_pos.dtype}
    joints = rotation.identity((*shape, character.num_joints), **kind)
    return frames_to_qpos(character, root_pos, rotation.identity(shape, **kind), joints)


def qpos_to_frames(character: Character, qpos: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """qpos [..., nq] to root position [..., 3], root rotation [..., 4], joint rotations [..., B-1, 4] (xyzw).

    The rotations of fixed joints are the identity.
    """
    t = _tables(character, qpos.device, qpos.dtype)
    root_rot = rotation.normalize(qpos.index_select(-1, t.root_rot))
    joints = rotation.identity((*qpos.shape[:-1], character.num_joints), device=qpos.device, dtype=qpos.dtype)
    balls = qpos.index_select(-1, t.ball_qpos).unflatten(-1, (-1, 4)) if len(t.ball_joint) else joints[..., :0, :]
    joints.index_copy_(-2, t.ball_joint, rotation.normalize(balls))
    if len(t.hinge_joint):
        hinges = rotation.from_axis_angle(t.hinge_axis, qpos.index_select(-1, t.hinge_qpos))
        joints.index_copy_(-2, t.hinge_joint, hinges)
    if len(t.second_joint):
        inner = rotation.from_axis_angle(t.second_axis, qpos.index_select(-1, t.second_qpos))
        joints.index_copy_(-2, t.second_joint, rotation.multiply(joints.index_select(-2, t.second_joint), inner))
    return qpos[..., :3], root_rot, joints


def qpos_to_dof(character: Character, qpos: Tensor) -> Tensor:
    """qpos [..., nq] to the DoF vector [..., D]: the motor targets that ask for exactly this pose."""
    t = _tables(character, qpos.device, qpos.dtype)
    dof = qpos.new_zeros(*qpos.shape[:-1], character.num_dof)
    if len(t.ball_joint):
        balls = qpos.index_select(-1, t.ball_qpos).unflatten(-1, (-1, 4))
        dof.index_copy_(-1, t.ball_dof, rotation.to_exp(rotation.normalize(balls)).flatten(-2))
    dof.index_copy_(-1, t.hinge_dof, qpos.index_select(-1, t.hinge_qpos))
    dof.index_copy_(-1, t.second_dof, qpos.index_select(-1, t.second_qpos))
    return dof


def qpos_to_bodies(character: Character, qpos: Tensor) -> BodyPose:
    """World poses of all bodies, positions [..., B, 3] and rotations [..., B, 4] (xyzw)."""
    return forward_kinematics(character, *qpos_to_frames(character, qpos))


def qpos_difference(character: Character, before: Tensor, after: Tensor, dt: float) -> Tensor:
    """The velocity [..., nv] that leads from one qpos [..., nq] to another in dt seconds (mj_differentiatePos)."""
    layout = state_layout(character)
    parts = [(after[..., :3] - before[..., :3]) / dt, _turn(before[..., 3:7], after[..., 3:7]) / dt]
    for body in layout.order[1:]:
        joint, q = character.bodies[body].joint, layout.qpos_start[body]
        if joint.is_ball:
            parts.append(_turn(before[..., q : q + 4], after[..., q : q + 4]) / dt)
        elif joint.dof:
            parts.append((after[..., q : q + joint.dof] - before[..., q : q + joint.dof]) / dt)
    return torch.cat(parts, -1)


def motion_to_qpos(character: Character, motion: Motion) -> Tensor:
    """[T, nq]"""
    motion.check_fits(character)
    return frames_to_qpos(character, motion.root_pos, motion.root_rot, motion.joint_rot)


def motion_to_qvel(character: Character, motion: Motion) -> Tensor:
    """[T, nv] central differences; one-sided at the two ends, zero for a single frame."""
    qpos, dt = motion_to_qpos(character, motion), 1.0 / motion.fps
    if len(motion) == 1:
        return qpos.new_zeros(1, state_layout(character).nv)
    first = qpos_difference(character, qpos[:1], qpos[1:2], dt)
    inner = qpos_difference(character, qpos[:-2], qpos[2:], 2 * dt)
    last = qpos_difference(character, qpos[-2:-1], qpos[-1:], dt)
    return torch.cat([first, inner, last])


def qpos_to_qvel(character: Character, qpos: Tensor, length: Tensor, fps: float) -> Tensor:
    """`motion_to_qvel` of many motions laid end to end: qpos [F, nq] of motions of so many frames [C] to [F, nv]."""
    last = torch.cumsum(length, 0) - 1
    of_frame = torch.repeat_interleave(torch.arange(len(length), device=length.device), length)
    at = torch.arange(len(qpos), device=qpos.device)
    before = torch.maximum(at - 1, (last - length + 1)[of_frame])
    after = torch.minimum(at + 1, last[of_frame])
    step = qpos_difference(character, qpos[before], qpos[after], 1.0 / fps)
    return step / (after - before).clamp_min(1).unsqueeze(-1)


def _short_way(q: Tensor) -> Tensor:
    return torch.where(q[..., 3:] < 0, -q, q)


def _turn(before: Tensor, after: Tensor) -> Tensor:
    """Exponential map of conj(before) after, for wxyz quaternions."""
    xyzw = [torch.cat([q[..., 1:], q[..., :1]], -1) for q in (before, after)]
    return rotation.to_exp(rotation.difference(*xyzw))
