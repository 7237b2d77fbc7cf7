"""SMPL poses and joint positions from array files."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from parc.errors import FormatError
from parc.mocap.read.amass_files import JOINTS, MEAN_OFFSETS, PARENTS, read_amass
from parc.mocap.read.joint_positions import SUIT_53, read_positions
from parc.mocap.read.read_take import read_source


def test_a_turned_joint_carries_what_hangs_on_it(tmp_path) -> None:
    poses = np.zeros((3, 156))
    poses[:, :3] = [np.pi / 2, 0, 0]  # the body's y up to the world's z up
    knee = JOINTS.index("left_knee")
    poses[1, 3 * knee : 3 * knee + 3] = [0.9, 0, 0]
    np.savez(
        tmp_path / "walk_poses.npz",
        poses=poses,
        trans=np.array([[0, 0, 0.9]] * 3),
        mocap_framerate=np.array(60.0),
        betas=np.zeros(16),
    )
    got = read_amass(tmp_path / "walk_poses.npz")
    assert got.fps == 60
    rest = np.zeros((22, 3))
    for j, p in enumerate(PARENTS):
        rest[j] = MEAN_OFFSETS[j] + (rest[p] if p >= 0 else 0)
    up = Rotation.from_rotvec([np.pi / 2, 0, 0])
    origin = rest[0]
    np.testing.assert_allclose(got.pos[0], up.apply(rest - origin) + origin + [0, 0, 0.9], atol=1e-9)
    ankle = JOINTS.index("left_ankle")
    moved = np.linalg.norm(got.pos[1] - got.pos[0], axis=-1) > 1e-6
    assert set(np.nonzero(moved)[0]) == {ankle, JOINTS.index("left_foot")}
    assert read_source(tmp_path / "walk_poses.npz").pos[0, JOINTS.index("head"), 2] > 1.3


def test_what_an_smpl_file_lacks_is_said(tmp_path) -> None:
    np.savez(tmp_path / "a.npz", poses=np.zeros((2, 66)), trans=np.zeros((2, 3)))
    with pytest.raises(FormatError, match="frame rate"):
        read_amass(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", poses=np.zeros((2, 60)), trans=np.zeros((2, 3)), fps=30)
    with pytest.raises(FormatError, match=r"\[2, 60\]"):
        read_amass(tmp_path / "b.npz")
    np.savez(tmp_path / "c.npz", poses=np.array([{"run": "code"}], dtype=object), trans=np.zeros((2, 3)))
    with pytest.raises(FormatError, match="needs 'poses'"):
        read_amass(tmp_path / "c.npz")


def test_positions_with_names_in_the_file_or_by_their_number(tmp_path) -> None:
    pos = np.random.default_rng(0).normal(size=(4, 53, 3)).astype(np.float32)
    folder = tmp_path / "take_1"
    folder.mkdir()
    np.save(folder / "joints.npy", pos)
    got = read_positions(folder, fps=120)
    assert got.joints == SUIT_53 and got.fps == 120 and got.name == "take_1"
    np.testing.assert_array_equal(got.pos, pos.astype(np.float64))
    np.savez(tmp_path / "named.npz", positions=pos[:, :2], joint_names=np.array(["a", "b"]), fps=50)
    assert read_positions(tmp_path / "named.npz").joints == ("a", "b")
    np.savez(tmp_path / "nameless.npz", positions=pos[:, :7], fps=50)
    assert read_positions(tmp_path / "nameless.npz").joints == ("0", "1", "2", "3", "4", "5", "6")
    with pytest.raises(FormatError, match="no frame rate"):
        read_positions(folder)
    pos[2, 3, 1] = np.nan
    np.save(folder / "joints.npy", pos)
    with pytest.raises(FormatError, match="'Neck' is not finite at frame 2"):
        read_positions(folder, fps=120)
