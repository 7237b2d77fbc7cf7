"""What the tracker learns from: TD(lambda) returns, normalised advantages, a bounded ratio, and failures that are counted."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.physics.choose_engine import make_world
from parc.run.distributed import Group
from parc.track.env.episode_restart import Restart, RestartSettings
from parc.track.env.reference_library import build_library
from parc.track.learn.mlp_network import initialise
from parc.track.learn.policy import TrackerPolicy
from parc.track.learn.ppo import PPO
from parc.track.learn.tracker_training import TrackerTrainer, TrainingPlan
from parc.track.tracker_settings import TrackerSettings

ALONE = Group(0, 1, torch.device("cpu"))
WORLDS, STEPS = 32, 6


def played(character: Character, tiny: TrackerSettings, failed: Tensor, **changes) -> PPO:
    """A rollout of random rows and rewards in which episodes fail where `failed` [STEPS, WORLDS] is 1."""
    ppo_settings = replace(tiny.ppo, steps=STEPS, epochs=1, minibatch=STEPS * WORLDS, calm=0.0, bound_weight=0.0, **changes)
    settings = replace(tiny, policy=replace(tiny.policy, symmetry="none"), ppo=ppo_settings)
    policy = TrackerPolicy(character, settings, "cpu")
    initialise(policy, torch.Generator().manual_seed(0))
    ppo = PPO(policy, WORLDS, settings.ppo, settings.policy, ALONE, torch.Generator().manual_seed(0))
    generator = torch.Generator().manual_seed(1)
    for t in range(STEPS):
        ppo.act(t, torch.randn(WORLDS, policy.size, generator=generator))
        ppo.record(t, 10 * torch.rand(WORLDS, generator=generator), failed[t], torch.zeros(WORLDS), torch.zeros(WORLDS))
    ppo.finish(torch.randn(WORLDS, policy.size, generator=generator))
    return ppo


@pytest.mark.parametrize(("lam", "gamma"), [(0.95, 0.99), (0.5, 0.8), (0.0, 0.9), (1.0, 0.9)])
def test_the_critic_learns_the_mixture_of_all_n_step_returns(
    character: Character, tiny: TrackerSettings, lam: float, gamma: float
) -> None:
    """R_t = (1 - lambda) sum_n lambda^(n-1) R_t^(n), the longest with what is left of the weight; a failure ends all of them."""
    failed = (torch.rand(STEPS, WORLDS, generator=torch.Generator().manual_seed(2)) < 0.15).float()
    ppo = played(character, tiny, failed, lam=lam, gamma=gamma)
    rewards, values = tiny.ppo.reward_scale * ppo.rewards, ppo.values
    for world in range(WORLDS):
        for t in range(STEPS):
            total, weight, earned = 0.0, 1.0, 0.0
            for n in range(1, STEPS - t + 1):
                earned += gamma ** (n - 1) * float(rewards[t + n - 1, world])
                ends = bool(failed[t + n - 1, world])
                n_step = earned if ends else earned + gamma**n * float(values[t + n, world])
                share = weight if ends or t + n == STEPS else weight * (1 - lam)
                total, weight = total + share * n_step, weight - share
                if ends:
                    break
            assert float(ppo.returns.view(STEPS, WORLDS)[t, world]) == pytest.approx(total, rel=1e-4, abs=1e-5)


def test_advantages_are_in_standard_deviations(character: Character, tiny: TrackerSettings) -> None:
    """Whatever the size of the rewards."""
    none = torch.zeros(STEPS, WORLDS)
    found = [played(character, tiny, none, reward_scale=scale, advantage_clip=50.0).advantages for scale in (0.1, 10.0)]
    for advantages in found:
        assert float(advantages.mean()) == pytest.approx(0, abs=1e-4)
        assert float(advantages.square().mean()) == pytest.approx(1, rel=1e-3)
    assert float(played(character, tiny, none, advantage_clip=0.5).advantages.abs().max()) == 0.5


@pytest.mark.parametrize("clip", [0.2, 0.6])
def test_a_ratio_beyond_its_bound_teaches_nothing_more(character: Character, tiny: TrackerSettings, clip: float) -> None:
    """Actions 1.5 times as likely as when they were drawn: good ones teach while 1.5 is within the bound, bad ones always."""
    learned = {}
    for worth in (1.0, -1.0):
        ppo = played(character, tiny, torch.zeros(STEPS, WORLDS), clip=clip)
        ppo._picked.copy_(torch.arange(ppo.minibatch))
        ppo.log_probs.sub_(torch.log(torch.tensor(1.5)))
        ppo.advantages.fill_(worth)
        ppo._compute_gradient()
        learned[worth] = bool(ppo.gradient[: ppo._actor_size].abs().sum() > 0)
    assert learned == {1.0: clip > 0.5, -1.0: True}


def test_an_iteration_of_training_counts_its_visits_and_failures(
    character: Character, squat: Clip, tiny: TrackerSettings
) -> None:
    """One world-second for every 30 steps of a world, on top of what is left of the first guess."""
    plan = TrainingPlan(worlds=8, threads=1)
    world = make_world(character, tiny.contract, plan.worlds, "cpu", threads=1)
    trainer = TrackerTrainer(character, build_library(character, [squat]), world, tiny, plan, ALONE)
    trainer.env.restart_all()
    restart, decay, visits, failures = trainer.env.restart, tiny.restart.decay, 1.0, 1.0
    units = len(restart.visits)
    for _ in range(4):
        trainer._iteration()
        visits = decay * visits + tiny.ppo.steps * plan.worlds / 30 / units
        failures = decay * failures + float(trainer.ppo.failed.sum()) / units
        assert float(restart.visits.mean()) == pytest.approx(visits, rel=1e-4)
        assert float(restart.failures.mean()) == pytest.approx(failures, rel=1e-4)


def test_the_failure_rate_of_a_clip_is_of_its_episodes(character: Character, squats: Callable[..., Clip]) -> None:
    """However long they are: steps at whose end an episode goes on are no visits."""
    library = build_library(character, [squats(frames=60)])
    settings = RestartSettings(unit="clip", floor=0.01, ceiling=1.0, decay=0.0)
    restart = Restart(library, settings)
    for step in range(50):
        over, lost = torch.full((10,), step == 49), torch.arange(10) < (3 if step == 49 else 0)
        restart.count(torch.full((10,), step), lost, over, torch.tensor(1.0))
    restart.refresh(ALONE)
    assert restart.rates().tolist() == [pytest.approx(0.3)]
