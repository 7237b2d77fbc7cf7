"""PPO on a problem without physics: the best action is a known symmetric function of the observation."""

from dataclasses import replace
from typing import Literal

import pytest
import torch
from torch import Tensor

from parc.character.character import Character
from parc.errors import SettingsError
from parc.run.distributed import Group
from parc.track.learn.mlp_network import initialise
from parc.track.learn.momentum_sgd import MomentumSgd
from parc.track.learn.policy import Actor, TrackerPolicy
from parc.track.learn.ppo import PPO
from parc.track.tracker_settings import TrackerSettings

ALONE = Group(0, 1, torch.device("cpu"))
WORLDS = 128


def make_ppo(character: Character, tiny: TrackerSettings, symmetry: Literal["canonical", "augment", "none"], **changes) -> PPO:
    ppo_settings = replace(tiny.ppo, steps=4, epochs=4, minibatch=256, target_kl=0.05, actor_rate=1e-3, rate_range=(1e-4, 3e-3))
    settings = replace(
        tiny,
        policy=replace(tiny.policy, symmetry=symmetry, std=0.08, std_range=(0.03, 0.3)),
        ppo=replace(ppo_settings, **changes),
    )
    policy = TrackerPolicy(character, settings, "cpu")
    initialise(policy, torch.Generator().manual_seed(0))
    return PPO(policy, WORLDS, settings.ppo, settings.policy, ALONE, torch.Generator().manual_seed(0))


class Aim:
    """Observations with two directions that matter; the wanted action is a symmetric linear function of them."""

    def __init__(self, character: Character, policy: TrackerPolicy) -> None:
        generator = torch.Generator().manual_seed(5)
        self.generator, self.policy = generator, policy
        reference = policy.mirror
        self.mixing = torch.randn(policy.size, character.num_dof, generator=generator) * (0.15 / policy.size**0.5)
        if reference is not None:
            image = self.mixing.index_select(0, reference.source) * reference.sign.unsqueeze(-1)
            self.mixing = 0.5 * (self.mixing + image.index_select(1, reference.action_source) * reference.action_sign)
        self.basis = torch.randn(4, policy.size, generator=generator)

    def draw(self) -> Tensor:
        return torch.randn(WORLDS, 4, generator=self.generator) @ self.basis

    def reward(self, rows: Tensor, actions: Tensor) -> Tensor:
        return -(actions - rows @ self.mixing).square().mean(-1) * 10.0


def play(ppo: PPO, aim: Aim, iterations: int) -> list[float]:
    rewards = []
    never = torch.zeros(WORLDS)
    for _ in range(iterations):
        for t in range(ppo.settings.steps):
            rows = aim.draw()
            reward = aim.reward(rows, ppo.act(t, rows))
            ppo.record(t, reward, torch.ones(WORLDS), never, never)
        ppo.finish(aim.draw())
        ppo.update()
        rewards.append(float(ppo.rewards.mean()))
    return rewards


@pytest.mark.parametrize("symmetry", ["canonical", "augment", "none"])
def test_the_policy_finds_the_wanted_action(
    character: Character, tiny: TrackerSettings, symmetry: Literal["canonical", "augment", "none"]
) -> None:
    ppo = make_ppo(character, tiny, symmetry)
    aim = Aim(character, ppo.policy)
    rewards = play(ppo, aim, 60)
    assert sum(rewards[-5:]) > 0.9 * sum(rewards[:5]), (rewards[:5], rewards[-5:])
    rows = aim.draw()
    with torch.no_grad():
        reached = aim.reward(rows, ppo.policy.averaged_actor()(rows)).mean()
    idle = aim.reward(rows, torch.zeros(WORLDS, character.num_dof)).mean()
    assert reached > 0.6 * idle, (reached, idle)


def test_the_rate_follows_the_divergence_within_its_bounds(character: Character, tiny: TrackerSettings) -> None:
    hot = make_ppo(character, tiny, "none", target_kl=1e-6, rate_range=(5e-4, 1e-3))
    play(hot, Aim(character, hot.policy), 3)
    assert float(hot.actor_rate) == pytest.approx(5e-4)
    cold = make_ppo(character, tiny, "none", target_kl=1e6, rate_range=(5e-4, 2e-3))
    play(cold, Aim(character, cold.policy), 3)
    assert float(cold.actor_rate) == pytest.approx(2e-3)
    fixed = make_ppo(character, tiny, "none", target_kl=0.0)
    play(fixed, Aim(character, fixed.policy), 2)
    assert float(fixed.actor_rate) == pytest.approx(1e-3)


def test_rates_fall_over_the_last_part_of_the_budget(character: Character, tiny: TrackerSettings) -> None:
    ppo = make_ppo(character, tiny, "none", final_rate=0.2, target_kl=0.0)
    for progress, factor in ((0.0, 1.0), (0.6, 1.0), (0.8, 0.6), (1.0, 0.2), (1.5, 0.2)):
        ppo.set_progress(progress)
        assert float(ppo._rate_factor) == pytest.approx(factor)


