"""A first pose from landmarks, in closed form: every body turned so that its bones point as the landmarks do.

A limb of two bones spans a plane, and its hinge axis is that plane's normal. With d_0 the upper bone and a_0 the hinge axis in
the zero pose, and d_1, d_2 the two bones now, the upper body's rotation takes the pair (d_0, a_0) to (d_1, a), where

    a = s d_1 x d_2 / |d_1 x d_2|       s: sign of the hinge's range

A straight limb spans no plane: there a is what the trunk would carry it to by the shortest turn from d_0 to d_1, and the two are
mixed as the limb bends. Bones of the character have other lengths than the subject's: d_1 and d_2 are then taken from the
triangle with the character's lengths in that plane, from where its hip (shoulder) is to where the subject's ankle (palm) is.

Where a joint is several hinges of small bodies, their angles come from the turn of the body that they end in
(`parc.character.robot.hinge_chain`).
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from parc.character import rotation
from parc.character.character import Character
from parc.character.robot.hinge_chain import chain_angles
from parc.fit.held_parts import SIDES
from parc.fit.two_bone_ik import limb_bones, shortest_turn
from parc.mocap.subject.body_landmarks import Landmarks
from parc.mocap.subject.calibrate_subject import Fitted
from parc.mocap.subject.human_anatomy import Anatomy

Array = NDArray[np.float64]
_BENT = (0.1, 0.35)
"""sine of the bend of a limb under which its plane is not trusted, and above which it is trusted alone"""
_FLEXED = np.radians(45.0)
"""rad that a shin leans forward over a level foot at most"""
_UP = np.array([0.0, 0.0, 1.0])


class StartPose(NamedTuple):
    """Poses to begin a fit with."""

    root_pos: torch.Tensor
    """[T, 3]"""
    root_rot: torch.Tensor
    """[T, 4] xyzw"""
    joint_rot: torch.Tensor
    """[T, B-1, 4] xyzw"""
    world_rot: torch.Tensor
    """[T, B, 3, 3] what each body should be turned to, before joints were made to fit"""


def start_pose(character: Character, fitted: Fitted) -> StartPose:
    """Of every frame of a take in the character's size."""
    anatomy, marks = Anatomy.of(character), fitted.landmarks
    world = np.tile(np.eye(3), (len(marks), len(character), 1, 1))

    # the trunk, then limbs from where it puts them, feet, and what no landmark tells of as its parent
    trunk = _trunk(character, anatomy, marks, world, fitted.lean)
    middle = np.mean([_start(character, anatomy, world, f"{side}_hip") for side in SIDES], axis=0)
    root = 0.5 * (marks["left_hip"] + marks["right_hip"]) - middle
    for limb in anatomy.limbs:
        _limb(character, anatomy, marks, world, limb, root)
    for side in SIDES:
        world[:, anatomy.body[f"{side}_ankle"]] = foot_frames(anatomy, fitted, side, world)
    covered = trunk | {body for limb in anatomy.limbs for body in anatomy.segments(character, limb)}
    chains = {b: chain for b in covered if len(chain := _hinges_between(character, covered, b)) > 1}
    inside = {b for chain in chains.values() for b in chain[:-1]}
    for b, parent in enumerate(character.parents):
        if b not in covered | inside and parent >= 0:
            world[:, b] = world[:, parent]
    return _joined(character, root, world, chains)


def _hinges_between(character: Character, covered: set[int], body: int) -> list[int]:
    """The two or three hinges that turn a body against the next one above it whose turn is known, from above; else nothing."""
    chain = [body] if body else []
    while chain and (above := character.parents[chain[0]]) not in covered:
        chain.insert(0, above)
    return chain if len(chain) <= 3 and all(character.bodies[b].joint.is_hinge for b in chain) else []


def foot_frames(anatomy: Anatomy, fitted: Fitted, side: str, world: Array | None = None) -> Array:
    """Rotations [T, 3, 3] of a foot: x along ankle to toe lifted by the rest pitch, y across the shin.

    Without toes and `world` it is taken to be level as far as an ankle allows: the foot of one who kneels points down.
    """
    marks = fitted.landmarks
    shin = unit(marks[f"{side}_ankle"] - marks[f"{side}_knee"])
    across = marks["left_hip"] - marks["right_hip"]
    if f"{side}_toe" not in marks:
        if world is None:
            y = unit(across - (across * shin).sum(-1, keepdims=True) * shin)
            forward = unit(np.cross(y, _UP))
            lean = np.arctan2(-(shin * forward).sum(-1), -shin[:, 2])
            down = np.maximum(lean - _FLEXED, 0.0)[:, None]
            c, s = np.cos(down), np.sin(down)
            return np.stack([c * forward - s * _UP, y, c * _UP + s * forward], -1)
        return world[:, anatomy.body[f"{side}_knee"]]
    along = unit(marks[f"{side}_toe"] - marks[f"{side}_ankle"])
    plane = np.cross(along, -shin)
    y = -unit(plane)
    y = np.where((y * across).sum(-1, keepdims=True) < 0, -y, y)
    y = unit(y + 0.5 * unit(across - (across * along).sum(-1, keepdims=True) * along))
    y = unit(y - (y * along).sum(-1, keepdims=True) * along)
    z = np.cross(along, y)
    c, s = np.cos(fitted.foot_pitch), np.sin(fitted.foot_pitch)
    return np.stack([c * along + s * z, y, c * z - s * along], -1)


