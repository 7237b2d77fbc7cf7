"""A motion of ours on another skeleton.

Bodies turn as ours do. With A the turn that takes a bone of the rig's reference pose to the direction of our zero pose, Q its
rotation there and R(t) our body's, the bone is turned to R(t) A Q. What no place of our body tells of (fingers, collar bones) is
carried by what it hangs on; the turns of the spine are spread over its joints.

What touches stays where it touches. The world keeps its size, so a rig of longer legs stands with a higher pelvis: over a
standing leg it is lifted by the difference. Then the legs are bent such that the ball of each foot is over the front edge of our
sole and the lower end of its sole as high as ours; arms whose hand touches are bent to our hand, over a fifth of a second before
and after. Where a limb that holds is too short, the whole body comes nearer.

A bone above the pelvis (Unreal's root) travels along: under the pelvis, as high as the lower sole, turned to where the body
heads, all smoothed. So it is what engines take root motion from, and skin that follows it a little stays with the body.

A rig whose legs are no grown person's (`_GROWN`) gets the motion and its world in its own size instead.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import ndimage
from scipy.spatial.transform import Rotation

from parc.character import rotation
from parc.character.character import Character
from parc.fit.held_parts import SIDES
from parc.fit.two_bone_ik import limb_bones, shortest_turn
from parc.mocap.subject.body_landmarks import PALM
from parc.mocap.subject.closed_form_pose import bend_axis, unit
from parc.mocap.subject.human_anatomy import Anatomy
from parc.motion.motion import Motion
from parc.rig.rig_skeleton import Rig, Stance

Array = NDArray[np.float64]
_GROWN = (0.75, 1.35)
"""length of legs, against ours, of rigs that move in our world"""
_BLEND = 0.2
"""s over which a hand goes over to where it touches"""
_SETTLE = 0.1
"""s, width of the Gaussian that smooths the pelvis' lift"""
_TRAVEL = 0.25
"""s, width of the Gaussian that smooths the root bone's way"""
_STRAIGHT = 0.997
"""of a limb's length, that it reaches at most"""
_MOST_TOE = np.radians(60.0)
"""rad that toes bend"""
_REST_OF_SWING = 0.2
"""how much a foot in the air pulls the body, against one that stands"""


@dataclass(frozen=True, eq=False)
class RigMotion:
    """A motion of a rig, in the axes and the unit of its file."""

    rig: Rig
    turns: Array
    """[T, N, 4] xyzw of all nodes against their parents; those above the pelvis stand as they are"""
    places: Mapping[int, Array]
    """{node: [T, 3]} of those that move in their parents' frames: the pelvis, and the root bone above it if there is one"""
    fps: float
    size: float
    """of the world, in the rig's unit for one of our metres"""
    leg_ratio: float
    """length of the rig's legs against ours, in m"""


class _Ours(NamedTuple):
    """Our motion, in a world of the rig's size."""

    rot: Array
    """[T, B, 3, 3]"""
    pos: Array
    """[T, B, 3]"""
    touch: Mapping[str, Array]
    """{place: [T]} 1 while an ankle or wrist touches, falling to 0 beside that"""


class _Limb(NamedTuple):
    """A leg or arm of both bodies."""

    places: tuple[str, str, str]
    joints: tuple[int, int, int]
    """of the rig"""
    bodies: tuple[int, int, int]
    upper: Array
    """[3] m in the reference pose"""
    lower: Array
    """[3] m; an arm's goes on to the palm"""
    axis: Array
    """[3] our hinge, with the sign of its bend"""


def retarget_onto(rig: Rig, motion: Motion, character: Character) -> RigMotion:
    """A character's motion on a rig, frame by frame."""
    anatomy, stance = Anatomy.of(character), rig.stance
    ratio = stance.leg / anatomy.leg
    size = 1.0 if _GROWN[0] <= ratio <= _GROWN[1] else ratio
    ours = _ours(motion.to("cpu"), character, anatomy, size)
    limbs = [_limb(rig, character, anatomy, places) for places in anatomy.limbs]

    turns = _copied_turns(rig, ours, character, anatomy, limbs)
    feet: dict[str, Array] = {side: _ankle_goal(stance, ours, anatomy, side, size) for side in SIDES}
    root = _root(rig, ours, anatomy, turns, feet, ratio / size, motion.fps)
    root = _within_reach(rig, root, turns, ours, limbs, feet, motion.fps)
    for limb in limbs:
        _bend(rig, limb, root, turns, ours, feet)
    _flatten_toes(rig, turns, ours, anatomy)
    travel = _travel(rig, root, ours, anatomy, size, motion.fps) if rig.root >= 0 else None
    local, places = _in_file(rig, root, turns, travel)
    return RigMotion(rig, local, places, motion.fps, size / rig.unit, ratio)


