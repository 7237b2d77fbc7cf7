"""AMASS and other SMPL motions: `.npz` with axis-angle poses, a root translation and a frame rate.

Joint positions need the body's skeleton, which in SMPL depends on the shape parameters through a licensed model. Retargeting
scales to the character's legs anyway, so the mean skeleton stands in for everybody: bone lengths differ from the subject's by a
few per cent, joint angles not at all. The file's world has z up.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from parc.dataset.convert.array_file import parse_arrays
from parc.errors import FormatError
from parc.mocap.read.source_motion import SourceMotion, joints_in_world
from parc.run.file_reading import read_bytes

JOINTS = (
    "pelvis", "left_hip", "right_hip", "spine1", "left_knee", "right_knee", "spine2", "left_ankle", "right_ankle", "spine3",
    "left_foot", "right_foot", "neck", "left_collar", "right_collar", "head", "left_shoulder", "right_shoulder", "left_elbow",
    "right_elbow", "left_wrist", "right_wrist",
)  # fmt: skip
PARENTS = (-1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 12, 13, 14, 16, 17, 18, 19)
MEAN_OFFSETS = np.array([
    (-0.0018, -0.2233, 0.0282), (0.0695, -0.0914, -0.0068), (-0.0677, -0.0905, -0.0043), (-0.0025, 0.1090, -0.0267),
    (0.0343, -0.3752, -0.0045), (-0.0383, -0.3826, -0.0089), (0.0055, 0.1352, 0.0011), (-0.0136, -0.3980, -0.0437),
    (0.0158, -0.3984, -0.0423), (0.0015, 0.0529, 0.0254), (0.0264, -0.0558, 0.1193), (-0.0254, -0.0481, 0.1233),
    (-0.0028, 0.2139, -0.0429), (0.0788, 0.1217, -0.0341), (-0.0818, 0.1188, -0.0386), (0.0052, 0.0650, 0.0513),
    (0.0910, 0.0305, -0.0089), (-0.0960, 0.0326, -0.0091), (0.2596, -0.0128, -0.0275), (-0.2537, -0.0133, -0.0214),
    (0.2492, 0.0090, -0.0012), (-0.2553, 0.0078, -0.0056),
])  # fmt: skip
"""m, of each joint from its parent in the mean body's rest pose (y up, facing z)"""


def read_amass(path: Path | str) -> SourceMotion:
    """Needs `poses` [T, 66 or more], `trans` [T, 3] and `mocap_framerate` (or `mocap_frame_rate`, `fps`)."""
    path = Path(path)
    arrays = load_arrays(path)
    for key in ("poses", "trans"):
        if key not in arrays:
            raise FormatError(f"{path.name}: an SMPL motion needs 'poses' and 'trans', this file has {', '.join(arrays)}")
    rate = next((arrays[k] for k in ("mocap_framerate", "mocap_frame_rate", "fps") if k in arrays), None)
    if rate is None or rate.size != 1 or rate.dtype.kind not in "biuf":
        raise FormatError(f"{path.name}: has no frame rate ('mocap_framerate')")
    poses, trans = arrays["poses"], arrays["trans"]
    needed = 3 * len(JOINTS)
    are_numbers = poses.dtype.kind in "iuf" and trans.dtype.kind in "iuf"
    if not are_numbers or poses.ndim != 2 or poses.shape[1] < needed or trans.shape != (len(poses), 3):
        raise FormatError(
            f"{path.name}: poses are {list(poses.shape)} and trans {list(trans.shape)}, expected [T, {needed}+] and [T, 3]"
        )
    if not np.isfinite(poses).all() or not np.isfinite(trans).all():
        raise FormatError(f"{path.name}: poses or trans are not finite")
    pos, rot = _forward(poses[:, :needed].reshape(len(poses), -1, 3).astype(np.float64), trans.astype(np.float64))
    return SourceMotion(path.stem, JOINTS, PARENTS, pos, float(rate.reshape(())), rot, file=path.name)


def load_arrays(path: Path) -> dict[str, NDArray]:
    """The arrays in an .npz or .npy file, without unpickling anything; arrays of objects are left out."""
    return parse_arrays(read_bytes(path), path.name)


def _forward(axis_angle: NDArray[np.float64], trans: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    frames, joints = axis_angle.shape[:2]
    turns = Rotation.from_rotvec(axis_angle.reshape(-1, 3)).as_matrix().reshape(frames, joints, 3, 3)
    offsets = np.tile(MEAN_OFFSETS, (frames, 1, 1))
    offsets[:, 0] += trans
    return joints_in_world(PARENTS, offsets, turns)