def test_the_gradient_is_that_of_the_loss(character: Character, tiny: TrackerSettings) -> None:
    """Before any step the ratio is 1, so the policy's gradient is that of -mean(A log pi); finite differences agree."""
    ppo = make_ppo(character, tiny, "none")
    aim = Aim(character, ppo.policy)
    for t in range(4):
        rows = aim.draw()
        ppo.record(t, aim.reward(rows, ppo.act(t, rows)), torch.ones(WORLDS), torch.zeros(WORLDS), torch.zeros(WORLDS))
    ppo.finish(aim.draw())
    ppo._picked.copy_(torch.arange(ppo.minibatch))
    ppo._compute_gradient()
    gradient = ppo.gradient.clone()
    index = int(gradient[: ppo._actor_size].abs().argmax())

    def loss(shift: float) -> float:
        with torch.no_grad():
            ppo.actor_flat[index] += shift
        ppo._sums.zero_()
        ppo._compute_gradient()
        with torch.no_grad():
            ppo.actor_flat[index] -= shift
        return float(ppo._sums[3])

    step = 1e-3
    assert (loss(step) - loss(-step)) / (2 * step) == pytest.approx(float(gradient[index]), rel=0.05)


def test_parameters_are_views_of_the_flat_tensors(character: Character, tiny: TrackerSettings) -> None:
    ppo = make_ppo(character, tiny, "canonical")
    before = ppo.policy.actor.last.bias.clone()
    with torch.no_grad():
        ppo.actor_flat.add_(1.0)
    torch.testing.assert_close(ppo.policy.actor.last.bias, before + 1.0)


def test_senseless_sizes_are_refused(character: Character, tiny: TrackerSettings) -> None:
    with pytest.raises(SettingsError, match="must be positive"):
        make_ppo(character, tiny, "none", minibatch=0)


def test_actions_far_from_the_policy_do_not_break_it(character: Character, tiny: TrackerSettings) -> None:
    """Mirrored samples of a lopsided policy, or one bad number, must not turn weights into NaN."""
    ppo = make_ppo(character, tiny, "none")
    aim = Aim(character, ppo.policy)
    for t in range(ppo.settings.steps):
        rows = aim.draw()
        ppo.record(t, aim.reward(rows, ppo.act(t, rows)), torch.ones(WORLDS), torch.zeros(WORLDS), torch.zeros(WORLDS))
    ppo.finish(aim.draw())
    ppo.log_probs.sub_(500.0)
    ppo.update()
    assert torch.isfinite(ppo.actor_flat).all()
    before = ppo.actor_flat.clone()
    ppo.advantages.fill_(float("nan"))
    ppo.optimiser.state.clear()
    ppo.update()
    assert torch.equal(ppo.actor_flat, before)


def test_at_a_warm_start_the_critic_learns_first(character: Character, tiny: TrackerSettings) -> None:
    ppo = make_ppo(character, tiny, "none")
    ppo.actor_waits = 2
    actor, critic = ppo.actor_flat.detach().clone(), ppo.critic_flat.detach().clone()
    aim = Aim(character, ppo.policy)
    rate = ppo.actor_rate.clone()
    play(ppo, aim, 2)
    assert torch.equal(ppo.actor_flat, actor) and not torch.equal(ppo.critic_flat, critic)
    assert torch.equal(ppo.actor_rate, rate), "a rate is not judged by an actor that does not move"
    play(ppo, aim, 1)
    assert not torch.equal(ppo.actor_flat, actor)


def test_an_update_that_has_gone_too_far_moves_only_the_critic_on(character: Character, tiny: TrackerSettings) -> None:
    def after(epochs: int, stop_kl: float) -> tuple[Tensor, Tensor]:
        ppo = make_ppo(character, tiny, "none", epochs=epochs, stop_kl=stop_kl, target_kl=0.0)
        play(ppo, Aim(character, ppo.policy), 1)
        return ppo.actor_flat.detach(), ppo.critic_flat.detach()

    once, stopped, free = after(1, 1e-9), after(3, 1e-9), after(3, 0.0)
    assert torch.equal(once[0], stopped[0]) and not torch.equal(once[1], stopped[1])
    assert not torch.equal(once[0], free[0])


def test_noise_and_rates_fall_at_the_end_of_the_budget(character: Character, tiny: TrackerSettings) -> None:
    ppo = make_ppo(character, tiny, "none")
    for progress, highest in ((0.3, 0.3), (0.6, 0.3), (0.8, (0.08 * 0.03) ** 0.5), (1.0, 0.03)):
        ppo._shape = replace(ppo._shape, final_std=0.03)
        ppo.set_progress(progress)
        ppo.policy.log_std.data.fill_(0.0)
        ppo._apply_gradient()
        torch.testing.assert_close(ppo.policy.log_std.detach().exp(), torch.full_like(ppo.policy.log_std, highest))
    assert float(ppo._rate_factor) == pytest.approx(ppo.settings.final_rate)


