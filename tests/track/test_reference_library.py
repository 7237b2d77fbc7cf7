from dataclasses import replace

import pytest
import torch

from parc.character import rotation
from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.errors import DatasetError
from parc.motion import motion_edits
from parc.motion.mujoco_qpos import motion_to_qvel, qpos_to_bodies
from parc.quality.limit_profiles import TrackerInputLimits
from parc.track.env.reference_library import ReferenceSettings, build_library


def test_rows_follow_the_clips_and_stay_at_the_last_frame(character: Character, squat: Clip) -> None:
    other = replace(squat, name="other", motion=squat.motion.slice(0, 20))
    library = build_library(character, [squat, other])
    assert library.names == ("squat", "other") and library.num_frames == 65
    clip, frame = torch.tensor([0, 1, 1]), torch.tensor([7, 3, 99])
    assert library.row(clip, frame).tolist() == [7, 48, 64]
    assert library.strip_of_row[[0, 44, 45, 64]].tolist() == [0, 0, 1, 1]
    torch.testing.assert_close(library.body_pos[7], squat.motion.body_poses(character).pos[7])


def test_tables_agree_with_each_other(character: Character, squat: Clip) -> None:
    moved = replace(squat, motion=squat.motion.moved(turn=torch.tensor(0.7)))
    library = build_library(character, [moved])
    pose = qpos_to_bodies(character, library.qpos)
    torch.testing.assert_close(pose.pos, library.body_pos, atol=1e-5, rtol=0)
    torch.testing.assert_close(rotation.rotate(library.root_rot, library.qvel[:, 3:6]), library.root_angular)
    expected = (library.body_pos[11, 0] - library.body_pos[9, 0]) * 15.0
    torch.testing.assert_close(library.qvel[10, :3], expected, atol=1e-4, rtol=0)


def test_mirrored_copies_stand_beside_their_clips(character: Character, squat: Clip) -> None:
    library = build_library(character, [squat], ReferenceSettings(mirrored=True))
    assert library.num_clips == 2
    reflected = motion_edits.mirror(squat.motion, character).body_poses(character).pos
    torch.testing.assert_close(library.body_pos[len(squat.motion) :], reflected)


def test_other_frame_rates_are_brought_to_the_control_rate(character: Character, squat: Clip) -> None:
    fast = replace(squat, motion=replace(squat.motion, fps=60.0))
    assert build_library(character, [fast]).num_frames == 23


def test_nothing_left_after_screening_is_an_error_with_the_reason(character: Character, squat: Clip) -> None:
    short = replace(squat, motion=squat.motion.slice(0, 4))
    with pytest.raises(DatasetError, match="squat frames is 4"):
        build_library(character, [short])


def test_velocities_do_not_cross_from_clip_to_clip(character: Character, squat: Clip) -> None:
    """Against each motion by itself, and against the steps of the key bodies; a clip of one frame stands still."""
    clips = [squat, replace(squat, motion=squat.motion.slice(7, 8)), replace(squat, motion=squat.motion.slice(3, 20))]
    library = build_library(character, clips, ReferenceSettings(TrackerInputLimits(enabled=False)))
    alone = torch.cat([motion_to_qvel(character, clip.motion) for clip in clips])
    torch.testing.assert_close(library.qvel, alone, atol=1e-4, rtol=1e-5)
    keys = squat.motion.body_poses(character).pos[:, list(character.key_bodies)]
    torch.testing.assert_close(library.key_velocity[1:45], keys.diff(dim=0) * 30.0, atol=1e-4, rtol=1e-5)
    torch.testing.assert_close(library.key_velocity[0], library.key_velocity[1])
    assert not library.key_velocity[45].any()
