"""Blended denoising: how far the past is ignored, step by step.

    G_blend = s G(x, level; h, d) + (1 - s) G(x, level; h, d, past)

s = 0.65 throughout is the paper's. Annealing s from 1 to 0 over the sampler's steps chooses the route by the terrain while the
sample is still noise and joins it smoothly to the past while the details form.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from parc.errors import SettingsError


@dataclass(frozen=True)
class Blend:
    """The blending coefficient s of every step of the sampler (paper, section 5.3)."""

    start: float = 1.0
    """s at the first step (pure noise)"""
    end: float = 0.0
    """s at the last step; equal to `start` for a constant coefficient"""
    until: float = 0.5
    """share of the steps after which s stays at `end`"""

    def __post_init__(self) -> None:
        if not 0 < self.until <= 1:
            raise SettingsError(f"the blend ends after {self.until} of the steps, expected a share above 0 and at most 1")
        if not (0 <= self.start <= 1 and 0 <= self.end <= 1):
            raise SettingsError(f"the blending coefficient runs from {self.start} to {self.end}, expected numbers from 0 to 1")

    @classmethod
    def constant(cls, s: float) -> "Blend":
        """The same s at every step, as in the paper."""
        return cls(s, s, 1.0)

    def coefficients(self, steps: int, device: torch.device | str = "cpu") -> Tensor:
        """[steps] s of each step; 5 steps from 1 to 0 until the middle: 1, 0.5, 0, 0, 0."""
        if self.start == self.end or steps == 1:
            return torch.full((steps,), float(self.end if steps > 1 else self.start), device=device)
        ramp = max(1.0, self.until * steps - 0.5)
        progress = (torch.arange(steps) / ramp).clamp_max(1.0)
        return (self.start + (self.end - self.start) * progress).to(device=device, dtype=torch.float32)

    def mixed(self, steps: int) -> tuple[bool, ...]:
        """Which steps need both branches: those whose s is neither 0 nor 1."""
        return tuple(s not in (0.0, 1.0) for s in self.coefficients(steps).tolist())


DEFAULT_BLEND = Blend()
PAPER_BLEND = Blend.constant(0.65)


def blend_branches(without_past: Tensor, with_past: Tensor, s: Tensor) -> Tensor:
    """G_blend (paper, section 5.3), the formula above; s is a scalar on the device."""
    return with_past + s * (without_past - with_past)
