from pathlib import Path

import numpy as np
import pytest

from parc.character import Character
from parc.dataset import save_clip
from parc.dataset.clip import Clip
from parc.errors import FormatError
from parc.mocap.read.read_take import ReadSettings, read_source, read_take, without_rest_pose
from parc.mocap.read.source_motion import SourceMotion
from parc.mocap.subject.body_landmarks import landmarks_of_motion


def test_a_rest_pose_before_the_first_frame_is_dropped_and_nothing_else(jumping_person) -> None:
    source: SourceMotion = jumping_person(120.0)
    assert without_rest_pose(source) is source
    arms_out = source.pos[:1].copy()
    for j, joint in enumerate(source.joints):
        if "Arm" in joint or "Hand" in joint:
            arms_out[0, j] += [0.0, np.sign(arms_out[0, j, 1]) * 0.5, 0.4]
    with_rest = SourceMotion(source.name, source.joints, source.parents, np.concatenate([arms_out, source.pos]), source.fps)
    got = without_rest_pose(with_rest)
    np.testing.assert_array_equal(got.pos, source.pos)
    assert "rest pose" in got.warnings[0]


def test_a_file_in_the_file_formats_of_characters_is_taken_joint_by_joint(
    character: Character, flat_walk: Clip, tmp_path: Path
) -> None:
    save_clip(flat_walk, tmp_path / "walk.motion", character)
    take = read_take(tmp_path / "walk.motion", character)
    own = landmarks_of_motion(character, flat_walk.motion)
    assert set(take.landmarks.at) == set(own.at)
    np.testing.assert_allclose(take.landmarks["left_toe"], own["left_toe"], atol=1e-6)


def test_given_rate_goes_before_the_files(character: Character, flat_walk: Clip, bvh_text, tmp_path: Path) -> None:
    (tmp_path / "w.bvh").write_text(bvh_text(character, flat_walk, tempo=0.5))
    assert read_source(tmp_path / "w.bvh").fps == pytest.approx(60.0)
    assert read_source(tmp_path / "w.bvh", ReadSettings(fps=30.0)).fps == 30.0
    for name in ("w.motion", "w.npz"):
        save_clip(flat_walk, tmp_path / name, character)
        assert read_take(tmp_path / name, character).landmarks.fps == 30.0
        assert read_take(tmp_path / name, character, ReadSettings(fps=25.0)).landmarks.fps == 25.0


def test_a_unit_that_cannot_apply_is_told(character: Character, flat_walk: Clip, tmp_path: Path) -> None:
    save_clip(flat_walk, tmp_path / "w.motion", character)
    assert read_take(tmp_path / "w.motion", character).warnings == ()
    (warning,) = read_take(tmp_path / "w.motion", character, ReadSettings(unit=0.01)).warnings
    assert warning == "w.motion is in metres with z up; the unit or up axis given was not used"


def test_what_cannot_be_read_is_said(character: Character, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="does not exist"):
        read_take(tmp_path / "none.bvh", character)
    (tmp_path / "take.fbx").write_bytes(b"x")
    with pytest.raises(FormatError, match=r"unknown extension '.fbx'; known are .bvh .glb .gltf .vrm .npz .npy .txt"):
        read_take(tmp_path / "take.fbx", character)
    (tmp_path / "bad.npz").write_bytes(b"not a zip")
    with pytest.raises(FormatError, match="not a readable array file"):
        read_take(tmp_path / "bad.npz", character)
