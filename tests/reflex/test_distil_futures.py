"""Futures of visited states: each begins where the state is, is judged by what became of it, and the best become clips."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from parc.character import humanoid
from parc.dataset.clip import Provenance
from parc.generate.model.motion_generator import Generator
from parc.plan.path_progress import worth
from parc.reflex import distil_futures
from parc.reflex.distil_futures import DistilSettings, FutureTrials, distil
from parc.reflex.reflex_env import ReflexEnv
from parc.reflex.reflex_settings import ReflexTrainingSettings
from parc.track.follow.trace import Snapshot
from parc.track.learn.policy import load_actor

EASY = DistilSettings(futures=3, seconds=0.2, between=2, gain=-10.0, human=1e9, kept=2)
EnvOf = Callable[..., ReflexEnv]


def trials_of(env: ReflexEnv, generator: Generator, tracker: Path, settings: DistilSettings, states: int = 2) -> FutureTrials:
    trained = load_actor(tracker, humanoid())
    random = torch.Generator().manual_seed(1)
    return FutureTrials(generator, trained, env.crossing_bank, states, settings, env.closed.loop, random, threads=1)


def test_futures_begin_in_the_state_and_differ(
    env_of: EnvOf, generator: Generator, tracker: Path, closed: ReflexTrainingSettings
) -> None:
    env = env_of(closed)
    trials = trials_of(env, generator, tracker, EASY)
    who = torch.tensor([0, 3])
    now = Snapshot(*(part[who].clone() for part in env.states()))
    case, progress = env.crossings.case[who], env.crossings.progress[who]
    found = trials.run(now, case, progress)
    assert found.qpos.shape[:2] == (6, 8)
    for k, part in ((0, now.qpos_before), (1, now.qpos)):
        assert torch.equal(found.qpos[:, k], part.repeat_interleave(3, 0))
    assert len(found.qpos[:, -1].unique(dim=0)) == 6
    paths = env.crossing_bank.paths.select(case)
    start = worth(paths, progress, now.qpos[:, 2], closed.loop.climb)
    assert bool((found.gain.view(2, 3) > -start[:, None] - 5).all()) and bool(found.gain.isfinite().all())
    again = trials_of(env, generator, tracker, EASY).run(now, case, progress)
    assert torch.equal(again.qpos, found.qpos)


def test_who_is_down_does_not_hold(env_of: EnvOf, generator: Generator, tracker: Path, closed: ReflexTrainingSettings) -> None:
    env = env_of(closed)
    now = env.snapshots()
    lying = now.qpos.clone()
    lying[0, 2] -= 0.75
    lying[0, 3:7] = torch.tensor([0.7071, 0.0, 0.7071, 0.0])
    trials = trials_of(env, generator, tracker, EASY, states=5)
    found = trials.run(now._replace(qpos=lying), env.crossings.case, env.crossings.progress)
    assert not bool(found.holds.view(5, 3)[0].any())


def test_the_most_human_futures_of_a_state_become_clips(
    env_of: EnvOf, generator: Generator, tracker: Path, closed: ReflexTrainingSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = env_of(closed)
    trials = trials_of(env, generator, tracker, EASY)
    for name in ("down", "lost"):  # nobody follows the plans of an untrained generator
        monkeypatch.setattr(trials.bodies, name, lambda *given: torch.zeros(6, dtype=torch.bool))
    monkeypatch.setattr(distil_futures, "measure_naturalness", lambda batch: {"human_r": torch.arange(1.0, 1.0 + len(batch))})
    visits = list(distil(env, trials, 2, "tried", Provenance("reflex", seed=4)))
    clips = [clip for visit in visits for clip in visit]
    assert clips and len({clip.name for clip in clips}) == len(clips)
    for clip in clips:
        assert len(clip.motion) == 8 and clip.provenance.source == "reflex" and set(clip.provenance.losses) == {"gain", "human_r"}
        clip.check_made_for(humanoid())
    assert max(sum(c.name.startswith(f"tried_00000_{s:03d}") for c in clips) for s in range(2)) <= 2
    strict = replace(EASY, human=0.5)
    trials.settings = strict
    assert not any(distil(env, trials, 1, "none", Provenance()))
