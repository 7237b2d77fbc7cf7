"""A motion from a file of any known format, in metres with z up.

.bvh                  any skeleton
.glb .gltf .vrm       any skeleton; one of the file's animations
.npz                  SMPL poses (AMASS), joint positions or MuJoCo's qpos, told apart by their arrays
.npy, a folder        joint positions
.txt .pkl .motion     motions that are a character's already (DeepMimic, MimicKit, the paper's, ours), as qpos is: their joints
                      are taken
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from parc.character.character import Character
from parc.character.humanoid import humanoid
from parc.dataset.clip import Clip
from parc.dataset.convert.clip_files import load_clip
from parc.dataset.convert.gltf_document import SUFFIXES as GLTF_SUFFIXES
from parc.errors import FormatError, ParcError
from parc.mocap.read.amass_files import load_arrays, read_amass
from parc.mocap.read.bvh_take import read_bvh
from parc.mocap.read.detect_units_and_rate import Axis, upright
from parc.mocap.read.gltf_take import read_gltf_take
from parc.mocap.read.joint_positions import read_positions
from parc.mocap.read.source_motion import SourceMotion
from parc.mocap.subject.body_landmarks import Landmarks, landmarks_of, landmarks_of_motion
from parc.run.file_reading import reading

OURS = (".txt", ".pkl", ".motion")
"""files of motions that are a character's already"""
_JUMP = 0.1
"""share of a leg that joints move on average between an added rest pose and the first recorded frame"""


@dataclass(frozen=True)
class ReadSettings:
    """What a file says wrong or does not say; None is found out."""

    fps: float | None = None
    unit: float | None = None
    """m"""
    up: Axis | None = None
    naming: Mapping[str, str] | None = None
    """{place: joint name}, see `parc.mocap.read.joint_naming`"""
    joints: tuple[str, ...] | None = None
    """names of the joints in an array that has none"""
    animation: str | None = None
    """which animation of a glTF file"""


@dataclass(frozen=True, eq=False)
class Take:
    """What a file gave."""

    landmarks: Landmarks
    warnings: tuple[str, ...] = ()


def read_take(path: Path | str, character: Character, settings: ReadSettings = ReadSettings()) -> Take:
    """The landmarks in a file; `character` is needed for motions that are one's already."""
    path = Path(path)
    with reading(path.name):
        return _read_take(path, character, settings)


def _read_take(path: Path, character: Character, settings: ReadSettings) -> Take:
    if path.suffix.lower() in OURS or (path.suffix.lower() == ".npz" and path.is_file() and "qpos" in load_arrays(path)):
        clip, owner = _clip_of(path, character)
        landmarks = landmarks_of_motion(owner, clip.motion, path.stem)
        unused = f"{path.name} is in metres with z up; the unit or up axis given was not used"
        return Take(replace(landmarks, fps=settings.fps or landmarks.fps), (unused,) if settings.unit or settings.up else ())
    source = read_source(path, settings)
    return Take(landmarks_of(source, settings.naming), source.warnings)


def _clip_of(path: Path, character: Character) -> tuple[Clip, Character]:
    """A motion that is a character's already, and whose it is: a motion of the humanoid may be fitted to another body."""
    try:
        return load_clip(path, character), character
    except ParcError:
        if character == humanoid():
            raise
        try:
            return load_clip(path, humanoid()), humanoid()
        except ParcError:
            pass
        raise


def read_source(path: Path | str, settings: ReadSettings = ReadSettings()) -> SourceMotion:
    """The motion in a file in metres, z up, without a rest pose that was put before the first frame."""
    path = Path(path)
    if not path.exists():
        raise FormatError(f"{path} does not exist")
    suffix, up = path.suffix.lower(), settings.up
    if settings.animation is not None and suffix not in GLTF_SUFFIXES:
        raise FormatError(f"{path.name} holds one motion, so none of its animations can be named; {', '.join(GLTF_SUFFIXES)} do")
    if suffix == ".bvh":
        source = read_bvh(path)
    elif suffix in GLTF_SUFFIXES:
        source, up = read_gltf_take(path, settings.animation), up or "y"
    elif suffix == ".npz" and "poses" in load_arrays(path):
        source, up = read_amass(path), up or "z"
    elif path.is_dir() or suffix in (".npy", ".npz"):
        source = read_positions(path, settings.joints, settings.fps)
    else:
        raise FormatError(
            f"{path.name}: unknown extension '{path.suffix}'; known are .bvh {' '.join(GLTF_SUFFIXES)} .npz .npy {' '.join(OURS)}"
        )
    return upright(without_rest_pose(source), settings.naming, settings.unit, up, settings.fps)


def without_rest_pose(source: SourceMotion) -> SourceMotion:
    """Without frame 0 if the joints jump, against the root, after it far more than they ever move later."""
    if len(source) < 4:
        return source
    shape = source.pos - source.pos[:, :1]
    steps = np.linalg.norm(np.diff(shape[: min(len(shape), 200)], axis=0), axis=-1).mean(-1)
    size = np.linalg.norm(shape[0], axis=-1).max()
    if steps[0] > max(8 * np.quantile(steps[1:], 0.9), 0.5 * _JUMP * size):
        return replace(source.slice(1), warnings=(*source.warnings, "frame 0 was a rest pose and was dropped"))
    return source
