"""From noise to motion: two noise schedules, one sampler.

The network always predicts the clean sample, x0_hat = G(x, level). The noise level runs from 1 (pure noise) to 0 (clean).

`DdpmSchedule` (paper): x_k = sqrt(abar_k) x0 + sqrt(1 - abar_k) e with the cosine abar of K steps, level = k / K, and the paper's
DDIM step of stride d for networks that predict x0,

    x_{k-d} = (sqrt(abar_{k-d}) - sqrt(abar_k) sqrt(1 - abar_{k-d}) / sqrt(1 - abar_k)) x0_hat
              + sqrt(1 - abar_{k-d}) / sqrt(1 - abar_k) x_k.

`FlowSchedule` (fast): the straight path x = (1 - level) x0 + level e and Euler steps along it,

    x' = x + (x0_hat - x) (level - level') / level.

Both are x' = data_gain x0_hat + state_gain x: a `SamplerPlan` is those numbers as device tensors, so one captured graph
serves either. With K = 1001 and d = 5 the plan visits k = 1001, 996, ..., 1: 201 steps; K = 21, d = 5 gives 5.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

from parc.errors import SettingsError

_MOST_STEPS = 100_000


class SamplerPlan(NamedTuple):
    """The steps of a sampler from noise to motion."""

    levels: Tensor
    """[S] noise level at which the network is asked, falling"""
    data_gain: Tensor
    """[S]"""
    state_gain: Tensor
    """[S]"""

    def __len__(self) -> int:
        return self.levels.shape[0]


@dataclass(frozen=True)
class FlowSchedule:
    """Straight paths from noise to motion, of ours."""

    steps: int = 5
    """network evaluations per window"""
    pure_noise_share: float = 0.2
    """share of training items at level 1 exactly, where sampling starts"""

    def __post_init__(self) -> None:
        if not 1 <= self.steps <= _MOST_STEPS:
            raise SettingsError(f"the flow schedule has {self.steps} steps, expected 1 to {_MOST_STEPS}")

    def draw_levels(self, shape: tuple[int, ...], generator: torch.Generator | None, device: torch.device) -> Tensor:
        """Noise levels of training items, in (0, 1]."""
        level = torch.rand(shape, generator=generator, device=device)
        pure = torch.rand(shape, generator=generator, device=device) < self.pure_noise_share
        return torch.where(pure, torch.ones_like(level), level)

    def corrupt(self, x0: Tensor, noise: Tensor, level: Tensor) -> Tensor:
        """x0 and noise [..., T, D], level [...]."""
        level = level[..., None, None]
        return (1 - level) * x0 + level * noise

    def describe(self, steps: int | None = None) -> str:
        """How motions are sampled, in words; `steps` as for `RolloutSettings`."""
        return f"few-step flow, {steps or self.steps} steps"

    def plan(self, device: torch.device) -> SamplerPlan:
        """Euler steps along the straight path."""
        levels = torch.linspace(1.0, 0.0, self.steps + 1, dtype=torch.float64)
        gain = (levels[:-1] - levels[1:]) / levels[:-1]
        return _on(device, levels[:-1], gain, 1 - gain)


@dataclass(frozen=True)
class DdpmSchedule:
    """The paper's DDPM (section 3.1) and its DDIM sampler (appendix D.2)."""

    diffusion_steps: int = 1001
    """K"""
    stride: int = 5
    """d of the DDIM sampler"""

    def __post_init__(self) -> None:
        if not 1 <= self.stride <= self.diffusion_steps <= _MOST_STEPS:
            raise SettingsError(
                f"the DDIM stride is {self.stride}, expected 1 to K = {self.diffusion_steps}, and that at most {_MOST_STEPS}"
            )

    def draw_levels(self, shape: tuple[int, ...], generator: torch.Generator | None, device: torch.device) -> Tensor:
        """k / K with k uniform in 1 .. K (paper, section 5.2)."""
        k = torch.randint(1, self.diffusion_steps + 1, shape, generator=generator, device=device)
        return k / self.diffusion_steps

    def corrupt(self, x0: Tensor, noise: Tensor, level: Tensor) -> Tensor:
        """x_k of x0 and noise [..., T, D] at levels [...]."""
        kept = self.alpha_bar(level)[..., None, None]
        return kept.sqrt() * x0 + (1 - kept).sqrt() * noise

    def alpha_bar(self, level: Tensor) -> Tensor:
        """abar_k at levels [...]."""
        k = torch.round(level * self.diffusion_steps).long().clamp(0, self.diffusion_steps)
        return _cosine_alpha_bar(self.diffusion_steps, level.device).index_select(0, k.flatten()).view_as(level)

    def describe(self, steps: int | None = None) -> str:
        """How motions are sampled, in words; `steps` is of flow schedules alone."""
        count = math.ceil(self.diffusion_steps / self.stride)
        return f"DDIM with stride {self.stride} over K = {self.diffusion_steps}, {count} steps"

    def plan(self, device: torch.device) -> SamplerPlan:
        """The DDIM steps of the paper's appendix D.2."""
        k = torch.arange(self.diffusion_steps, 0, -self.stride)
        table = _cosine_alpha_bar(self.diffusion_steps, torch.device("cpu"), torch.float64)
        now, after = table[k], table[(k - self.stride).clamp_min(0)]
        state_gain = ((1 - after) / (1 - now)).sqrt()
        return _on(device, k.double() / self.diffusion_steps, after.sqrt() - now.sqrt() * state_gain, state_gain)


Schedule = FlowSchedule | DdpmSchedule


def spaced(values: Tensor) -> Tensor:
    """The same float32 numbers [S], each on its own 16 bytes: compiled code would copy one that starts elsewhere."""
    room = values.new_zeros(len(values), 4)
    room[:, 0] = values
    return room[:, 0]


def advance(x: Tensor, clean: Tensor, data_gain: Tensor, state_gain: Tensor) -> Tensor:
    """x' from x and x0_hat; with the gains of `DdpmSchedule.plan` the paper's DDIM step (appendix D.2)."""
    return data_gain * clean + state_gain * x


def sample(plan: SamplerPlan, noise: Tensor, step: Callable[[Tensor, int, Tensor, Tensor], Tensor]) -> Tensor:
    """The reverse process (paper, section 3.1): walk the plan from `noise`.

    step(x, i, data_gain, state_gain) asks the network and advances x over the plan's step i.
    """
    x = noise
    for i in range(len(plan)):
        x = step(x, i, plan.data_gain[i], plan.state_gain[i])
    return x


@cache  # captured graphs read these tensors, so none may be dropped
def _cosine_alpha_bar(steps: int, device: torch.device, dtype: torch.dtype = torch.float32) -> Tensor:
    """[K + 1] abar_0 = 1, ..., abar_K (Nichol and Dhariwal), betas at most 0.999."""
    t = torch.linspace(0, 1, steps + 1, dtype=torch.float64)
    f = torch.cos((t + 0.008) / 1.008 * math.pi / 2).square()
    kept = (f[1:] / f[:-1]).clamp_min(0.001)
    return torch.cat([torch.ones(1, dtype=torch.float64), kept.cumprod(0)]).to(device, dtype)


def _on(device: torch.device, *columns: Tensor) -> SamplerPlan:
    return SamplerPlan(*(spaced(c.to(device, torch.float32)) for c in columns))
