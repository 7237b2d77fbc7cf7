"""Planted feet stay planted: a repair of sliding feet at the end of a window.

Between two frames that label a foot in contact, the slowest of its lowest sole points moves by u; it should not move at all. The
root takes the mean of the held feet, which costs nothing in the pose; what is left for each foot is its offset q against the
root, which stays while the foot is held and fades once it is lifted:

    r_t = r_{t-1} - mean_held u_t
    q_t = a_t q_{t-1} - h_t (u_t + r_t - r_{t-1})     h_t: held (0..1),   a_t: 1 while held, `fade` in the air

With one foot on the ground q is zero. The recurrence is linear and solved for all frames at once by the matrix of products of a.

Heights: a foot in contact is brought onto the ground and any foot out of it, if it is off by no more than `LIFT_LIMIT` (more is
a wall, not a floor), at most `LIFT_STEP` a frame; the root rises and sinks by the mean of the feet.

Two-bone inverse kinematics then brings each foot to its place, keeping its orientation in the world; only legs with a ball at
the hip and a hinge at the knee are repaired.
"""

from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from parc.character import rotation
from parc.character.character import Character
from parc.character.kinematics import BodyPose
from parc.generate.frame import FrameState
from parc.generate.probe import probe_points, sole_points
from parc.terrain.heightmap import heights_at
from parc.terrain.terrain import TerrainBatch

PATCH = 0.02
"""m above the lowest sole point: the points that may be standing"""
LIFT_LIMIT = 0.08
"""m"""
LIFT_STEP = 0.01
"""m"""
LIFT_FADE = 0.9


def lock_feet(
    character: Character,
    state: FrameState,
    pose: BodyPose,
    past: FrameState,
    past_pose: BodyPose,
    has_past: Tensor,
    terrain: TerrainBatch,
    fade: float = 0.7,
    reach: float = 0.04,
) -> FrameState:
    """Frames [B, T, ...] that continue the past [B, 1, ...] if `has_past` (0-d) is 1, and have none if it is 0.

    B / N rows in turn are on each of N terrains. A foot that slides more than `reach` (m) a frame is not held.
    """
    legs = _legs(character, state.root_pos.device)
    if legs is None:
        return state
    probe = probe_points(character, state.root_pos.device)
    soles = torch.cat([sole_points(probe, past_pose), sole_points(probe, pose)], 1)
    label = torch.cat([past.contacts * has_past, state.contacts], 1).index_select(-1, probe.feet)
    on = ((label - 0.4) * 5).clamp(0, 1)
    slide = _slide(soles)
    held = torch.minimum(on[:, 1:], on[:, :-1])
    held = torch.where(slide.norm(dim=-1) < reach, held, torch.zeros_like(held)).unsqueeze(-1)

    root_step = -(held * slide).sum(2) / held.sum(2).clamp_min(1.0)
    source = -held * (slide + root_step.unsqueeze(2))
    log_kept = torch.log(fade + (1 - fade) * held).cumsum(1)
    steps = torch.arange(held.shape[1], device=held.device)
    earlier = (steps[:, None] >= steps)[:, :, None, None]
    products = torch.where(earlier, (log_kept.unsqueeze(2) - log_kept.unsqueeze(1)).clamp_max(0).exp(), 0.0)
    offset = (products * source.unsqueeze(1)).sum(2)

    root, offset = _in_plane(root_step.cumsum(1)), _in_plane(offset)
    lift = _lift(soles[:, 1:] + (root.unsqueeze(2) + offset).unsqueeze(-2), on[:, 1:], has_past, terrain)
    rise = lift.mean(2, keepdim=True)
    root = root + functional.pad(rise, (2, 0))
    offset = offset + functional.pad((lift - rise).unsqueeze(-1), (2, 0))
    shifted = BodyPose(pose.pos + root.unsqueeze(-2), pose.rot)
    goal = shifted.pos.index_select(-2, probe.feet) + offset
    return _bend_legs(legs, state._replace(root_pos=state.root_pos + root), shifted, goal)


def _lift(soles: Tensor, on: Tensor, has_past: Tensor, terrain: TerrainBatch) -> Tensor:
    """How far to raise each foot, [B, T, F] m; soles [B, T, F, S, 3], on [B, T, F] in [0, 1]."""
    xy = soles[..., :2].unflatten(0, (len(terrain), -1))
    depth = (heights_at(terrain, xy).flatten(0, 1) - soles[..., 2]).amax(-1)
    depth = torch.where(depth.abs() <= LIFT_LIMIT, depth, torch.zeros_like(depth))
    lift = (1 - has_past) * torch.where(depth > 0, depth, on * depth)[:, 0]
    lifts = []
    for deep, held in zip(depth.unbind(1), on.unbind(1), strict=True):
        # in the air what is left fades slowly, for the foot will need it again when it lands
        wanted = torch.lerp(torch.maximum(deep, LIFT_FADE * lift), deep, held)
        lift = lift + (wanted - lift).clamp(-LIFT_STEP, LIFT_STEP)
        lifts.append(lift)
    return torch.stack(lifts, 1)


