"""How often each clip is drawn in training.

A data set is rarely balanced: one skill may have a third of the minutes. Skill s of total usable length L_s is drawn with
probability

    P(s) = L_s^p / sum_r L_r^p

p = 1 draws every frame equally often, p = 0 every skill; 0.5 lies between. Within a skill a clip is drawn in proportion
to its usable length, so that no window is preferred over another of the same skill.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from parc.dataset.clip_entry import ClipEntry
from parc.errors import DatasetError, SettingsError


@dataclass(frozen=True)
class WeightSettings:
    skill_power: float = 0.5
    """p above, 0 to 1"""
    window: float = 0.0
    """s; a clip of length t has t - window of usable starts, shorter ones are never drawn"""

    def __post_init__(self) -> None:
        if not 0 <= self.skill_power <= 1:
            raise SettingsError(f"skill_power is {self.skill_power}, expected a number from 0 to 1")
        if not self.window >= 0:
            raise SettingsError(f"window is {self.window}, expected 0 or more seconds")


BALANCED = WeightSettings()


def sampling_weights(entries: Sequence[ClipEntry], settings: WeightSettings = BALANCED) -> Tensor:
    """Probability [N] of drawing each clip."""
    usable = torch.tensor([e.seconds - settings.window for e in entries], dtype=torch.float64).clamp_min(0)
    if not usable.sum() > 0:
        raise DatasetError(f"none of the {len(entries)} clips is longer than the window of {settings.window:g} s")
    skills = sorted({e.skill for e in entries})
    of = torch.tensor([skills.index(e.skill) for e in entries])
    total = torch.zeros(len(skills), dtype=torch.float64).index_add_(0, of, usable)
    share = torch.where(total > 0, total.clamp_min(1e-12) ** settings.skill_power, 0.0)
    share = share / share.sum()
    return (share[of] * usable / total[of].clamp_min(1e-12)).float()
