"""Bodies do what the recorder's bodies do, can go on from any state, and a fall is seen."""

import pytest
import torch

from parc.character import rotation
from parc.dataset.clip import Clip
from parc.errors import SettingsError
from parc.generate.frame import FrameState
from parc.motion.qpos import frames_to_qpos, motion_to_qpos
from parc.record.attempt import run_attempts
from parc.terrain import Terrain
from parc.track.follow.runner import Runner
from parc.track.reference import ReferenceSettings, build_library
from parc.track.screen import ScreenSettings
from parc.traverse import Models
from parc.traverse.follow import BodyStates, Follower
from parc.traverse.reference import References


def references_of(follower: Follower, clip: Clip, first: int, stop: int) -> References:
    frames = FrameState.of_motion(clip.motion)
    return References.of(follower.anatomy, FrameState(*(part[None, first:stop] for part in frames)))


def test_a_body_does_what_the_recorder_simulates(models: Models, walk: Clip) -> None:
    """Oracle: `parc.record`, from the same first state."""
    follower = Follower(models.tracker, walk.terrain, 1, 1)
    references = references_of(follower, walk, 0, len(walk.motion))
    library = build_library(follower.character, [walk], ReferenceSettings(ScreenSettings(enabled=False)))
    attempt = run_attempts(Runner(models.tracker, "cpu", 1, 1), library, [(0, 0)])[0]
    state = BodyStates(library.qpos[:1], library.qvel[:1], library.contacts[:1], torch.zeros_like(library.dof[:1]))
    stretch = follower.follow(state, references, 20)
    expected = motion_to_qpos(follower.character, attempt.motion)[:21]
    assert len(expected) == 21 and int(stretch.survived[0]) == 20
    torch.testing.assert_close(stretch.qpos[0, :, :3], expected[:, :3], atol=1e-3, rtol=0)
    torch.testing.assert_close(stretch.error[0], attempt.errors[1:21], atol=1e-3, rtol=0)


def test_going_on_from_a_state_is_the_same_simulation(models: Models, walk: Clip) -> None:
    follower = Follower(models.tracker, walk.terrain, 1, 1)
    whole = references_of(follower, walk, 0, 60)
    once = follower.follow(follower.start(whole), whole, 16)
    rest = follower.follow(once.state(torch.tensor([10])), references_of(follower, walk, 10, 60), 6)
    torch.testing.assert_close(rest.qpos[0, :, :3], once.qpos[0, 10:, :3], atol=2e-3, rtol=0)


@pytest.mark.parametrize(("height", "tilt", "expected"), [(0.9, 0.0, False), (0.25, 1.5, True), (0.9, 1.5, False)])
def test_lying_is_a_fall_standing_and_flying_are_not(models: Models, height: float, tilt: float, expected: bool) -> None:
    follower = Follower(models.tracker, Terrain.flat((8, 8), 1.0), 1, 1)
    character = follower.character
    turn = rotation.from_axis_angle(torch.tensor([[0.0, 1.0, 0.0]]), torch.tensor([tilt]))
    joints = rotation.identity((1, character.num_joints))
    qpos = frames_to_qpos(character, torch.tensor([[1.2, 1.2, 1.0 + height]]), turn, joints)
    follower.world.reset(torch.ones(1, dtype=torch.bool), qpos, torch.zeros_like(follower.world.qvel))
    assert bool(follower.fallen()[0]) is expected


def test_a_reference_that_runs_away_is_lost(models: Models, walk: Clip) -> None:
    follower = Follower(models.tracker, walk.terrain, 1, 1)
    frames = FrameState(*(part[None, :40].clone() for part in FrameState.of_motion(walk.motion)))
    frames.root_pos[:, 8:, 1] += 1.0
    references = References.of(follower.anatomy, frames)
    stretch = follower.follow(follower.start(references), references, 14)
    assert int(stretch.survived[0]) == 7


def test_the_number_of_references_must_fit(models: Models, walk: Clip) -> None:
    follower = Follower(models.tracker, walk.terrain, 2, 1)
    references = references_of(follower, walk, 0, 20)
    with pytest.raises(SettingsError, match="1 references for 5 steps"):
        follower.follow(follower.start(references), references, 5)