def _slide(soles: Tensor) -> Tensor:
    """Horizontal step [B, T, F, 2] of the slowest standing point between frames; soles [B, 1 + T, F, S, 3]."""
    step = soles[:, 1:, ..., :2] - soles[:, :-1, ..., :2]
    height = soles[:, 1:, ..., 2]
    speed = torch.where(height <= height.amin(-1, keepdim=True) + PATCH, step.norm(dim=-1), torch.inf)
    slowest = speed.argmin(-1, keepdim=True).unsqueeze(-1).expand(*speed.shape[:-1], 1, 2)
    return step.gather(-2, slowest).squeeze(-2)


class _Legs(NamedTuple):
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
    joint_order: Tensor
    """rows of (all joints, new thighs, shins, feet) that make up the new joints"""


@cache  # captured graphs read these tensors, so none may be dropped
def _legs(character: Character, device: torch.device) -> _Legs | None:
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

    def index(values: list[int]) -> Tensor:
        return torch.tensor(values, device=device)

    def vectors(values: list) -> Tensor:
        return torch.tensor(values, device=device, dtype=torch.float32)

    return _Legs(
        thigh=index(thighs), shin=index(shins), foot=index(feet), hip_parent=index([bodies[t].parent for t in thighs]),
        upper=vectors([bodies[s].offset for s in shins]),
        lower=vectors([bodies[f].offset for f in feet]),
        axis=vectors([bodies[s].joint.axes[0] for s in shins]),
        joint_order=index(order),
    )  # fmt: skip


def _bend_legs(legs: _Legs, state: FrameState, pose: BodyPose, goal: Tensor) -> FrameState:
    """Thigh, knee and ankle such that the feet's origins are at `goal` [..., F, 3], as far as the legs reach.

    The ankle in the thigh's frame is u + R(axis, k) v. Its squared length holds the knee angle k in u . R v, which is
    c + A cos k + B sin k = c + M cos(k - p); of the two solutions the knee keeps the side it bends to.
    """
    hip = pose.pos.index_select(-2, legs.thigh)
    u, v, axis = legs.upper, legs.lower, legs.axis
    c = (u * axis).sum(-1) * (v * axis).sum(-1)
    a, b = (u * v).sum(-1) - c, (u * torch.linalg.cross(axis, v, dim=-1)).sum(-1)
    middle, size = torch.atan2(b, a), torch.hypot(a, b)
    reach2 = (goal - hip).square().sum(-1)
    cosine = ((0.5 * (reach2 - u.square().sum(-1) - v.square().sum(-1)) - c) / size).clamp(-0.999, 0.9999)
    shin_now = state.joint_rot.index_select(-3, legs.shin - 1)
    skew = shin_now - shin_now.mT
    sine = (torch.stack([skew[..., 2, 1], skew[..., 0, 2], skew[..., 1, 0]], -1) * axis).sum(-1)
    knee_now = torch.atan2(sine, shin_now.diagonal(dim1=-2, dim2=-1).sum(-1) - 1.0)
    side = torch.where(knee_now - middle < 0, -1.0, 1.0)
    knee = middle + side * torch.acos(cosine)
    shin = rotation.to_matrix(rotation.from_axis_angle(axis, knee))

    thigh_now = pose.rot.index_select(-3, legs.thigh)
    ankle = rotation.matrix_rotate(thigh_now, u + rotation.matrix_rotate(shin, v.expand(*knee.shape, 3)))
    thigh = rotation.matrix_multiply(_shortest_turn(ankle, goal - hip), thigh_now)
    foot = rotation.matrix_multiply(rotation.matrix_multiply(thigh, shin).mT, pose.rot.index_select(-3, legs.foot))
    hip_parent = pose.rot.index_select(-3, legs.hip_parent)
    joints = torch.cat([state.joint_rot, rotation.matrix_multiply(hip_parent.mT, thigh), shin, foot], -3)
    return state._replace(joint_rot=joints.index_select(-3, legs.joint_order))


def _shortest_turn(a: Tensor, b: Tensor) -> Tensor:
    """Rotation matrices that take the direction of a to that of b: I + [w] + [w]^2 / (1 + a.b) with w = a x b."""
    a = functional.normalize(a, dim=-1)
    b = functional.normalize(b, dim=-1)
    x, y, z = torch.linalg.cross(a, b, dim=-1).unbind(-1)
    zero = torch.zeros_like(x)
    w = torch.stack([zero, -z, y, z, zero, -x, -y, x, zero], -1).unflatten(-1, (3, 3))
    factor = 1 / (1 + (a * b).sum(-1)).clamp_min(1e-4)
    return torch.eye(3, device=a.device) + w + factor[..., None, None] * rotation.matrix_multiply(w, w)


def _in_plane(xy: Tensor) -> Tensor:
    """[..., 2] to [..., 3] with z = 0."""
    return functional.pad(xy, (0, 1))
