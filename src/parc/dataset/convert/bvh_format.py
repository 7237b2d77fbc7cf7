"""Our motion as BVH, and BVH of our own skeleton back.

The rest pose is the character's zero pose (the humanoid's T-pose, facing +X), y up (see `parc.dataset.convert.y_up_axes`), in
metres or centimetres. The root has six channels, every other body three rotations; the root's position channels are its place in
the world, whatever its OFFSET. BVH has no place for contacts, terrain, path, provenance and looping: they are dropped, and a clip
that is read stands on flat ground at height 0 without contacts.

Euler order: X (lean) in the middle, written Yrotation Xrotation Zrotation, since turning (Y) and pitching (Z) go all the way
round in ordinary motion and leaning sideways past a quarter turn does not. A joint that may turn more than a quarter about X
(the humanoid's shoulders: an arm that hangs is a quarter turn from the T-pose) has in the middle the axis it turns
least about. Over 39,000 frames of parkour motion the shoulders came within 10 degrees of gimbal lock in 0.04 % of the frames and
no other joint within 8; the rotations are exact even there, see `parc.dataset.convert.euler_angles`.
"""

import math
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from parc.character import rotation
from parc.character.character import Body, Character, Joint
from parc.dataset.clip import Clip
from parc.dataset.convert.bvh_file import POSITIONS, ROTATIONS, Bvh, BvhJoint, Vector, format_bvh, parse_bvh
from parc.dataset.convert.euler_angles import continuous, to_euler
from parc.dataset.convert.y_up_axes import from_y_up, to_y_up
from parc.dataset.flat_terrain import flat_ground
from parc.errors import FormatError
from parc.motion.motion import Motion

LengthUnit = Literal["m", "cm"]
_UNITS: dict[str, float] = {"m": 1.0, "cm": 100.0}
_ORDER_BY_MIDDLE = {"X": "YXZ", "Y": "XYZ", "Z": "YZX"}
RETARGET = "`parc convert --retarget` and `parc dataset build` fit motions of other skeletons"
_SAME_PLACE = 2e-3
"""m between the rest pose of a file and the character's that still counts as the same"""


def write_bvh(clip: Clip, character: Character, unit: LengthUnit = "m") -> str:
    """A clip's motion as the text of a BVH file, y up, in metres or centimetres."""
    if unit not in _UNITS:
        raise FormatError(f"unknown unit '{unit}' of BVH files; known are {', '.join(_UNITS)}")
    clip.check_fits(character)
    scale, order = _UNITS[unit], _depth_first(character)
    motion = clip.motion.to("cpu")
    axes = [euler_order(character.bodies[body].joint) for body in order]
    quaternions = to_y_up(torch.cat([motion.root_rot.unsqueeze(1), motion.joint_rot], 1).double().numpy())
    matrices = rotation.to_matrix(rotation.normalize(torch.from_numpy(quaternions))).numpy()
    angles = continuous(np.stack([to_euler(matrices[:, body], a) for body, a in zip(order, axes, strict=True)], 1))
    places = scale * to_y_up(motion.root_pos.double().numpy())
    joints = [_joint(character, body, order, a, scale) for body, a in zip(order, axes, strict=True)]
    values = np.concatenate([places, np.degrees(angles).reshape(len(angles), -1)], 1)
    return format_bvh(Bvh(joints, 1.0 / motion.fps, values))


def read_bvh(text: str, character: Character, name: str) -> Clip:
    """A file whose joints are the character's bodies, in metres or centimetres; any Euler orders."""
    bvh = parse_bvh(text, name)
    place = _match(bvh, character, name)
    scale = _scale(bvh, character, place, name)
    starts = bvh.channel_start
    rotations = np.stack([_rotations(bvh, i, starts[i], name) for i in place], 1)
    root = bvh.joints[place[0]]
    if not set(POSITIONS) <= set(root.channels):
        raise FormatError(f"{name}: root '{root.name}' has the channels {' '.join(root.channels)}, expected three positions too")
    _check_bones(bvh, place, scale, name)
    turned = torch.from_numpy(from_y_up(rotations)).float()
    motion = Motion(
        root_pos=torch.from_numpy(from_y_up(_positions(bvh, place[0])) / scale).float(),
        root_rot=turned[:, 0].contiguous(),
        joint_rot=turned[:, 1:].contiguous(),
        contacts=torch.zeros(len(turned), len(character)),
        fps=_fps(bvh.fps),
    )
    return Clip(name, motion, flat_ground(motion), None, character.name)


def euler_order(joint: Joint) -> str:
    """The order for a joint in the file's axes, by the rule of the module's docstring."""
    reach = np.zeros(3)
    for axis, lower, upper in zip(joint.axes, joint.lower, joint.upper, strict=True):
        reach += max(abs(lower), abs(upper)) * np.abs(to_y_up(np.array(axis, float)))
    middle = "X" if reach[0] <= math.pi / 2 else "XYZ"[int(reach.argmin())]
    return _ORDER_BY_MIDDLE[middle]


def _joint(character: Character, body: int, order: list[int], axes: str, scale: float) -> BvhJoint:
    b = character.bodies[body]
    channels = tuple(f"{axis}rotation" for axis in axes)
    is_leaf = body not in character.parents
    return BvhJoint(
        name=_label(b.name),
        parent=order.index(b.parent) if body else -1,
        offset=_turned(b.offset, scale) if body else (0.0, 0.0, 0.0),
        channels=channels if body else (*POSITIONS, *channels),
        end=_turned(_tip(b), scale) if is_leaf else None,
    )


