"""What is recorded is what the simulator did, from the starts that were asked for."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.errors import SettingsError
from parc.motion.mujoco_qpos import frames_to_qpos
from parc.physics.choose_engine import make_world
from parc.physics.physical_contract import ContractError
from parc.quality.limit_profiles import TrackerInputLimits
from parc.record.tracking_attempts import AttemptSettings, attempt_clips, run_attempts, start_frames
from parc.track.env.reference_library import ReferenceSettings, build_library
from parc.track.env.track_env import TrackEnv
from parc.track.follow.runner import Runner

ONLY_PAPER = AttemptSettings(every=0.0)


def test_frames_and_contacts_are_the_simulators(rests: Callable[..., Clip], simulator: Runner, character: Character) -> None:
    """Against an environment stepped by hand."""
    clip = rests(frames=75)
    attempt = attempt_clips(simulator, [clip])[0][0]
    assert attempt.reached_end and attempt.start == 0
    assert len(attempt.motion) == len(attempt.errors) == 75
    world = make_world(character, simulator.trained.contract, 1, "cpu", 1)
    library = build_library(character, [clip], ReferenceSettings(TrackerInputLimits(enabled=False)))
    env = TrackEnv(world, library, simulator.trained.settings, torch.Generator().manual_seed(5), graphs=False)
    first = torch.zeros(1, dtype=torch.long)
    env.begin(first, first, torch.zeros(1))
    motion = attempt.motion
    for frame in range(1, 75):
        env.simulate(torch.zeros(1, character.num_dof))
        recorded = frames_to_qpos(character, motion.root_pos[frame], motion.root_rot[frame], motion.joint_rot[frame])
        sign = torch.where(world.qpos[0, 3] < 0, -1.0, 1.0)
        torch.testing.assert_close(recorded[:3], world.qpos[0, :3], atol=0, rtol=0)
        torch.testing.assert_close(recorded[3:7], sign * world.qpos[0, 3:7], atol=1e-6, rtol=0)
        torch.testing.assert_close(motion.contacts[frame], world.contacts[0], atol=0, rtol=0)
        env.judge()
        torch.testing.assert_close(attempt.errors[frame], env.error[0], atol=1e-6, rtol=0)


def test_only_lost_clips_are_tried_again(rests: Callable[..., Clip], simulator: Runner) -> None:
    whole, early, short = attempt_clips(
        simulator, [rests(frames=100), rests(frames=100, jumps=(9,), name="early"), rests(frames=50, name="short")], ONLY_PAPER
    )
    assert [a.start for a in whole] == [0]
    assert [a.start for a in early] == [0, 10, 20, 30, 40]
    assert [a.reached_end for a in early] == [False, False, True, True, True]
    assert early[0].stop <= 12, "ends where the reference jumps"
    assert short == []


def test_a_run_does_not_depend_on_its_neighbours(rests: Callable[..., Clip], simulator: Runner, character: Character) -> None:
    clips = [rests(frames=70, lift=0.1 + 0.01 * k, name=f"r{k}") for k in range(3)]
    library = build_library(character, clips, ReferenceSettings(TrackerInputLimits(enabled=False)))
    together = run_attempts(simulator, library, [(0, 0), (1, 5), (2, 0)])
    narrow = Runner(simulator.trained, "cpu", worlds=1, threads=1)
    alone = run_attempts(narrow, library, [(0, 0), (1, 5), (2, 0)])
    for a, b in zip(together, alone, strict=True):
        assert (a.clip, a.start, len(a.motion)) == (b.clip, b.start, len(b.motion))
        torch.testing.assert_close(a.motion.joint_rot, b.motion.joint_rot, atol=1e-6, rtol=0)


def test_what_comes_back_is_as_good_as_any_tensor(rests: Callable[..., Clip], simulator: Runner) -> None:
    attempt = attempt_clips(simulator, [rests(frames=70)])[0][0]
    for part in (attempt.errors, attempt.motion.root_pos, attempt.motion.joint_rot, attempt.motion.contacts):
        assert not part.is_inference()
        part.add_(1.0)


def test_starts_leave_two_seconds() -> None:
    assert start_frames(301, 30.0, ONLY_PAPER) == [0, 30, 60, 90, 120, 150]
    assert start_frames(101, 30.0, ONLY_PAPER) == [0, 10, 20, 30, 40]
    assert start_frames(59, 30.0, ONLY_PAPER) == []
    assert start_frames(60, 30.0, ONLY_PAPER) == [0]
    assert max(start_frames(301, 30.0, AttemptSettings())) == 240


def test_wrong_settings_and_worlds_are_refused(simulator: Runner, rests: Callable[..., Clip]) -> None:
    with pytest.raises(SettingsError, match="starts"):
        AttemptSettings(starts=(0.1, 0.2))
    with pytest.raises(SettingsError, match="settle"):
        AttemptSettings(settle=0)
    other = replace(simulator.trained, contract=replace(simulator.trained.contract, character="another"))
    with pytest.raises(ContractError, match="another"):
        attempt_clips(Runner(other, "cpu", 1, 1), [rests(frames=70)])
