"""Clips together, as one: medians over all their strides and all their seconds, where `mean_of` gives a long clip no more weight
than a short one."""

from collections.abc import Iterable
from typing import Any

import torch

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.metrics.body_signals import signals_of
from parc.metrics.clip_batch import ClipBatch, groups
from parc.metrics.gait_measures import Strides, gait_by_pace, level_strides
from parc.metrics.naturalness import ScoredWindows, by_activity, score_windows


class Pool:
    """Clips go in; gait and naturalness of all of them come out."""

    def __init__(self, character: Character, device: torch.device | str = "cpu") -> None:
        self._character, self._device = character, device
        self._strides: list[Strides] = []
        self._windows: list[ScoredWindows | None] = []

    def add(self, clips: Iterable[Clip]) -> "Pool":
        """Measured at once; the clips are not kept."""
        for group in groups(clips):
            batch = ClipBatch.stack(group, self._character, self._device)
            signals = signals_of(batch)
            if signals is not None:
                self._strides.append(level_strides(signals))
                self._windows.append(score_windows(batch, signals))
        return self

    def gait(self) -> dict[str, dict[str, float]]:
        """See `gait_by_pace`."""
        return gait_by_pace(self._strides)

    def human(self) -> dict[str, dict[str, Any]]:
        """See `by_activity`."""
        return by_activity(self._windows)
