"""The Gymnasium environment: its spaces, its autoreset, and the very steps of the environment beneath."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.errors import SettingsError
from parc.run.distributed import Group
from parc.track.env.make_track_env import make_track_env
from parc.track.tracker_settings import TrackerSettings

gymnasium = pytest.importorskip("gymnasium", reason="gymnasium is not installed (parc-motion[rl])")
from gymnasium.vector import AutoresetMode  # noqa: E402
from gymnasium.wrappers.vector import ClipAction, RecordEpisodeStatistics  # noqa: E402

from parc.track.export.gymnasium_env import TrackVectorEnv, make_vector_env  # noqa: E402

WORLDS = 4


@pytest.fixture
def env(character: Character, squat: Clip, tiny: TrackerSettings) -> TrackVectorEnv:
    return make_vector_env([squat], character, WORLDS, tiny, threads=1)


@pytest.fixture
def longer(character: Character, squats: Callable[..., Clip], tiny: TrackerSettings) -> TrackVectorEnv:
    """Several seconds, so that failure statistics choose among them."""
    return make_vector_env([squats(frames=150)], character, WORLDS, tiny, threads=1)


def test_spaces_hold_what_comes_and_goes(env: TrackVectorEnv, character: Character) -> None:
    assert isinstance(env, gymnasium.vector.VectorEnv)
    assert env.num_envs == WORLDS and env.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert env.action_space.shape == (WORLDS, character.num_dof)
    observation, info = env.reset(seed=3)
    assert info == {}
    env.action_space.seed(0)
    for _ in range(5):
        assert observation in env.observation_space
        assert observation[0] in env.single_observation_space
        observation, reward, terminated, truncated, infos = env.step(env.action_space.sample())
        assert reward.shape == terminated.shape == truncated.shape == (WORLDS,)
        assert (reward.dtype, terminated.dtype, truncated.dtype) == (np.float32, bool, bool)
        assert not (terminated & truncated).any()
        np.testing.assert_array_equal(infos["_final_obs"], terminated | truncated)


def test_same_seed_same_episodes(longer: TrackVectorEnv) -> None:
    """Also after failures have changed where episodes start."""
    env = longer
    runs = []
    for seed in (7, 7, 8):
        first, _ = env.reset(seed=seed)
        runs.append([first, *[env.step(np.full(env.action_space.shape, 0.3, np.float32))[0] for _ in range(20)]])
    np.testing.assert_allclose(runs[0], runs[1], atol=0)
    assert np.abs(runs[0][0] - runs[2][0]).max() > 1e-3


def test_steps_are_those_of_the_environment_beneath(character: Character, squat: Clip, tiny: TrackerSettings) -> None:
    plain = make_track_env([squat], character, WORLDS, tiny, seed=5, threads=1)
    env = make_vector_env([squat], character, WORLDS, tiny, arrays="torch", seed=5, threads=1)
    generator = torch.Generator().manual_seed(0)
    for step in range(40):
        action = 0.3 * torch.randn(WORLDS, character.num_dof, generator=generator)
        plain.step(action)
        observation, reward, terminated, truncated, infos = env.step(action)
        assert torch.equal(observation, plain.observation) and torch.equal(reward, plain.reward)
        assert torch.equal(terminated, plain.failed) and torch.equal(truncated, plain.timed_out)
        assert torch.equal(infos["joint_error"], plain.error)
        if (step + 1) % tiny.ppo.steps == 0:
            plain.restart.refresh(Group(0, 1, torch.device("cpu")))


def test_the_last_observation_is_of_the_old_episode(env: TrackVectorEnv, squat: Clip) -> None:
    """Before an end the last observation is the next one; at an end it is not, and the next is a start."""
    env.reset(options={"clip": 0, "frame": [len(squat.motion) - 4] * WORLDS})
    still = np.zeros(env.action_space.shape, np.float32)
    for left in (2, 1):
        observation, _, terminated, truncated, infos = env.step(still)
        assert not (terminated | truncated).any()
        np.testing.assert_allclose(infos["final_obs"], observation, atol=1e-6)
        np.testing.assert_array_equal(infos["frame"], len(squat.motion) - 1 - left)
    observation, _, terminated, truncated, infos = env.step(still)
    assert truncated.all() and not terminated.any() and infos["at_end"].all()
    assert np.abs(infos["final_obs"] - observation).max(-1).min() > 1e-3


def test_what_is_returned_is_a_copy(env: TrackVectorEnv) -> None:
    first, _ = env.reset(seed=1)
    kept = first.copy()
    env.step(np.zeros(env.action_space.shape, np.float32))
    np.testing.assert_array_equal(first, kept)


def test_gymnasiums_own_wrappers_run_on_it(env: TrackVectorEnv, squat: Clip) -> None:
    wrapped = ClipAction(RecordEpisodeStatistics(env))
    wrapped.reset(seed=0)
    lengths: list[int] = []
    for _ in range(len(squat.motion)):
        *_, infos = wrapped.step(np.zeros(env.action_space.shape, np.float32))
        if "episode" in infos:
            lengths += infos["episode"]["l"][infos["_episode"]].tolist()
    assert lengths and max(lengths) <= len(squat.motion)


def test_wrong_input_is_refused(env: TrackVectorEnv, squats: Callable[..., Clip]) -> None:
    with pytest.raises(SettingsError, match="actions have shape"):
        env.step(np.zeros((1, 2), np.float32))
    with pytest.raises(SettingsError, match="clip names 1"):
        env.reset(options={"clip": 1})
    with pytest.raises(SettingsError, match="nothing would be left"):
        env.reset(options={"frame": len(squats().motion) - 1})
    with pytest.raises(SettingsError, match="no option velocity"):
        env.reset(options={"velocity": 1})
    with pytest.raises(SettingsError, match="one seed"):
        env.reset(seed=[1, 2, 3, 4])


def test_starts_follow_failures(character: Character, squat: Clip, tiny: TrackerSettings) -> None:
    """Failures are folded in every so many steps; evaluation starts count nothing."""
    settings = replace(tiny, ppo=replace(tiny.ppo, steps=2))
    env = make_vector_env([squat], character, WORLDS, settings, threads=1)
    visits = env.env.restart.visits.clone()
    still = np.zeros(env.action_space.shape, np.float32)
    env.step(still)
    assert torch.equal(env.env.restart.visits, visits)
    env.step(still)
    assert not torch.equal(env.env.restart.visits, visits)