def _trunk(character: Character, anatomy: Anatomy, marks: Landmarks, world: Array, lean: float) -> set[int]:
    """Pelvis from the hips and the spine, chest from the shoulders, head from neck to head; which bodies were set.

    A person's shoulder joints are behind the hips when the trunk is upright, in each skeleton by another angle; a body whose
    landmarks are told then stands upright. Its spine is not looked at, since a robot bends in one waist at most.
    """
    hips = 0.5 * (marks["left_hip"] + marks["right_hip"])
    shoulders = 0.5 * (marks["left_shoulder"] + marks["right_shoulder"])
    along = unit(shoulders - hips)
    low = unit(marks["spine"] - hips) if "spine" in marks else along
    low = np.where((low * along).sum(-1, keepdims=True) > 0.3, low, along)
    if anatomy.is_told:
        low = along
    world[:, 0] = _frame(unit(low + along), marks["left_hip"] - marks["right_hip"]) @ anatomy.upright(character, 0, lean)
    done = {0}
    shoulder_body = anatomy.carrier["left_shoulder"]
    chain = _chain(character, shoulder_body)
    if chain:
        waist = hips + world[:, 0] @ np.array(character.bodies[chain[0]].offset)
        chest = _frame_keeping_z(unit(shoulders - waist), marks["left_shoulder"] - marks["right_shoulder"])
        chest = chest @ anatomy.upright(character, shoulder_body, lean)
        if all(character.bodies[b].joint.is_hinge for b in chain) and len(chain) <= 3:
            chain = [shoulder_body]
        for k, body in enumerate(chain, 1):
            world[:, body] = _between(world[:, 0], chest, k / len(chain))
        done |= set(chain)
    if "head" in anatomy.body:
        head = anatomy.body["head"]
        top = next((p for p in ("head_top", "head") if p in marks), None)
        if top and "neck" in marks:
            world[:, head] = _frame_keeping_z(unit(marks[top] - marks["neck"]), world[:, shoulder_body, :, 1])
        else:
            world[:, head] = world[:, shoulder_body]
        done.add(head)
    return done


def _limb(
    character: Character, anatomy: Anatomy, marks: Landmarks, world: Array, places: tuple[str, str, str], root: Array
) -> None:
    upper, middle, end = places
    bodies = anatomy.segments(character, places)
    parent = world[:, anatomy.carrier[upper]]
    bones = [anatomy.bone_vector(character, place) for place in places[1:]]
    rest_upper, rest_lower = (unit(bone) for bone in bones)
    axis, sign = bend_axis(character, bodies[1], rest_upper, rest_lower, bends_forward=end.endswith("wrist"))

    # a, the hinge axis: the plane's normal as far as the limb bends, else as the trunk carries it
    first, second = unit(marks[middle] - marks[upper]), unit(marks[end] - marks[middle])
    turn = shortest_turn(torch.as_tensor(parent @ rest_upper), torch.as_tensor(first)).numpy()
    carried = (turn @ (parent @ axis)[..., None])[..., 0]
    normal = sign * np.cross(first, second)
    bend = np.linalg.norm(normal, axis=-1, keepdims=True)
    trust = np.clip((bend - _BENT[0]) / (_BENT[1] - _BENT[0]), 0, 1)
    a = unit(trust * unit(normal) + (1 - trust) * carried)
    a = np.where((a * carried).sum(-1, keepdims=True) < -0.5, carried, a)

    # the character's own bones in that plane
    way = torch.as_tensor(marks[end] - root - _start(character, anatomy, world, upper))
    upper_length, lower_length = (float(np.linalg.norm(bone)) for bone in bones)
    towards = torch.linalg.cross(way, torch.as_tensor(sign * a))
    both = limb_bones(way, towards, upper_length, lower_length, nearest=0.02, straight=0.999)
    for body, rest, bone in zip(bodies, (rest_upper, rest_lower), both, strict=False):
        world[:, body] = _aligned(rest, axis, unit(bone.numpy()), a)
    world[:, bodies[2]] = world[:, bodies[1]]