def _ours(motion: Motion, character: Character, anatomy: Anatomy, size: float) -> _Ours:
    pose = motion.body_poses(character)
    reach = _BLEND * motion.fps
    touch = {}
    for side in SIDES:
        for part in ("ankle", "wrist"):
            label = motion.contacts[:, anatomy.body[f"{side}_{part}"]].numpy() > 0.5
            away = ndimage.distance_transform_edt(~label) if label.any() else np.full(len(label), np.inf)
            near = np.clip(1.0 - away / max(reach, 1.0), 0.0, 1.0)
            touch[f"{side}_{part}"] = near * near * (3.0 - 2.0 * near)
    turns = rotation.to_matrix(rotation.normalize(pose.rot.double())).numpy()
    return _Ours(turns, size * pose.pos.double().numpy(), touch)


def _limb(rig: Rig, character: Character, anatomy: Anatomy, places: tuple[str, str, str]) -> _Limb:
    stance = rig.stance
    joints = (rig.places[places[0]], rig.places[places[1]], rig.places[places[2]])
    bodies = (anatomy.body[places[0]], anatomy.body[places[1]], anatomy.body[places[2]])
    upper, lower = stance.bone(joints[0], joints[1]), stance.bone(joints[1], joints[2])
    arm = places[2].endswith("wrist")
    first, second = (unit(anatomy.bone_vector(character, place)) for place in places[1:])
    axis, sign = bend_axis(character, bodies[1], first, second, bends_forward=arm)
    if arm:
        lower = lower + PALM * stance.leg / anatomy.leg * unit(lower)
    return _Limb(places, joints, bodies, upper, lower, sign * axis)


def _copied_turns(rig: Rig, ours: _Ours, character: Character, anatomy: Anatomy, limbs: list[_Limb]) -> Array:
    """[T, N, 3, 3] of each node away from the reference pose, before limbs are bent."""
    stance, body = rig.stance, anatomy.body
    told: dict[int, Array] = {rig.pelvis: ours.rot[:, 0]}

    # the spine from pelvis to chest, the neck from there to the head
    torso = ours.rot[:, character.parents[body["left_shoulder"]]]
    spine = rig.chain(rig.pelvis, rig.chest)
    for k, joint in enumerate(spine, 1):
        told[joint] = _between(ours.rot[:, 0], torso, k / len(spine))
    if "head" in rig.places:
        head = ours.rot[:, body["head"]] if "head" in body else torso
        neck = rig.chain(rig.chest, rig.places["head"])
        for k, joint in enumerate(neck, 1):
            told[joint] = _between(torso, head, k / len(neck))

    # limbs, each bone by the shortest turn to how ours lies in the zero pose; feet stand level in both
    for limb in limbs:
        for k, bone in enumerate((limb.upper, limb.lower)):
            zero = np.array(character.bodies[limb.bodies[k + 1]].offset, dtype=np.float64)
            align = shortest_turn(torch.as_tensor(bone), torch.as_tensor(zero)).double().numpy()
            told[limb.joints[k]] = ours.rot[:, limb.bodies[k]] @ align
        side, part = limb.places[2].split("_")
        if part == "ankle":
            level = Rotation.from_rotvec([0.0, 0.0, -stance.foot_yaw[side]]).as_matrix()
            told[limb.joints[2]] = ours.rot[:, limb.bodies[2]] @ level

    turns = np.tile(np.eye(3), (len(ours.pos), len(rig.joints), 1, 1))
    for joint in rig.subtree:
        turns[:, joint] = told[joint] if joint in told else turns[:, rig.parents[joint]]
    return turns


def _ankle_goal(stance: Stance, ours: _Ours, anatomy: Anatomy, side: str, size: float) -> Array:
    """[T, 3] where the rig's ankle is when its ball is over the front of our sole and its sole as low as ours."""
    foot = anatomy.body[f"{side}_ankle"]
    turn, ankle = ours.rot[:, foot], ours.pos[:, foot]
    heel, toe = (size * turn @ point for point in (anatomy.sole[:2].mean(0), anatomy.toe))
    rig_heel, rig_ball = (turn @ point for point in stance.sole[side])
    goal = ankle + toe - rig_ball
    goal[:, 2] = ankle[:, 2] + np.minimum(heel[:, 2], toe[:, 2]) - np.minimum(rig_heel[:, 2], rig_ball[:, 2])
    return goal


