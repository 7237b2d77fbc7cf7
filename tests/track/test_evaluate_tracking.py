"""Scores come back for every clip in its own order, and evaluation leaves the training's statistics alone."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.physics.choose_engine import make_world
from parc.track.env.reference_library import build_library
from parc.track.env.track_env import TrackEnv
from parc.track.follow.evaluate_tracking import evaluate
from parc.track.tracker_settings import TrackerSettings


@pytest.fixture
def env(character: Character, squats: Callable[..., Clip], tiny: TrackerSettings) -> TrackEnv:
    clips = [squats(frames=20 + 4 * k, depth=0.1, name=f"clip{k}") for k in range(5)]
    world = make_world(character, tiny.contract, 3, "cpu", threads=1)
    return TrackEnv(world, build_library(character, clips), tiny, torch.Generator().manual_seed(0))


def do_nothing(observation: torch.Tensor) -> torch.Tensor:
    return torch.zeros(len(observation), 28)


def thrash(observation: torch.Tensor) -> torch.Tensor:
    return torch.full((len(observation), 28), 3.0)


def test_each_clip_is_scored_once_in_order_even_with_fewer_worlds(env: TrackEnv) -> None:
    result = evaluate(env, do_nothing)
    assert [c.name for c in result.clips] == [f"clip{k}" for k in range(5)]
    assert all(0 <= c.tracked <= 1 and c.joint_error >= 0 for c in result.clips)
    for k, clip in enumerate(result.clips):
        steps = 19 + 4 * k
        assert clip.success == (round(clip.tracked * steps) >= steps - 2)


def test_following_a_gentle_reference_succeeds_and_thrashing_fails(env: TrackEnv) -> None:
    calm, wild = evaluate(env, do_nothing), evaluate(env, thrash)
    assert calm.success == 1.0 and calm.joint_error < 0.1
    assert wild.success == 0.0 and wild.tracked < 0.9 and wild.joint_error > calm.joint_error


def test_spare_worlds_repeat_the_clips_with_noise(env: TrackEnv, character: Character, squats: Callable[..., Clip]) -> None:
    library = build_library(character, [squats(frames=20, depth=0.1)])
    alone = TrackEnv(env.world, library, env.settings, torch.Generator().manual_seed(0))
    result = evaluate(alone, do_nothing)
    assert result.clips[0].noisy_success is not None and result.noisy_success is not None
    assert evaluate(TrackEnv(env.world, env.library, env.settings, torch.Generator()), do_nothing).clips[4].noisy_success is None


def test_statistics_stay_and_training_goes_on_afterwards(env: TrackEnv) -> None:
    env.restart_all()
    before = (env.restart._new_failures.clone(), env.restart._new_visits.clone())
    evaluate(env, thrash)
    assert torch.equal(env.restart._new_failures, before[0]) and torch.equal(env.restart._new_visits, before[1])
    env.restart_all()
    env.step(torch.zeros(3, 28))
    assert float(env.restart._new_visits.sum()) > float(before[1].sum())


def test_the_papers_set_up_runs(env: TrackEnv, character: Character) -> None:
    paper = replace(TrackerSettings.paper(), policy=replace(TrackerSettings.paper().policy, hidden=(16,)))
    other = TrackEnv(env.world, env.library, paper, torch.Generator().manual_seed(0))
    assert len(other.restart.rates()) == 5
    assert evaluate(other, do_nothing).joint_error > 0.1, "the middle of all joint ranges is no way to stand"


def test_trials_are_as_many_as_asked_for_whatever_the_worlds(env: TrackEnv) -> None:
    result = evaluate(env, do_nothing, trials=2)
    assert [c.trials for c in result.clips] == [2] * 5
    assert all(c.noisy_success in (0.0, 0.5, 1.0) for c in result.clips)
    alone = evaluate(env, do_nothing, trials=0)
    assert [(c.success, c.tracked) for c in alone.clips] == [(c.success, c.tracked) for c in result.clips]
    assert alone.noisy_success is None