def _start(character: Character, anatomy: Anatomy, world: Array, place: str) -> Array:
    """Where a hip or shoulder is from the root's origin, [T, 3], carried by what it hangs on."""
    body = anatomy.carrier[place]
    way = np.zeros((len(world), 3)) + world[:, body] @ anatomy.bone_vector(character, place)
    while body > 0:
        parent = character.parents[body]
        way += world[:, parent] @ np.array(character.bodies[body].offset, dtype=np.float64)
        body = parent
    return way


def bend_axis(character: Character, body: int, bone: Array, lower_bone: Array, bends_forward: bool) -> tuple[Array, float]:
    """Axis of the middle joint in the zero pose and the sign by which it bends; for joints without one, those of a human.

    A limb may be bent at rest, as a robot's elbow is: it bends to the side on which most of its range is of where it is straight.
    """
    joint = character.bodies[body].joint
    if joint.is_hinge:
        axis = np.array(joint.axes[0], dtype=np.float64)
        across = bone @ lower_bone - (bone @ axis) * (lower_bone @ axis)
        straight = np.arctan2(axis @ np.cross(lower_bone, bone), across)
        return axis, 1.0 if 0.5 * (joint.lower[0] + joint.upper[0]) >= straight else -1.0
    forward = np.array([1.0, 0.0, 0.0]) if bends_forward else np.array([-1.0, 0.0, 0.0])
    return unit(np.cross(bone, forward)), 1.0


def _joined(character: Character, root: Array, world: Array, chains: Mapping[int, list[int]]) -> StartPose:
    """Local rotations, hinges made to turn about their axis only, and kept in range; `chains` of hinges by their last body."""
    for end, chain in chains.items():
        start = world[:, character.parents[chain[0]]]
        hinges = [character.bodies[b].joint for b in chain]
        axes, lower, upper = ([getattr(j, part)[0] for j in hinges] for part in ("axes", "lower", "upper"))
        angles = chain_angles(start.transpose(0, 2, 1) @ world[:, end], axes, lower, upper)
        for b, axis, angle in zip(chain[:-1], axes, angles.T, strict=False):
            turn = rotation.to_matrix(rotation.from_axis_angle(torch.tensor(axis, dtype=torch.float64), torch.tensor(angle)))
            start = start @ turn.numpy()
            world[:, b] = start
    w = torch.as_tensor(world)
    joints = rotation.identity((len(world), character.num_joints), dtype=torch.float64)
    for b, body in enumerate(character.bodies[1:], 1):
        q = rotation.normalize(rotation.from_matrix(w[:, body.parent].transpose(-1, -2) @ w[:, b]))
        if body.joint.dof == 3:
            joints[:, b - 1] = q
        elif body.joint.dof == 1:
            axis = torch.tensor(body.joint.axes[0], dtype=torch.float64)
            angle = rotation.to_angle_about(q, axis).clamp(body.joint.lower[0], body.joint.upper[0])
            joints[:, b - 1] = rotation.from_axis_angle(axis, angle)
    return StartPose(
        torch.as_tensor(root).float(), rotation.from_matrix(w[:, 0]).float(), joints.float(), torch.as_tensor(world).float()
    )


def _chain(character: Character, body: int) -> list[int]:
    """Bodies from below the root up to `body`."""
    chain: list[int] = []
    while body > 0:
        chain.insert(0, body)
        body = character.parents[body]
    return chain


def unit(v: Array) -> Array:
    """Vectors [..., 3] of length 1."""
    return v / np.maximum(np.linalg.norm(v, axis=-1, keepdims=True), 1e-9)


def _frame(up: Array, left: Array) -> Array:
    """Frames with y along `left` and z as near to `up` as can be."""
    y = unit(left)
    x = unit(np.cross(y, up))
    return np.stack([x, y, np.cross(x, y)], -1)


def _frame_keeping_z(up: Array, left: Array) -> Array:
    z = unit(up)
    x = unit(np.cross(left, z))
    return np.stack([x, np.cross(z, x), z], -1)


def _aligned(rest_bone: Array, rest_axis: Array, bone: Array, axis: Array) -> Array:
    """Rotations that take the rest bone to `bone` [T, 3] exactly and the rest axis as near to `axis` [T, 3] as can be."""

    def triad(b: Array, a: Array) -> Array:
        side = unit(np.cross(a, b))
        return np.stack([b, side, np.cross(b, side)], -1)

    return triad(bone, axis) @ triad(rest_bone, rest_axis).T


def _between(a: Array, b: Array, share: float) -> Array:
    if share >= 1:
        return b
    qa, qb = (rotation.from_matrix(torch.as_tensor(m)) for m in (a, b))
    return rotation.to_matrix(rotation.slerp(qa, qb, torch.full((len(a),), share, dtype=torch.float64))).numpy()