def _root(rig: Rig, ours: _Ours, anatomy: Anatomy, turns: Array, feet: Mapping[str, Array], ratio: float, fps: float) -> Array:
    """[T, 3] of the pelvis: our hips, lifted so that standing legs bend as ours do."""
    lift, weight = np.zeros(len(ours.pos)), np.full(len(ours.pos), 1e-9)
    hips = [ours.pos[:, anatomy.body[f"{side}_hip"]] for side in SIDES]
    for side, hip in zip(SIDES, hips, strict=True):
        drop = ours.pos[:, anatomy.body[f"{side}_ankle"], 2] - hip[:, 2]
        share = 0.02 + ours.touch[f"{side}_ankle"] * np.clip(-drop / anatomy.leg, 0.1, 1.0)
        lift += share * (feet[side][:, 2] - ratio * drop - hip[:, 2])
        weight += share
    lift = ndimage.gaussian_filter1d(lift / weight, _SETTLE * fps, mode="nearest")
    middle = 0.5 * (hips[0] + hips[1])
    middle[:, 2] += lift
    relative = _places(rig, np.zeros_like(middle), turns)
    return middle - 0.5 * sum(relative[rig.places[f"{side}_hip"]] for side in SIDES)


def _within_reach(
    rig: Rig, root: Array, turns: Array, ours: _Ours, limbs: list[_Limb], feet: Mapping[str, Array], fps: float
) -> Array:
    """The pelvis moved so that limbs that hold can reach what they hold, smoothly, then exactly."""
    start = _places(rig, root, turns)
    shift = np.zeros_like(root)
    for turn in range(12):
        for limb in limbs:
            leg = limb.places[2].endswith("ankle")
            holds = ours.touch[limb.places[2]]
            goal = feet[limb.places[2].split("_")[0]] if leg else ours.pos[:, limb.bodies[2]]
            way = goal - start[limb.joints[0]] - shift
            size = np.linalg.norm(way, axis=-1)
            most = _STRAIGHT * (np.linalg.norm(limb.upper) + np.linalg.norm(limb.lower))
            share = np.maximum(holds, _REST_OF_SWING) if leg else holds
            shift += (share * np.maximum(size - most, 0.0) / np.maximum(size, 1e-9))[:, None] * way
        if turn < 8:
            shift = ndimage.gaussian_filter1d(shift, 0.05 * fps, axis=0, mode="nearest")
    return root + shift


def _bend(rig: Rig, limb: _Limb, root: Array, turns: Array, ours: _Ours, feet: Mapping[str, Array]) -> None:
    """Turn a limb's two bones so that its end is where it should be."""
    first, second, end = limb.joints
    places = _places(rig, root, turns)
    start = places[first]
    bones = [turns[:, first] @ limb.upper, turns[:, second] @ limb.lower]
    if limb.places[2].endswith("ankle"):
        goal = feet[limb.places[2].split("_")[0]]
    else:
        holds = ours.touch[limb.places[2]][:, None]
        if not holds.any():
            return
        goal = (1 - holds) * (start + bones[0] + bones[1]) + holds * ours.pos[:, limb.bodies[2]]
    way = goal - start
    hinge = ours.rot[:, limb.bodies[0]] @ limb.axis
    upper, lower = (float(np.linalg.norm(bone)) for bone in (limb.upper, limb.lower))
    towards = torch.as_tensor(np.cross(way, hinge))
    bent = limb_bones(torch.as_tensor(way), towards, upper, lower, nearest=0.02 * (upper + lower), straight=_STRAIGHT)
    for joint, before, after in zip((first, second), bones, bent, strict=True):
        turn = shortest_turn(torch.as_tensor(before), after).numpy() @ turns[:, joint]
        _carry(rig, joint, turn, turns, stops=(second, end))
    if not limb.places[2].endswith("ankle"):
        _carry(rig, end, turns[:, second], turns)


def _carry(rig: Rig, joint: int, turn: Array, turns: Array, stops: tuple[int, ...] = ()) -> None:
    """Turn a joint, and with it what hangs on it, down to those that have turns of their own."""
    turns[:, joint] = turn
    moved = {joint}
    for below in rig.subtree:
        if rig.parents[below] in moved and below not in stops:
            turns[:, below] = turn
            moved.add(below)


def _flatten_toes(rig: Rig, turns: Array, ours: _Ours, anatomy: Anatomy) -> None:
    """Toes stay level while the heel of a standing foot rises."""
    for side in SIDES:
        toe = rig.places.get(f"{side}_toe")
        if toe is None:
            continue
        foot = ours.rot[:, anatomy.body[f"{side}_ankle"]]
        rise = np.clip(np.arcsin(np.clip(-foot[:, 2, 0], -1, 1)), 0.0, _MOST_TOE) * ours.touch[f"{side}_ankle"]
        back = Rotation.from_rotvec(-rise[:, None] * foot[:, :, 1]).as_matrix()
        _carry(rig, toe, back @ turns[:, toe], turns)


