"""Proximal policy optimisation over the worlds of a `TrackEnv`.

    L = -min(r A, clip(r, 1 - e, 1 + e) A) + |mean beyond bound|^2 + calm |mean_t - (mean_old_t-1 + mean_old_t+1) / 2|^2
        + (v - R)^2                                                                   r = pi(a | s) / pi_old(a | s)

A is the normalised and clamped advantage, R the TD(lambda) return. The rate of the actor follows the divergence of the updated
policy from the one that acted, sum_i (mean_i - mean_old_i)^2 / (2 std_i^2): with a std of a twentieth of the joint range the
policy has to travel many std to learn anything, so the target is some times what is usual for wide policies.

One minibatch (gather, forward, backward, optimiser, average) is one CUDA graph; with several ranks the gradient is exchanged
between two. Gradients come from `torch.autograd.grad` into one flat tensor, so no accumulation nodes live across recordings.

Minibatches may be mirrored (symmetry "augment"): a mirrored sample has its own old mean and probability, computed when it
was recorded, since the policy is only nearly symmetric. Values and advantages of a sample and its mirror image are equal.
Where worlds wait between two episodes (`masked`), `record` says which samples count. An episode that has arrived goes on as an
average one would, with the batch's mean value: with its own it would be paid the arrival again and again.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from parc.errors import SettingsError
from parc.run.cuda_graph import CudaGraph
from parc.run.distributed import Group
from parc.track.learn.advantage import gae
from parc.track.learn.mlp_network import flatten_parameters
from parc.track.learn.momentum_sgd import MomentumSgd
from parc.track.learn.policy import TrackerPolicy, log_probability
from parc.track.tracker_settings import PolicySettings, PPOSettings

METRICS_OF_UPDATE = ("kl", "clipped", "value_loss", "policy_loss", "roughness")
_RATE_STEP = 1.5
_LARGEST_CHANGE = 20.0
"""of a log probability within an update"""


class PPO:
    """Buffers of one rollout, and the update that learns from it."""

    def __init__(
        self,
        policy: TrackerPolicy,
        num_worlds: int,
        settings: PPOSettings,
        shape: PolicySettings,
        group: Group,
        generator: torch.Generator,
        graphs: bool = True,
        masked: bool = False,
        anchor: Callable[[Tensor], Tensor] | None = None,
        pull: float = 0.0,
    ) -> None:
        """masked: `record` says which samples count. anchor: what the networks are shown, not normalised yet, to the means to
        which the policy is pulled with a weight of `pull`.
        """
        if pull > 0 and policy.symmetry == "augment":
            raise SettingsError("a pull to another policy needs the symmetry canonical or none, not augment")
        device = policy.normalizer.mean.device
        samples = settings.steps * num_worlds
        if settings.minibatch < 1 or settings.steps < 1 or settings.epochs < 1:
            raise SettingsError(
                f"minibatch {settings.minibatch}, steps {settings.steps} and epochs {settings.epochs} must be positive"
            )
        self.policy, self.settings, self.group, self._generator = policy, settings, group, generator
        self._shape, self._masked, self._pull, self._anchor = shape, masked, pull, anchor if pull > 0 else None
        self._lowest_log_std = math.log(shape.std_range[0])
        self._highest_log_std = torch.full((), math.log(shape.std_range[1]), device=device)
        self.minibatches = max(1, round(samples / settings.minibatch))
        self.minibatch = samples // self.minibatches
        self._allocate(num_worlds, device)
        self._make_optimiser(device)
        self._whole = CudaGraph(self._minibatch_step, device, every_run_counts=True, enabled=graphs)
        self._gradient_part = CudaGraph(self._compute_gradient, device, every_run_counts=True, enabled=graphs)
        self._apply_part = CudaGraph(self._apply_gradient, device, every_run_counts=True, enabled=graphs)

    def _allocate(self, n: int, device: torch.device) -> None:
        t, size, d = self.settings.steps, self.policy.size, self.policy.actions
        wide = torch.bfloat16 if device.type == "cuda" else torch.float32

        def zeros(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
            return torch.zeros(shape, dtype=dtype, device=device)

        self.rows = zeros(t, n, size, dtype=wide)
        """what the networks were shown, normalised"""
        self.actions, self.means, self.log_probs = zeros(t, n, d), zeros(t, n, d), zeros(t, n)
        self._flipped = zeros(t, n, 1, dtype=torch.bool)
        """whether the networks were shown the mirror image"""
        self._between, self._between_weight = zeros(t, n, d), zeros(t, n)
        """means of the steps before and after, averaged, as the networks see them, and how much they count: 1, 1/2 or 0"""
        self.values, self.rewards = zeros(t + 1, n), zeros(t, n)
        self.failed, self.timed_out, self.errors = zeros(t, n), zeros(t, n), zeros(t, n)
        self.advantages, self.returns = zeros(t * n), zeros(t * n)
        self.counts: Tensor | None = zeros(t, n) + 1.0 if self._masked else None
        self.arrived: Tensor | None = zeros(t, n) if self._masked else None
        self._anchor_means = zeros(t, n, d) if self._anchor is not None else None
        self._noise, self._old_log_std = zeros(n, d), zeros(d)
        self._picked = zeros(self.minibatch, dtype=torch.long)
        self._sums, self._count = zeros(len(METRICS_OF_UPDATE)), zeros()
        if self.policy.symmetry == "augment":
            self.mirrored_means, self.mirrored_log_probs = zeros(t, n, d), zeros(t, n)
            self._swap = zeros(self.minibatch, 1, dtype=torch.bool)

    def _make_optimiser(self, device: torch.device) -> None:
        policy, s = self.policy, self.settings
        # Weights of actor, critic and averaged actor lie in one flat tensor each, gradients of both in another.
        actor = list(policy.actor.parameters())
        self._trained: list[nn.Parameter] = [*actor, *([policy.log_std] if policy.log_std.requires_grad else [])]
        critic = list(policy.critic.parameters())
        with torch.no_grad():
            for mean, p in zip(policy.averaged.parameters(), actor, strict=True):
                mean.copy_(p)
        self.actor_flat, self.critic_flat = flatten_parameters(self._trained), flatten_parameters(critic)
        self.averaged_flat = flatten_parameters(list(policy.averaged.parameters()))
        self._trained = [*self._trained, *critic]
        self._actor_size = self.actor_flat.numel()
        self.gradient = torch.zeros(self._actor_size + self.critic_flat.numel(), device=device)
        self._gradient_views = [
            part.view(p.shape)
            for p, part in zip(self._trained, self.gradient.split([p.numel() for p in self._trained]), strict=True)
        ]
        self.actor_flat.grad, self.critic_flat.grad = self.gradient[: self._actor_size], self.gradient[self._actor_size :]
        # Rates are tensors: a recorded graph reads what they are at each replay.
        self.actor_rate, self.critic_rate = torch.tensor(s.actor_rate, device=device), torch.tensor(s.critic_rate, device=device)
        self._rate_factor = torch.ones((), device=device)
        self._actor_lr, self._critic_lr = self.actor_rate.clone(), self.critic_rate.clone()
        self._average_weight = torch.zeros((), device=device)
        self._updates = 0
        self.actor_waits = 0
        """updates in which only the critic learns, while the optimiser gets to know the actor's gradients"""
        groups = [{"params": [self.actor_flat], "lr": self._actor_lr}, {"params": [self.critic_flat], "lr": self._critic_lr}]
        self.optimiser: torch.optim.Optimizer = (
            MomentumSgd(groups, s.momentum)
            if s.optimiser == "sgd"
            else torch.optim.Adam(groups, fused=True, capturable=device.type == "cuda")
        )

    @torch.no_grad()
    def act(self, t: int, observation: Tensor) -> Tensor:
        """Draw actions [N, D] for step t of the rollout and remember what is needed to learn from them."""
        policy = self.policy
        # What the networks see: one of the two mirror images, normalised with the statistics of the iteration before.
        rows, flip = policy.view(observation)
        policy.normalizer.collect(rows)
        if self._anchor is not None and self._anchor_means is not None:
            self._anchor_means[t].copy_(self._anchor(rows))
        rows = policy.normalizer(rows)
        self.rows[t].copy_(rows)
        # a = mean + std e, with e from the unit Gaussian
        mean = policy.actor(self.rows[t])
        self._noise.normal_(generator=self._generator)
        action = mean + policy.log_std.exp() * self._noise
        # All that the update asks for of this step.
        self.actions[t].copy_(action)
        self.means[t].copy_(mean)
        if flip is not None:
            self._flipped[t].copy_(flip)
        self.log_probs[t].copy_(log_probability(action, mean, policy.log_std))
        self.values[t].copy_(policy.critic(self.rows[t]).squeeze(-1))
        if policy.symmetry == "augment":
            assert policy.mirror is not None
            mirrored = policy.actor(policy.mirror.observation(self.rows[t]).to(self.rows.dtype))
            self.mirrored_means[t].copy_(mirrored)
            self.mirrored_log_probs[t].copy_(log_probability(policy.mirror.action(action), mirrored, policy.log_std))
        return policy.action_back(action, flip)

    def record(
        self,
        t: int,
        reward: Tensor,
        failed: Tensor,
        timed_out: Tensor,
        error: Tensor,
        counts: Tensor | None = None,
        arrived: Tensor | None = None,
    ) -> None:
        """What step t brought, each [N]; the last two where samples are masked. Arrived is also timed out."""
        self.rewards[t].copy_(reward)
        self.failed[t].copy_(failed)
        self.timed_out[t].copy_(timed_out)
        self.errors[t].copy_(error)
        if self.counts is not None and self.arrived is not None and counts is not None and arrived is not None:
            self.counts[t].copy_(counts)
            self.arrived[t].copy_(arrived)

    @torch.no_grad()
    def finish(self, observation: Tensor) -> None:
        """After the last step: the value of where the rollout stopped, advantages and returns, new statistics."""
        policy, s = self.policy, self.settings
        rows, _ = policy.view(observation)
        self.values[-1].copy_(policy.critic(policy.normalizer(rows).to(self.rows.dtype)).squeeze(-1))
        # Advantages and TD(lambda) returns. The state an episode timed out in has been replaced by the next start; the value
        # one step before stands for it.
        afterwards = self._afterwards()
        rewards = s.reward_scale * self.rewards
        advantages, returns = gae(rewards, self.values, self.failed, self.timed_out, afterwards, s.gamma, s.lam)
        # Advantages of all ranks together get mean 0 and variance 1; outliers are clamped.
        moments = torch.stack([self._mean(advantages), self._mean(advantages.square())])
        self.group.mean_([moments])
        spread = (moments[1] - moments[0].square()).clamp_min(0.0).sqrt() + 1e-6
        advantages = ((advantages - moments[0]) / spread).clamp(-s.advantage_clip, s.advantage_clip)
        self.advantages.copy_((advantages if self.counts is None else advantages * self.counts).view(-1))
        self.returns.copy_(returns.view(-1))
        # What this update compares itself with, and new statistics for the next rollout.
        self._old_log_std.copy_(policy.log_std)
        self._look_around()
        policy.normalizer.update(self.group)
        if policy.symmetry == "augment" and policy.mirror is not None:
            _symmetrise(policy)

    def _mean(self, numbers: Tensor) -> Tensor:
        """Over the samples [T, N] that count."""
        return numbers.mean() if self.counts is None else (numbers * self.counts).sum() / self.counts.sum().clamp_min(1.0)

    def _afterwards(self) -> Tensor:
        """[T, N] what follows a step that was an episode's last without a fault: its own value, or after arriving the mean."""
        own = self.values[:-1]
        if self.arrived is None:
            return own
        mean = self._mean(own)
        self.group.mean_([mean])
        return torch.where(self.arrived > 0, mean, own)

    def _look_around(self) -> None:
        """The means of a step's neighbours in its own episode, in the view that the networks had at the step."""
        policy = self.policy
        flip = None if policy.symmetry != "canonical" else self._flipped
        means = policy.action_back(self.means, flip)
        goes_on = (1.0 - torch.maximum(self.failed, self.timed_out))[:-1].unsqueeze(-1)
        self._between.zero_()
        self._between[1:].add_(goes_on * means[:-1])
        self._between[:-1].add_(goes_on * means[1:])
        neighbours = torch.zeros_like(self._between_weight)
        neighbours[1:].add_(goes_on.squeeze(-1))
        neighbours[:-1].add_(goes_on.squeeze(-1))
        self._between.div_(neighbours.clamp_min(1.0).unsqueeze(-1))
        self._between.copy_(policy.action_back(self._between, flip))
        self._between_weight.copy_(0.5 * neighbours)

    def update(self) -> Tensor:
        """All epochs; returns the means of `METRICS_OF_UPDATE` over the last one, on the device."""
        s, total = self.settings, self.rewards.numel()
        waits = self.actor_waits > 0
        self.actor_waits = max(0, self.actor_waits - 1)
        self._actor_lr.copy_(self.actor_rate * self._rate_factor * (0.0 if waits else 1.0))
        self._critic_lr.copy_(self.critic_rate * self._rate_factor)
        for _ in range(s.epochs):
            # Every sample once, in random order.
            order = torch.randperm(total, device=self.rewards.device, generator=self._generator)
            self._sums.zero_()
            self._count.zero_()
            for k in range(self.minibatches):
                self._picked.copy_(order[k * self.minibatch : (k + 1) * self.minibatch])
                if self.policy.symmetry == "augment":
                    coin = torch.rand(self.minibatch, 1, device=order.device, generator=self._generator)
                    self._swap.copy_(coin < 0.5)
                # The average over time is of all weights so far while there are few, then of the last 1 / (1 - average) of them.
                self._average_weight.fill_(1.0 - min(s.average, (1.0 + self._updates) / (10.0 + self._updates)))
                self._updates += 1
                self._one_minibatch()
            # Beyond `stop_kl` the actor waits for the next rollout.
            metrics = self._sums / self._count
            self.group.mean_([metrics])
            if s.stop_kl > 0:
                self._actor_lr.mul_(metrics[0] < s.stop_kl)
        if not waits:
            self._adapt_rate(metrics[0])
        return metrics

    def set_progress(self, progress: float) -> None:
        """Share of the budget spent, for the fall of the rates and of the noise at the end."""
        fall, shape = min(max((progress - 0.6) / 0.4, 0.0), 1.0), self._shape
        self._rate_factor.fill_(1.0 + fall * (self.settings.final_rate - 1.0))
        if fall > 0:
            lowest, highest = shape.std_range
            ceiling = math.log(shape.std) + fall * math.log(shape.final_std / shape.std)
            self._highest_log_std.fill_(min(max(ceiling, math.log(lowest)), math.log(highest)))

    def _one_minibatch(self) -> None:
        if self.group.world_size == 1:
            self._whole()
            return
        self._gradient_part()
        self.group.mean_([self.gradient])
        self._apply_part()

    def _minibatch_step(self) -> None:
        self._compute_gradient()
        self._apply_gradient()

    def _compute_gradient(self) -> None:
        """L of the module's docstring over the samples picked, and its gradient."""
        policy, s, picked = self.policy, self.settings, self._picked
        # Gather the samples, and mirror those that the coin says.
        rows = self.rows.flatten(0, 1).index_select(0, picked)
        actions = self.actions.flatten(0, 1).index_select(0, picked)
        old_means = self.means.flatten(0, 1).index_select(0, picked)
        old_log_probs = self.log_probs.view(-1).index_select(0, picked)
        between = self._between.flatten(0, 1).index_select(0, picked)
        if policy.symmetry == "augment":
            assert policy.mirror is not None
            swap = self._swap
            rows = torch.where(swap, policy.mirror.observation(rows).to(rows.dtype), rows)
            actions = torch.where(swap, policy.mirror.action(actions), actions)
            old_means = torch.where(swap, self.mirrored_means.flatten(0, 1).index_select(0, picked), old_means)
            between = torch.where(swap, policy.mirror.action(between), between)
            mirrored = self.mirrored_log_probs.view(-1).index_select(0, picked)
            old_log_probs = torch.where(swap.squeeze(-1), mirrored, old_log_probs)
        advantages, returns = self.advantages.index_select(0, picked), self.returns.index_select(0, picked)

        # r = pi(a | s) / pi_old(a | s)
        mean = policy.actor(rows)
        # A mirrored action may be many std from a policy that is not symmetric yet; beyond e^20 only the sign counts.
        change = log_probability(actions, mean, policy.log_std) - old_log_probs
        ratio = torch.exp(change.clamp(-_LARGEST_CHANGE, _LARGEST_CHANGE))
        # -min(r A, clip(r) A), means within their bound and near those of the neighbouring steps, (v - R)^2
        policy_loss = -torch.min(ratio * advantages, ratio.clamp(1 - s.clip, 1 + s.clip) * advantages).mean()
        bound_loss = (mean.abs() - s.bound).clamp_min(0.0).square().sum(-1).mean()
        roughness = (self._between_weight.view(-1).index_select(0, picked) * (mean - between).square().sum(-1)).mean()
        value_errors = (policy.critic(rows).squeeze(-1) - returns).square()
        value_loss = (value_errors if self.counts is None else value_errors * self.counts.view(-1).index_select(0, picked)).mean()
        loss = policy_loss + s.bound_weight * bound_loss + s.calm * roughness + value_loss
        if self._anchor_means is not None:
            loss = loss + self._pull * self._distance(mean, self._anchor_means.flatten(0, 1).index_select(0, picked)).mean()
        # Into one flat tensor, which ranks exchange and the optimiser reads.
        gradients = torch.autograd.grad(loss, self._trained)
        torch._foreach_copy_(self._gradient_views, list(gradients))

        with torch.no_grad():
            kl = self._distance(mean, old_means).mean()
            clipped = ((ratio - 1.0).abs() > s.clip).float().mean()
            self._sums.add_(torch.stack([kl, clipped, value_loss.detach(), policy_loss.detach(), roughness.detach()]))
            self._count.add_(1.0)

    def _distance(self, mean: Tensor, other: Tensor) -> Tensor:
        """[...] divergence of Gaussians with means [..., D] and the std that acted."""
        return (0.5 * ((mean - other) * torch.exp(-self._old_log_std)).square()).sum(-1)

    @torch.no_grad()
    def _apply_gradient(self) -> None:
        """One step of the optimiser, actor and critic each by a gradient that is not too long; then the average over time."""
        longest = self.settings.gradient_norm
        for flat in (self.actor_flat, self.critic_flat):
            assert flat.grad is not None
            norm = torch.linalg.vector_norm(flat.grad)
            shortened = flat.grad * (longest / (norm + 1e-6)).clamp_max(1.0) if longest > 0 else flat.grad
            flat.grad.copy_(torch.where(torch.isfinite(norm), shortened, torch.zeros_like(shortened)))
        self.optimiser.step()
        if self.policy.log_std.requires_grad:
            log_std = self.policy.log_std.data
            log_std.copy_(torch.minimum(log_std, self._highest_log_std).clamp_min(self._lowest_log_std))
        self.averaged_flat.data.lerp_(self.actor_flat.data[: self.averaged_flat.numel()], self._average_weight)

    def _adapt_rate(self, kl: Tensor) -> None:
        target = self.settings.target_kl
        if target <= 0:
            return
        factor = torch.where(kl > 2.0 * target, 1.0 / _RATE_STEP, torch.where(kl < 0.5 * target, _RATE_STEP, 1.0))
        self.actor_rate.mul_(factor).clamp_(*self.settings.rate_range)

    def state(self) -> dict[str, Tensor]:
        """Everything learned, for a checkpoint; `load_state` takes it back."""
        tensors = {
            "actor": self.actor_flat,
            "critic": self.critic_flat,
            "averaged": self.averaged_flat,
            "actor_rate": self.actor_rate,
            "updates": torch.tensor(self._updates),
            "actor_waits": torch.tensor(self.actor_waits),
            **{f"normalizer.{name}": value for name, value in self.policy.normalizer.state_dict().items()},
        }
        for name, flat in (("actor", self.actor_flat), ("critic", self.critic_flat)):
            tensors.update({f"{self.settings.optimiser}.{name}.{k}": value for k, value in self.optimiser.state[flat].items()})
        return tensors

    @torch.no_grad()
    def load_state(self, tensors: dict[str, Tensor]) -> None:
        """Everything that `state` told."""
        for name, flat in (("actor", self.actor_flat), ("critic", self.critic_flat), ("averaged", self.averaged_flat)):
            flat.copy_(tensors[name])
        self.actor_rate.copy_(tensors["actor_rate"])
        self._updates = int(tensors["updates"])
        self.actor_waits = int(tensors["actor_waits"])
        normalizer = self.policy.normalizer
        normalizer.load_state_dict({name: tensors[f"normalizer.{name}"] for name in normalizer.state_dict()})
        for name, flat in (("actor", self.actor_flat), ("critic", self.critic_flat)):
            prefix = f"{self.settings.optimiser}.{name}."
            saved = {key.removeprefix(prefix): value for key, value in tensors.items() if key.startswith(prefix)}
            if saved:  # none of weights that another optimiser has learned
                self.optimiser.state[flat] = {key: value.clone().to(flat.device) for key, value in saved.items()}


def _symmetrise(policy: TrackerPolicy) -> None:
    """Make the normaliser's statistics their own mirror image, so that mirroring commutes with normalising."""
    assert policy.mirror is not None
    normalizer, mirror = policy.normalizer, policy.mirror
    normalizer.mean.copy_(0.5 * (normalizer.mean + mirror.observation(normalizer.mean)))
    normalizer.variance.copy_(0.5 * (normalizer.variance + normalizer.variance.index_select(0, mirror.source)))
