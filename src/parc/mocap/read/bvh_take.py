"""Motions of BVH files with any skeleton.

A joint's rotation is the product of its rotation channels in the order they are written, R = R_1(a_1) R_2(a_2) R_3(a_3); its
position in the parent's frame is its offset, or its position channels where it has them. End sites become joints named after
their parent with `_end`. Units and the up axis are not written in the file: see `parc.mocap.read.detect_units_and_rate`.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from parc.dataset.convert.bvh_file import POSITIONS, Bvh
from parc.dataset.convert.bvh_file import parse_bvh as parse_text
from parc.errors import FormatError
from parc.mocap.read.source_motion import SourceMotion, joints_in_world
from parc.run.file_reading import read_bytes


def read_bvh(path: Path | str) -> SourceMotion:
    """The motion in a file, in the file's units and axes."""
    path = Path(path)
    try:
        text = read_bytes(path).decode()
    except UnicodeDecodeError:
        raise FormatError(f"{path.name} is not a text file") from None
    return parse_bvh(text, path.name)


def parse_bvh(text: str, file: str) -> SourceMotion:
    """`file` is the file's name, also for messages."""
    bvh, name = parse_text(text, file), Path(file).stem
    names = [joint.name for joint in bvh.joints]
    parents = [joint.parent for joint in bvh.joints]
    pos, rot = _forward(bvh)
    ends, end_rot = [pos], [rot]
    for j, joint in enumerate(bvh.joints):
        if joint.end is None:
            continue
        names.append(f"{joint.name}_end")
        parents.append(j)
        ends.append((pos[:, j] + rot[:, j] @ np.asarray(joint.end))[:, None])
        end_rot.append(rot[:, j : j + 1])
    fps = bvh.fps
    return SourceMotion(
        name=name,
        joints=tuple(names),
        parents=tuple(parents),
        pos=np.concatenate(ends, 1),
        fps=float(round(fps)) if abs(fps - round(fps)) < 2e-3 * fps else fps,
        rot=np.concatenate(end_rot, 1),
        file=file,
    )


def _forward(bvh: Bvh) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """World positions [T, J, 3] and rotations [T, J, 3, 3]: all frames at once, a joint at a time."""
    frames, count = len(bvh.values), len(bvh.joints)
    offsets, turns = np.empty((frames, count, 3)), np.empty((frames, count, 3, 3))
    column = 0
    for j, joint in enumerate(bvh.joints):
        offsets[:, j] = joint.offset
        order, angles = "", []
        for channel in joint.channels:
            if channel in POSITIONS:
                offsets[:, j, POSITIONS.index(channel)] = bvh.values[:, column]
            else:
                order += channel[0]
                angles.append(bvh.values[:, column])
            column += 1
        turns[:, j] = Rotation.from_euler(order, np.stack(angles, -1), degrees=True).as_matrix() if order else np.eye(3)
    return joints_in_world([joint.parent for joint in bvh.joints], offsets, turns)