def _places(rig: Rig, root: Array, turns: Array) -> dict[int, Array]:
    """{node: [T, 3]} of the pelvis and all below it."""
    at = {rig.pelvis: root}
    for joint in rig.subtree[1:]:
        parent = rig.parents[joint]
        at[joint] = at[parent] + turns[:, parent] @ rig.stance.bone(parent, joint)
    return at


def _travel(rig: Rig, root: Array, ours: _Ours, anatomy: Anatomy, size: float, fps: float) -> Array:
    """[T, 4, 4] what the root bone's world does to the stance, z up: a turn about the vertical, then a shift."""
    soles = [
        ours.pos[:, foot, 2] + size * (ours.rot[:, foot] @ anatomy.sole.T)[:, 2].min(-1) for foot in anatomy.feet
    ]  # fmt: skip
    ground = np.concatenate([root[:, :2], np.minimum(*soles)[:, None]], 1)
    ahead = ours.rot[:, 0, :2, 0]
    ground, ahead = (_smooth(values, _TRAVEL * fps) for values in (ground, ahead))
    c, s = unit(ahead).T
    stance, moved = rig.stance, np.tile(np.eye(4), (len(root), 1, 1))
    moved[:, 0, 0], moved[:, 0, 1], moved[:, 1, 0], moved[:, 1, 1] = c, -s, s, c
    below = stance.pos[rig.pelvis].copy()
    below[2] = np.mean([stance.pos[rig.places[f"{side}_ankle"], 2] + stance.sole[side][0, 2] for side in SIDES])
    moved[:, :3, 3] = ground - moved[:, :3, :3] @ below
    return moved


def _in_file(rig: Rig, root: Array, turns: Array, travel: Array | None) -> tuple[Array, dict[int, Array]]:
    """Rotations [T, N, 4] against the parents, and places [T, 3] of what moves, in the file's axes and unit."""
    frames = len(root)
    local = np.tile(rig.reference.rotation, (frames, 1, 1))
    above = rig.parents[rig.pelvis]
    frame = np.tile(np.eye(4) if above < 0 else rig.world[above], (frames, 1, 1))
    places = {}

    # the root bone, and with it what stands between it and the pelvis
    if travel is not None:
        change = np.tile(np.eye(4), (frames, 1, 1))
        change[:, :3, :3] = rig.to_z_up.T @ travel[:, :3, :3] @ rig.to_file.T
        change[:, :3, 3] = travel[:, :3, 3] @ rig.to_z_up / rig.unit
        parent = np.eye(4) if rig.parents[rig.root] < 0 else rig.world[rig.parents[rig.root]]
        own = np.linalg.inv(parent) @ change @ rig.world[rig.root]
        places[rig.root] = own[:, :3, 3]
        local[:, rig.root] = Rotation.from_matrix(_upright(own)).as_quat()
        frame = change @ frame

    # the pelvis and all below it
    world = rig.to_z_up.T @ turns @ rig.stance.rot
    for joint in rig.subtree:
        parent = _upright(frame) if joint == rig.pelvis else world[:, rig.parents[joint]]
        local[:, joint] = Rotation.from_matrix(parent.transpose(0, 2, 1) @ world[:, joint]).as_quat()
    away = root @ rig.to_z_up / rig.unit - frame[:, :3, 3]
    places[rig.pelvis] = np.linalg.solve(frame[:, :3, :3], away[..., None])[..., 0]
    return local, places


def _smooth(values: Array, width: float) -> Array:
    """Averaged with a Gaussian of `width` frames; beyond its ends a track goes on as it came."""
    reach = min(round(4 * width), len(values) - 1)
    longer = np.pad(values, ((reach, reach), (0, 0)), mode="reflect", reflect_type="odd")
    return ndimage.gaussian_filter1d(longer, width, axis=0, mode="nearest")[reach : reach + len(values)]


def _upright(frames: Array) -> Array:
    """Rotations [T, 3, 3] of frames [T, 4, 4] that may have a scale."""
    return frames[:, :3, :3] / np.linalg.norm(frames[:, :3, :3], axis=1, keepdims=True)


def _between(a: Array, b: Array, share: float) -> Array:
    """Rotations [T, 3, 3] a share of the way from a to b."""
    if share >= 1:
        return b
    step = (Rotation.from_matrix(a).inv() * Rotation.from_matrix(b)).as_rotvec()
    return (Rotation.from_matrix(a) * Rotation.from_rotvec(share * step)).as_matrix()
