"""Joint positions alone: `.npy` or `.npz` with an array [T, J, 3] and a list of joint names.

Names come from the caller, from a `joints` (or `joint_names`) array in the `.npz`, or are recognised by their number: arrays of
53 joints are the order of the optical suits of the holosoma climbing data, 22 or 24 that of SMPL. Joints of any other array are
called by their numbers, "0", "1", ..., and a naming table says what they are.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from parc.errors import FormatError
from parc.mocap.read.amass_files import JOINTS as SMPL_JOINTS
from parc.mocap.read.amass_files import load_arrays
from parc.mocap.read.source_motion import SourceMotion

_FINGERS = tuple(f"{f}{k}" for f in ("Thumb", "Index", "Middle", "Ring", "Pinky") for k in (1, 2, 3))


def _arm(side: str) -> tuple[str, ...]:
    limb = tuple(f"{side}{part}" for part in ("Shoulder", "Arm", "ForeArm", "Hand"))
    return limb + tuple(f"{side}Hand{finger}" for finger in _FINGERS)


def _leg(side: str) -> tuple[str, ...]:
    return tuple(f"{side}{part}" for part in ("UpLeg", "Leg", "Foot", "ToeBase"))


SUIT_53 = (
    "Hips", "Spine", "Spine1", "Neck", "Head", *_arm("Left"), *_arm("Right"), *_leg("Left"), *_leg("Right"),
    "LeftFootMod", "RightFootMod",
)  # fmt: skip
_BY_COUNT = {53: SUIT_53, 22: SMPL_JOINTS, 24: (*SMPL_JOINTS, "left_hand", "right_hand")}


def read_positions(path: Path | str, joints: tuple[str, ...] | None = None, fps: float | None = None) -> SourceMotion:
    """A folder stands for the one array file in it."""
    path = Path(path)
    file = _only_file(path) if path.is_dir() else path
    arrays = load_arrays(file)
    pos = _joint_array(arrays, file.name)
    joints = joints or _stored_names(arrays) or _BY_COUNT.get(pos.shape[1]) or tuple(map(str, range(pos.shape[1])))
    if len(joints) != pos.shape[1]:
        raise FormatError(f"{file.name}: {len(joints)} joint names given for {pos.shape[1]} joints")
    rate = fps or next((_rate(arrays[k], file.name) for k in ("fps", "mocap_framerate", "frame_rate") if k in arrays), None)
    if rate is None:
        raise FormatError(f"{file.name}: has no frame rate; give one (--fps, or true_fps on a shortlist)")
    told_as = f"{path.name}/{file.name}" if path.is_dir() else path.name
    return SourceMotion(path.stem, tuple(joints), (-1,) * len(joints), pos.astype(np.float64), rate, file=told_as)


def _rate(array: NDArray, name: str) -> float:
    if array.size != 1 or array.dtype.kind not in "biuf":
        raise FormatError(f"{name}: the frame rate is an array of {array.dtype} {list(array.shape)}, expected one number")
    return float(array.reshape(()))


def _only_file(folder: Path) -> Path:
    files = sorted(f for f in folder.iterdir() if f.suffix in (".npy", ".npz"))
    if len(files) != 1:
        raise FormatError(f"{folder.name}: holds {len(files)} array files, expected one")
    return files[0]


def _joint_array(arrays: dict[str, NDArray], name: str) -> NDArray:
    candidates = {k: a for k, a in arrays.items() if a.ndim == 3 and a.shape[-1] == 3 and a.dtype.kind == "f"}
    for key in ("positions", "joint_positions", "joints", "pos", "global_joint_positions"):
        if key in candidates:
            return candidates[key]
    if len(candidates) != 1:
        found = ", ".join(f"{k} {list(a.shape)}" for k, a in arrays.items()) or "nothing"
        raise FormatError(f"{name}: expected one array of joint positions [T, J, 3], found {found}")
    return next(iter(candidates.values()))


def _stored_names(arrays: dict[str, NDArray]) -> tuple[str, ...] | None:
    for key in ("joint_names", "joints", "names"):
        if key in arrays and arrays[key].dtype.kind in "US" and arrays[key].ndim == 1:
            return tuple(str(n) for n in arrays[key])
    return None
