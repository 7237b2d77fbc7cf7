"""DeepMimic motion files: `.txt`, JSON with `Loop` ("wrap" or "none") and `Frames`, one row of 44 numbers a frame.

    duration, root position 3, root 4, chest 4, neck 4, right hip 4, knee 1, ankle 4, shoulder 4, elbow 1, left the same 14

Its world is y up with z to the right and quaternions are wxyz; ours is (x, -z, y), a quarter turn about x, which the vector part
of a quaternion follows. DeepMimic's arms hang down in the zero pose and ours point sideways, so shoulders are multiplied on the
right by a quarter turn about x, +90 degrees on the right side and -90 on the left. Its knees bend the other way round.
The body is the paper's humanoid, bone for bone. There are no contacts and no terrain: flat ground at height 0 is given.
"""

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from parc.character import rotation
from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.dataset.convert import checked_field
from parc.dataset.flat_terrain import flat_ground
from parc.errors import FormatError
from parc.motion.motion import Motion
from parc.motion.motion_edits import sample
from parc.run.file_reading import parse_json

_SIDE = (("thigh", 4), ("shin", 1), ("foot", 4), ("upper_arm", 4), ("lower_arm", 1))
_LAYOUT = (("torso", 4), ("head", 4), *((f"{side}_{part}", n) for side in ("right", "left") for part, n in _SIDE))
_MOST_STRETCH = 100
"""frames that are made of one that lasts longer than the others, on average"""
_COLUMNS = 8 + sum(n for _, n in _LAYOUT)
_HINGE_SIGN = {"right_shin": -1.0, "left_shin": -1.0, "right_lower_arm": 1.0, "left_lower_arm": -1.0}
_ARM_TURN = {"right_upper_arm": math.pi / 2, "left_upper_arm": -math.pi / 2}


def read_deepmimic(text: str, character: Character, name: str) -> Clip:
    """A clip from the JSON text of a DeepMimic motion."""
    content = _parse(text, name)
    rows = checked_field.numbers(content["Frames"], (None, _COLUMNS), "Frames", name).double()
    if len(rows) == 0:
        raise FormatError(f"{name}: Frames is empty")
    joint_rot = rotation.identity((len(rows), character.num_joints), dtype=torch.float64)
    column = 8
    for body, width in _LAYOUT:
        index = character.index(body)
        joint = character.bodies[index].joint
        if joint.is_ball != (width == 4) or joint.is_hinge != (width == 1):
            raise FormatError(
                f"{name}: DeepMimic's '{body}' has {width} numbers, which does not fit character '{character.name}'"
            )
        joint_rot[:, index - 1] = _joint(rows[:, column : column + width], body, joint.axes)
        column += width
    motion = Motion(
        root_pos=torch.stack([rows[:, 1], -rows[:, 3], rows[:, 2]], -1).float(),
        root_rot=_turned(rows[:, 4:8]).float(),
        joint_rot=joint_rot.float(),
        contacts=torch.zeros(len(rows), len(character)),
        fps=_fps(rows[:, 0], name),
        loops=checked_field.loops(content.get("Loop", "none"), name),
    )
    motion = _evenly_timed(motion, rows[:, 0], name)
    return Clip(name, motion, flat_ground(motion), None, character.name)


def _parse(text: str, name: str) -> dict[str, Any]:
    content = checked_field.block(parse_json(text, name), "the file", name)
    checked_field.check_keys(
        content, ("Frames",), ("Loop", "Frames", "RightJoints", "LeftJoints", "EnableCycleSyncRootPos"), "the file", name
    )
    return content


def _turned(wxyz: Tensor) -> Tensor:
    """DeepMimic's wxyz, y up, as our xyzw, z up."""
    w, x, y, z = wxyz.unbind(-1)
    return rotation.normalize(torch.stack([x, -z, y, w], -1))


def _joint(values: Tensor, body: str, axes: tuple) -> Tensor:
    if values.shape[-1] == 1:
        return rotation.from_axis_angle(values.new_tensor(axes[0]), _HINGE_SIGN[body] * values[:, 0])
    q = _turned(values)
    if body in _ARM_TURN:
        q = rotation.multiply(q, rotation.from_exp(q.new_tensor([_ARM_TURN[body], 0.0, 0.0])).expand_as(q))
    return q


def _fps(durations: Tensor, name: str) -> float:
    """From the median duration, rounded where it is a whole number up to the digits files are written with."""
    step = float(np.median(durations[: max(len(durations) - 1, 1)].numpy()))
    if len(durations) == 1:
        return 30.0
    if not 0 < step < math.inf:
        raise FormatError(f"{name}: frames last {step:g} s, expected a positive duration")
    fps = 1.0 / step
    return float(round(fps)) if abs(fps - round(fps)) < 1e-3 * fps else fps


def _evenly_timed(motion: Motion, durations: Tensor, name: str) -> Motion:
    """Frames of uneven duration sampled at even times."""
    steps = durations[:-1].numpy() * motion.fps
    if len(steps) == 0 or np.abs(steps - 1).max() < 1e-2:
        return motion
    times = np.concatenate([[0.0], np.cumsum(steps)])
    if not (steps > 0).all() or not times[-1] <= _MOST_STRETCH * len(times):
        raise FormatError(f"{name}: frames last {durations.min():g} to {durations.max():g} s, expected times above 0 and alike")
    even = np.arange(int(np.floor(times[-1] + 1e-6)) + 1)
    return sample(motion, torch.from_numpy(np.interp(even, times, np.arange(len(times)))))
