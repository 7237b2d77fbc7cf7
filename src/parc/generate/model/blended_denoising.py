"""Blended denoising: how far the past is ignored, step by step.

    G_blend = s G(x, level; h, d) + (1 - s) G(x, level; h, d, past)

s = 0.65 throughout is the paper's. Annealing s from 1 to 0 over the sampler's steps chooses the route by the terrain while the
sample is still noise and joins it smoothly to the past while the details form.

What is ignored is lost: without the past at the first step, a walk takes up another stride in every window. It shuffles, falters,
and is slower than asked. So who walks on where the ground of the next steps is level, and there is nothing to choose, always sees
the past. Who stands does not: a past of standing is gone on with by standing, and it would take seconds to set off.

    s_row = s * the larger of: unevenness of the ground ahead, 0 (level) to 1; slowness of the past, 0 (walks) to 1 (stands)
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from parc.errors import SettingsError
from parc.generate.model.canonical_frame import FPS, HEIGHT_LIMIT
from parc.terrain.heightmap import HeightmapGrid, grid_points

BEHIND, AHEAD, BESIDE = -0.3, 1.6, 0.5
"""m of ground around the next steps that `unevenness` looks at"""


@dataclass(frozen=True)
class Blend:
    """The blending coefficient s of every step of the sampler (paper, section 5.3)."""

    start: float = 1.0
    """s at the first step (pure noise)"""
    end: float = 0.0
    """s at the last step; equal to `start` for a constant coefficient"""
    until: float = 0.5
    """share of the steps after which s stays at `end`"""
    level: float = 0.15
    """m that the ground of the next steps may go up and down (`unevenness`) for s to be 0 there"""
    uneven: float = 0.35
    """m from which on s is whole; 0: everywhere, as in the paper"""
    slow: float = 0.3
    """m/s of the past's root up to which s is whole on level ground too"""
    walks: float = 0.7
    """m/s of the past's root from which on the ground alone decides"""

    def __post_init__(self) -> None:
        if not 0 < self.until <= 1:
            raise SettingsError(f"the blend ends after {self.until} of the steps, expected a share above 0 and at most 1")
        if not (0 <= self.start <= 1 and 0 <= self.end <= 1):
            raise SettingsError(f"the blending coefficient runs from {self.start} to {self.end}, expected numbers from 0 to 1")
        if self.uneven and not 0 <= self.level < self.uneven:
            raise SettingsError(f"level ground is up to {self.level} m and uneven from {self.uneven} m, expected rising numbers")
        if not 0 <= self.slow < self.walks:
            raise SettingsError(f"slow is up to {self.slow} m/s and walking from {self.walks} m/s, expected rising numbers")

    @classmethod
    def constant(cls, s: float) -> "Blend":
        """The same s at every step, as in the paper."""
        return cls(s, s, 1.0, uneven=0.0)

    def coefficients(self, steps: int, device: torch.device | str = "cpu") -> Tensor:
        """[steps] s of each step; 5 steps from 1 to 0 until the middle: 1, 0.5, 0, 0, 0."""
        if self.start == self.end or steps == 1:
            return torch.full((steps,), float(self.end if steps > 1 else self.start), device=device)
        ramp = max(1.0, self.until * steps - 0.5)
        progress = (torch.arange(steps) / ramp).clamp_max(1.0)
        return (self.start + (self.end - self.start) * progress).to(device=device, dtype=torch.float32)

    def row_coefficients(
        self, coefficients: Tensor, past_root: Tensor, heightmap: Tensor, direction: Tensor, grid: HeightmapGrid
    ) -> Tensor:
        """[S, B, 1, 1] s of every step and row, from s of every step [S].

        Root of the past frames [B, 2, 3], heightmap [B, 31, 31] and direction [B, 2] as the network reads them.
        """
        uneven = (unevenness(heightmap, direction, grid) - self.level) / (self.uneven - self.level)
        speed = (past_root[:, -1, :2] - past_root[:, 0, :2]).norm(dim=-1) * FPS
        slowness = (self.walks - speed) / (self.walks - self.slow)
        share = torch.maximum(uneven, slowness).clamp(0, 1)
        return coefficients.view(-1, 1, 1, 1) * share.view(1, -1, 1, 1)

    def mixed(self, steps: int) -> tuple[bool, ...]:
        """Which steps need both branches: those whose s is neither 0 nor, in every row, 1."""
        alone = (0.0,) if self.uneven else (0.0, 1.0)
        return tuple(s not in alone for s in self.coefficients(steps).tolist())


DEFAULT_BLEND = Blend()
PAPER_BLEND = Blend.constant(0.65)


def unevenness(heightmap: Tensor, direction: Tensor, grid: HeightmapGrid) -> Tensor:
    """[B] m between the highest and the lowest ground of the next steps: 1.6 m in direction [B, 2], .5 m to either side."""
    points = grid_points(grid, heightmap.device, heightmap.dtype)
    x, y = direction[:, 0, None, None], direction[:, 1, None, None]
    along, across = points[..., 0] * x + points[..., 1] * y, points[..., 1] * x - points[..., 0] * y
    near = (along > BEHIND) & (along < AHEAD) & (across.abs() < BESIDE)
    high = torch.where(near, heightmap, -1.0).flatten(1).amax(1)
    low = torch.where(near, heightmap, 1.0).flatten(1).amin(1)
    return HEIGHT_LIMIT * (high - low)


def blend_branches(without_past: Tensor, with_past: Tensor, s: Tensor) -> Tensor:
    """G_blend (paper, section 5.3), the formula above; s is a scalar on the device."""
    return with_past + s * (without_past - with_past)