def _turned(v: Vector, scale: float) -> Vector:
    x, y, z = (scale * to_y_up(np.array(v, float))).tolist()
    return x, y, z


def _tip(body: Body) -> Vector:
    """Where a body without children ends: the far side of its shapes, along the axis on which they lie farthest out."""
    if not body.shapes:
        return 0.0, 0.0, 0.05
    low = np.min([s.bounds[0] for s in body.shapes], 0)
    high = np.max([s.bounds[1] for s in body.shapes], 0)
    middle = (low + high) / 2
    direction = middle if np.abs(middle).max() > 1e-3 else np.array(body.offset, float)
    axis = int(np.abs(direction).argmax())
    tip = middle.copy()
    tip[axis] = high[axis] if direction[axis] >= 0 else low[axis]
    x, y, z = tip.tolist()
    return x, y, z


def _depth_first(character: Character) -> list[int]:
    order: list[int] = []
    waiting = [0]
    while waiting:
        body = waiting.pop()
        order.append(body)
        waiting += [child for child in range(len(character) - 1, body, -1) if character.parents[child] == body]
    return order


def _label(name: str) -> str:
    return "_".join(name.split())


def _match(bvh: Bvh, character: Character, name: str) -> list[int]:
    """The file's joint for each body of the character."""
    found = {_label(joint.name): i for i, joint in enumerate(bvh.joints)}
    wanted = [_label(b) for b in character.names]
    if set(found) != set(wanted) or len(found) != len(bvh.joints):
        missing, extra = sorted(set(wanted) - set(found)), sorted(set(found) - set(wanted))
        what = f"has no joint '{missing[0]}'" if missing else f"has a joint '{extra[0]}' too many" if extra else "repeats a joint"
        raise FormatError(f"{name} is not of character '{character.name}': it {what}; {RETARGET}")
    place = [found[label] for label in wanted]
    for body, joint in enumerate(place):
        parent = bvh.joints[joint].parent
        if parent != (place[character.parents[body]] if body else -1):
            raise FormatError(f"{name}: joint '{bvh.joints[joint].name}' hangs on another joint than the character's; {RETARGET}")
    return place


def _scale(bvh: Bvh, character: Character, place: list[int], name: str) -> float:
    """Units of the file in a metre, told by the length of the bones."""
    if len(character) == 1:
        return 1.0
    theirs = np.array([bvh.joints[i].offset for i in place[1:]])
    ours = to_y_up(np.array([b.offset for b in character.bodies[1:]], float))
    ratio = float(np.linalg.norm(theirs, axis=1).sum() / np.linalg.norm(ours, axis=1).sum())
    scale = next((s for s in _UNITS.values() if abs(ratio / s - 1) < 0.02), None)
    if scale is None:
        raise FormatError(
            f"{name}: its bones are {ratio:.4g} times as long as those of character '{character.name}',"
            f" expected 1 (metres) or 100 (centimetres); {RETARGET}"
        )
    off = np.linalg.norm(theirs / scale - ours, axis=1)
    if off.max() > _SAME_PLACE:
        worst = character.names[1 + int(off.argmax())]
        raise FormatError(
            f"{name}: in its rest pose joint '{worst}' is {100 * off.max():.1f} cm from the character's; {RETARGET}"
        )
    return scale


def _rotations(bvh: Bvh, index: int, start: int, name: str) -> NDArray[np.float64]:
    """Quaternions [T, 4] (xyzw) in the file's axes."""
    joint = bvh.joints[index]
    turns = [i for i, channel in enumerate(joint.channels) if channel in ROTATIONS]
    axes = "".join(joint.channels[i][0] for i in turns)
    if sorted(axes) != ["X", "Y", "Z"]:
        given = " ".join(joint.channels) or "none"
        raise FormatError(f"{name}: joint '{joint.name}' has the channels {given}, expected a rotation about each axis")
    total = rotation.identity((len(bvh.values),), dtype=torch.float64)
    for i, axis in zip(turns, axes, strict=True):
        angles = torch.from_numpy(np.radians(bvh.values[:, start + i]))
        total = rotation.multiply(total, rotation.from_axis_angle(torch.eye(3, dtype=torch.float64)["XYZ".index(axis)], angles))
    return total.numpy()


def _positions(bvh: Bvh, index: int) -> NDArray[np.float64]:
    start, channels = bvh.channel_start[index], bvh.joints[index].channels
    return bvh.values[:, [start + channels.index(channel) for channel in POSITIONS]]


def _check_bones(bvh: Bvh, place: list[int], scale: float, name: str) -> None:
    """Some programs write positions for every joint; they must be the bones' own."""
    for i in place[1:]:
        joint = bvh.joints[i]
        if set(POSITIONS) <= set(joint.channels):
            slip = np.abs(_positions(bvh, i) - joint.offset).max() / scale
            if slip > _SAME_PLACE:
                raise FormatError(f"{name}: joint '{joint.name}' moves {100 * slip:.1f} cm along its bone; {RETARGET}")


def _fps(fps: float) -> float:
    """Rounded where it is a whole number up to the digits files are written with."""
    return float(round(fps)) if abs(fps - round(fps)) < 2e-5 * fps else fps
