"""What makes crossing harder: pushes at random times, and height maps that are not what the ground is.

Both are drawn for each run of each case from random numbers of its own, so they are the same whatever else is measured.
"""

from dataclasses import dataclass

import numpy as np
import torch
from scipy import ndimage
from torch import Tensor

from parc.errors import SettingsError
from parc.evaluate.terrain_families import FAMILIES
from parc.evaluate.terrain_sets import SETS, TestCase, version_of
from parc.terrain import Terrain

GENERATOR, _PUSHES, _HEIGHTS = range(3)
"""purposes of random numbers"""
_SEED = 4_826_130_977_251
"""of runs, and of nothing else"""


@dataclass(frozen=True)
class Disturbance:
    """None by default."""

    push: float = 0.0
    """m/s, change of the body's velocity by a push, in a random direction of the plane"""
    push_gap: float = 3.0
    """s from the start to the first push, and from one to the next: drawn from half to one and a half of this"""
    height_noise: float = 0.0
    """m, standard deviation of what generator and tracker believe of each cell's height; it stays as it is during a run"""
    missing: float = 0.0
    """share of cells whose height is unknown; they are believed to be as high as the nearest known cell"""

    def __post_init__(self) -> None:
        if not 0 <= self.push < float("inf") or not 0 <= self.height_noise < float("inf"):
            raise SettingsError(f"a push of {self.push:g} m/s and height noise of {self.height_noise:g} m, expected none below 0")
        if not 0 <= self.missing < 1:
            raise SettingsError(f"a share of {self.missing:g} of the cells is unknown, expected 0 or more and less than 1")
        if not 0.1 <= self.push_gap < float("inf"):
            raise SettingsError(f"a push every {self.push_gap:g} s, expected at least 0.1 s")

    @property
    def blurs(self) -> bool:
        """Generator and tracker see other ground than there is."""
        return self.height_noise > 0 or self.missing > 0


def run_stream(case: TestCase, run: int, purpose: int, seed: int) -> np.random.Generator:
    """The random numbers of one run of one case, for one purpose."""
    place = SETS.index(case.set_name), version_of(case.set_name), tuple(FAMILIES).index(case.family), case.index
    return np.random.default_rng(np.random.SeedSequence([_SEED, *place, run, purpose, seed]))


def pushes(case: TestCase, run: int, what: Disturbance, steps: int, fps: float, seed: int) -> Tensor:
    """[steps, 3] m/s to be added to the body's velocity before each control step; zero before most."""
    found = torch.zeros(steps, 3)
    rng = run_stream(case, run, _PUSHES, seed)
    at = 0.0
    while what.push > 0:
        at += what.push_gap * float(rng.uniform(0.5, 1.5))
        angle = float(rng.uniform(-np.pi, np.pi))
        if round(at * fps) >= steps:
            break
        found[round(at * fps)] = what.push * torch.tensor([np.cos(angle), np.sin(angle), 0.0])
    return found


def believed(case: TestCase, run: int, what: Disturbance, seed: int) -> Terrain:
    """The terrain as generator and tracker see it."""
    rng = run_stream(case, run, _HEIGHTS, seed)
    heights = case.terrain.heights.cpu().numpy()
    seen = heights + what.height_noise * rng.standard_normal(heights.shape).astype(heights.dtype)
    unknown = rng.random(heights.shape) < what.missing
    if unknown.any() and not unknown.all():
        nearest = ndimage.distance_transform_edt(unknown, return_distances=False, return_indices=True)
        seen = seen[tuple(nearest)]
    return case.terrain.with_heights(torch.from_numpy(seen))
