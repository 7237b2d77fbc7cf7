"""Closed-loop training survives a stop, learns from the samples that count, and leaves the clips as they are."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from parc.character import humanoid
from parc.dataset.clip import Clip
from parc.errors import SettingsError
from parc.generate.model.motion_generator import Generator
from parc.physics.choose_engine import make_world
from parc.plan.tracker_critic import Critic
from parc.reflex.reflex_settings import ReflexTrainingSettings
from parc.reflex.reflex_training import LAST, RESULT, ReflexStanding, ReflexTrainer, train_reflex
from parc.reflex.terrain_bank import CrossingSource
from parc.run.checkpoint import load_checkpoint
from parc.run.distributed import Group
from parc.run.metrics_log import read_metrics
from parc.track.env.reference_library import build_library
from parc.track.env.track_env import TrackEnv
from parc.track.learn.policy import Actor, load_actor
from parc.track.learn.tracker_training import ACTOR, CHECKPOINT, CRITIC, METRICS
from parc.track.learn.training_plan import TrainingPlan

PLAN = TrainingPlan(worlds=10, iterations=2, milestone_iterations=2, threads=1)
Make = Callable[..., ReflexTrainer]


@pytest.fixture
def make(tracker: Path, generator: Generator, walk: Clip) -> Make:
    def trainer(closed: ReflexTrainingSettings, plan: TrainingPlan = PLAN) -> ReflexTrainer:
        start = load_actor(tracker, humanoid())
        library = build_library(humanoid(), [walk], start.settings.reference)
        _, clips = closed.worlds(plan.worlds)
        world = make_world(humanoid(), start.contract, clips or 2, "cpu", 1, library.bank.cell)
        source = CrossingSource(closed.bank, closed.starts.each, plan.seed)
        made = ReflexTrainer(start, generator, library, world, source, closed, plan, Group(0, 1, torch.device("cpu")))
        made.warm_start(tracker)
        made._restart()
        return made

    return trainer


def test_a_resumed_run_equals_one_that_never_stopped(
    tracker: Path, generator: Generator, walk: Clip, closed: ReflexTrainingSettings, tmp_path: Path
) -> None:
    """With exchanged ground, hard starts, pushes, noise on heights and a pull to the start."""
    all_of_it = replace(closed, disturbance=replace(closed.disturbance, pushes=1.0, height_noise=0.02), pull=0.01)

    def train(out: str, iterations: int) -> dict[str, torch.Tensor]:
        plan = replace(PLAN, iterations=iterations)
        train_reflex(tracker, generator, [walk], tmp_path / out, all_of_it, plan)
        return load_checkpoint(tmp_path / out / CHECKPOINT)[0]

    whole, half = train("whole", 4), train("parts", 2)
    parts = train("parts", 4)
    assert whole.keys() == parts.keys()
    different = [name for name in whole if not torch.equal(whole[name], parts[name])]
    assert not different, different
    for name in ("ppo.actor", "crossing.bank.heights", "crossing.hard.serial", "crossing.starts.qpos", "generator"):
        assert not torch.equal(half[name], parts[name]), name
    results = [json.loads((tmp_path / out / RESULT).read_text()) for out in ("whole", "parts")]
    assert results[0] | {"seconds": 0} == results[1] | {"seconds": 0}
    with pytest.raises(SettingsError, match="other settings \\(every\\)"):
        train_reflex(tracker, generator, [walk], tmp_path / "parts", replace(all_of_it, every=(3, 2)), PLAN)


def test_files_of_a_run(tracker: Path, generator: Generator, walk: Clip, closed: ReflexTrainingSettings, tmp_path: Path) -> None:
    averaged = replace(closed, shares=(0.5,))
    result = train_reflex(tracker, generator, [walk], tmp_path, averaged, PLAN)
    events = [row["event"] for row in read_metrics(tmp_path / METRICS)]
    assert events == ["train", "train", "start", "evaluation"]
    assert [row["share"] for row in result["averages"]] == [0.5] and set(result) >= {"before", "best", "score", "samples"}
    for folder in (tmp_path, tmp_path / LAST):
        trained = load_actor(folder / ACTOR, humanoid())
        Critic.load(folder / CRITIC, trained)
        assert trained.settings.ppo == closed.ppo
    line = read_metrics(tmp_path / METRICS)[1]
    assert {"samples_per_second", "seconds_crossings", "path_fallen", "hard_kept", "counted"} <= set(line)


def test_with_no_rates_nothing_is_learned_and_returns_are_those_of_a_plain_loop(
    make: Make, closed: ReflexTrainingSettings
) -> None:
    frozen = replace(closed.ppo, actor_rate=0.0, warm_rate=0.0, critic_rate=0.0, rate_range=(0.0, 0.0), critic_first=0, steps=16)
    trainer = make(replace(closed, ppo=frozen))
    before = trainer.ppo.actor_flat.clone(), trainer.ppo.critic_flat.clone()
    ppo, scale, gamma, lam = trainer.ppo, frozen.reward_scale, frozen.gamma, frozen.lam
    arrivals = 0.0
    for _ in range(3):
        trainer._iteration()
        assert ppo.counts is not None and ppo.arrived is not None
        arrivals += float((ppo.arrived * ppo.counts).sum())
        counts, values = ppo.counts, ppo.values
        mean = float((values[:-1] * counts).sum() / counts.sum())
        for world in range(10):
            follows = 0.0
            for t in reversed(range(16)):
                over, out_of_time = bool(ppo.failed[t, world]), bool(ppo.timed_out[t, world])
                own = mean if ppo.arrived[t, world] else float(values[t, world])
                after = 0.0 if over else own if out_of_time else float(values[t + 1, world])
                delta = scale * float(ppo.rewards[t, world]) + gamma * after - float(values[t, world])
                follows = delta + (0.0 if over or out_of_time else gamma * lam * follows)
                expected = follows + float(values[t, world])
                assert float(ppo.returns.view(16, 10)[t, world]) == pytest.approx(expected, abs=2e-4)
        assert bool((ppo.advantages.view(16, 10)[counts == 0] == 0).all())
        counted = ppo.advantages.view(16, 10)[counts > 0]
        assert abs(float(counted.mean())) < 1e-4 and float(counted.std()) == pytest.approx(1.0, abs=0.02)
    assert arrivals > 0, "nonsense motions carry some of them to their goals"
    assert 0 < float(1 - counts.mean()) < 0.5, "some wait for their turn"
    assert torch.equal(trainer.ppo.actor_flat, before[0]) and torch.equal(trainer.ppo.critic_flat, before[1])


def test_worlds_with_clips_are_those_of_the_tracking_environment(make: Make, closed: ReflexTrainingSettings) -> None:
    """The same actions from the same random numbers, which the crossings draw from too: a copy is put back before each step."""
    trainer = make(closed)
    clips = trainer.env
    random = torch.Generator()
    alone = TrackEnv(
        make_world(humanoid(), clips.world.contract, clips.num_worlds, "cpu", 1, clips.world.cell),
        clips.library, trainer.settings, random,
    )  # fmt: skip
    random.set_state(trainer.generator.get_state())
    for env in (alone, clips):
        env.restart_all()
    ppo = trainer.ppo
    for t in range(6):
        action = ppo.act(t, torch.cat([trainer.crossing_env.observation, clips.observation]))
        trainer.crossing_env.step(action[:5])
        random.set_state(trainer.generator.get_state())
        clips.step(action[5:])
        alone.step(action[5:])
        for name in ("observation", "reward", "failed", "timed_out", "error"):
            assert torch.equal(getattr(clips, name), getattr(alone, name)), name


def test_without_clips_only_crossings_are_learned_from(make: Make, closed: ReflexTrainingSettings) -> None:
    trainer = make(replace(closed, clip_share=0.0))
    numbers = trainer._iteration()
    assert trainer.ppo.rewards.shape[1] == 10 == trainer.crossing_env.num_worlds
    assert "clip_failures_per_second" not in numbers
    standing, _, found = trainer.measure(trainer.policy.averaged_actor())
    assert 0 <= standing.crossings <= 1 and 0 <= standing.clips <= 1 and found["runs"] == 1


def test_a_pull_keeps_the_policy_nearer_to_the_start(make: Make, closed: ReflexTrainingSettings) -> None:
    eager = replace(closed.ppo, actor_rate=1e-3, warm_rate=1e-3, rate_range=(1e-3, 1e-3), critic_first=0, stop_kl=0.0)
    moved = []
    for pull in (0.0, 10.0):
        trainer = make(replace(closed, ppo=eager, pull=pull))
        for _ in range(3):
            trainer._iteration()
        rows, start = trainer.crossing_env.observation, trainer.start.actor
        actor = Actor(start.normalizer, trainer.policy.actor, start.symmetry)
        moved.append(float((actor(rows) - start(rows)).square().mean()))
    assert moved[1] < 0.5 * moved[0]


def test_the_critic_chooses_among_plans(make: Make, closed: ReflexTrainingSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    several = replace(closed, loop=replace(closed.loop, candidates=3))
    trainer = make(several)
    env, asked = trainer.crossing_env, []
    judge = trainer._judge
    env.writer._judge = lambda rows: asked.append((rows.clone(), judge(rows))) or asked[-1][1]
    env.step(torch.zeros_like(env.action))
    (rows, worth) = asked[-1]
    assert rows.shape == (6, env.observation.shape[1])
    best = rows.view(2, 3, -1)[torch.arange(2), worth.view(2, 3).argmax(1)]
    torch.testing.assert_close(env.observation[env.group], best, atol=1e-5, rtol=1e-5)
    with pytest.raises(SettingsError, match="critic"):
        type(env.writer)(env.writer.generator, env, env.bank, several.loop, trainer.generator)


def test_clips_that_are_lost_cost(closed: ReflexTrainingSettings) -> None:
    good, forgetful = ReflexStanding(0.8, 0.97), ReflexStanding(0.9, 0.80)
    assert good.score(0.98, closed) == pytest.approx(0.8)
    assert forgetful.score(0.98, closed) == pytest.approx(0.9 - 2.0 * 0.16)


def test_a_short_training_raises_the_mean_reward(make: Make, closed: ReflexTrainingSettings) -> None:
    """A toy: an actor that bends all joints a little too far, on nonsense plans; only imitation is paid. Measured apart from
    training, from the same starts with the mean action."""
    ppo = replace(
        closed.ppo, actor_rate=2e-3, warm_rate=2e-3, critic_rate=2e-3, rate_range=(2e-3, 2e-3), target_kl=0.0, stop_kl=0.0,
        critic_first=1, epochs=3, gamma=0.8, average=0.8,
    )  # fmt: skip
    reward = replace(closed.reward, progress=0.0, arrival=0.0, fall=0.0, gate=100.0)
    trainer = make(replace(closed, ppo=ppo, reward=reward), replace(PLAN, worlds=20))
    for network in (trainer.policy.actor, trainer.policy.averaged):
        network.last.bias.data.add_(0.25)
    before = mean_reward(trainer)
    for _ in range(16):
        trainer._iteration()
    assert mean_reward(trainer) > 1.1 * before


def mean_reward(trainer: ReflexTrainer) -> float:
    env, kept, total = trainer.crossing_env, trainer.generator.get_state(), 0.0
    trainer.generator.manual_seed(5)
    env.restart_all()
    for _ in range(12):
        with torch.no_grad():
            env.step(trainer.policy.averaged_actor()(env.observation))
        total += float((env.reward * env.counts).mean())
    trainer.generator.set_state(kept)
    return total / 12