@pytest.mark.parametrize("symmetry", ["canonical", "none"])
def test_neighbours_are_those_of_the_same_episode_seen_from_the_same_side(
    character: Character, tiny: TrackerSettings, symmetry: Literal["canonical", "none"]
) -> None:
    ppo = make_ppo(character, tiny, symmetry)
    generator = torch.Generator().manual_seed(3)
    shown, ended = torch.randn(4, WORLDS, ppo.policy.size, generator=generator), torch.rand(4, WORLDS, generator=generator) < 0.4
    actor = Actor(ppo.policy.normalizer, ppo.policy.actor, ppo.policy.mirror if symmetry == "canonical" else None)
    with torch.no_grad():
        means = torch.stack([actor(rows) for rows in shown])
    for t in range(4):
        ppo.act(t, shown[t])
        ppo.record(t, torch.zeros(WORLDS), ended[t].float(), torch.zeros(WORLDS), torch.zeros(WORLDS))
    ppo.finish(shown[0])
    flips = [ppo.policy.view(rows)[1] for rows in shown]
    for t in range(4):
        between = ppo.policy.action_back(ppo._between[t], flips[t])
        for world in range(0, WORLDS, 7):
            around = [means[t - 1, world]] if t > 0 and not ended[t - 1, world] else []
            around += [means[t + 1, world]] if t < 3 and not ended[t, world] else []
            assert float(ppo._between_weight[t, world]) == len(around) / 2
            if around:
                torch.testing.assert_close(between[world], torch.stack(around).mean(0), atol=1e-5, rtol=1e-4)


def test_calm_makes_means_of_one_episode_alike(character: Character, tiny: TrackerSettings) -> None:
    def roughness_after(calm: float) -> float:
        ppo = make_ppo(character, tiny, "none", calm=calm)
        initialise(ppo.policy, torch.Generator().manual_seed(1))
        with torch.no_grad():
            ppo.policy.actor.last.weight.mul_(30.0)
        generator, zero = torch.Generator().manual_seed(2), torch.zeros(WORLDS)
        for _ in range(12):
            for t in range(ppo.settings.steps):
                ppo.act(t, torch.randn(WORLDS, ppo.policy.size, generator=generator))
                ppo.record(t, zero, zero, zero, zero)
            ppo.finish(torch.zeros(WORLDS, ppo.policy.size))
            roughness = float(ppo.update()[-1])
        return roughness

    assert roughness_after(20.0) < 0.7 * roughness_after(0.0)


def test_gradient_descent_with_momentum_is_torchs() -> None:
    generator = torch.Generator().manual_seed(0)
    start = torch.randn(7, generator=generator)
    ours, theirs = start.clone().requires_grad_(), start.clone().requires_grad_()
    rate = torch.tensor(0.03)
    mine, reference = MomentumSgd([{"params": [ours], "lr": rate}], 0.9), torch.optim.SGD([theirs], lr=0.03, momentum=0.9)
    for _ in range(5):
        ours.grad = torch.randn(7, generator=generator)
        theirs.grad = ours.grad.clone()
        mine.step()
        reference.step()
    torch.testing.assert_close(ours, theirs)
    rate.zero_()
    before = ours.detach().clone()
    mine.step()
    assert torch.equal(ours.detach(), before), "the rate is read anew at each step"


def test_the_papers_ppo_learns_keeps_its_last_weights_and_goes_on_from_a_checkpoint(
    character: Character, tiny: TrackerSettings
) -> None:
    paper = TrackerSettings.paper().ppo
    changes = {name: getattr(paper, name) for name in ("optimiser", "target_kl", "stop_kl", "calm", "average", "gradient_norm")}
    ppo = make_ppo(character, tiny, "none", **changes, actor_rate=1e-4, critic_rate=1e-4)
    aim = Aim(character, ppo.policy)
    rewards = play(ppo, aim, 25)
    assert sum(rewards[-5:]) > sum(rewards[:5])
    actor = torch.cat([p.detach().flatten() for p in ppo.policy.actor.parameters()])
    assert torch.equal(actor, torch.cat([p.detach().flatten() for p in ppo.policy.averaged.parameters()]))
    other = make_ppo(character, tiny, "none", **changes, actor_rate=1e-4, critic_rate=1e-4)
    other.load_state({name: value.clone() for name, value in ppo.state().items()})
    momentum = [p.optimiser.state[p.actor_flat]["momentum"] for p in (ppo, other)]
    assert torch.equal(*momentum) and float(momentum[0].norm()) > 0
    adam = make_ppo(character, tiny, "none")
    play(adam, Aim(character, adam.policy), 1)
    other.load_state({name: value.clone() for name, value in adam.state().items()})
    play(other, aim, 1)


def test_optimisers_that_do_not_exist_are_one_sentence() -> None:
    with pytest.raises(SettingsError, match="optimiser is 'lion'"):
        replace(TrackerSettings().ppo, optimiser="lion")
    with pytest.raises(SettingsError, match=r"momentum 1\.0"):
        replace(TrackerSettings().ppo, momentum=1.0)
