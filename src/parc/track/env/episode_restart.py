"""Where episodes start: more often where the policy fails.

The unit of the statistics is a second of a clip (default) or a whole clip (the paper). For a second the failure rate is
failures per second spent in it; for a clip it is failures per episode. Both are decayed sums, so old policies are forgotten:

    f_u <- decay f_u + new failures        v_u <- decay v_u + new visits        rate_u = clamp(f_u / v_u, floor, 1)

A unit is drawn with a weight of its rate, up to a ceiling (seconds: times its length). The hard part of a second may be
prepared in the one before, so a second also counts part of its successor's rate. Units never visited have rate 1. Drawing is a
search in the cumulative weights, on the device, without sync.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from parc.run.distributed import Group
from parc.track.env.reference_library import ReferenceLibrary

_LEFT = 2
"""frames that must be left of a clip after a start"""


@dataclass(frozen=True)
class RestartSettings:
    unit: Literal["second", "clip"] = "second"
    """what failure rates are kept for"""
    floor: float = 0.03
    """least rate that counts"""
    ceiling: float = 0.3
    """greatest rate that counts: what always fails, because it cannot be done or not yet, must not take all samples"""
    decay: float = 0.98
    """of the counts, each iteration"""
    successor: float = 0.7
    """share of the next second's rate that counts for a second"""
    root_noise: float = 0.03
    """m, horizontal, uniform, either way"""
    velocity_noise: float = 0.2
    """m/s and rad/s added to each velocity coordinate, uniform, either way"""


class Restart:
    """Statistics and sampling over the units of a library."""

    def __init__(self, library: ReferenceLibrary, settings: RestartSettings, control_hz: int = 30) -> None:
        device = library.start.device
        self.settings = settings
        self._step = 1.0 / control_hz
        first, size, successor, unit_of_row = _units(library, settings.unit, control_hz)
        self.first_row = torch.tensor(first, device=device)
        """[U]"""
        self.size = torch.tensor(size, device=device)
        """[U] frames one may start in"""
        self.successor = torch.tensor(successor, device=device)
        """[U] the unit after each, itself at a clip's end"""
        self.unit_of_row = torch.tensor(unit_of_row, device=device)
        """[F]"""
        self.failures = torch.ones(len(first), device=device)
        self.visits = torch.ones(len(first), device=device)
        self._new_failures, self._new_visits = torch.zeros_like(self.failures), torch.zeros_like(self.failures)
        self.cumulative = torch.zeros_like(self.failures)
        self.refresh_weights()

    def rates(self) -> Tensor:
        """[U] failure rates, at least the floor."""
        return (self.failures / self.visits.clamp_min(1e-6)).clamp(self.settings.floor, 1.0)

    def refresh_weights(self) -> None:
        rates = self.rates().clamp_max(self.settings.ceiling)
        if self.settings.unit == "second":
            rates = torch.maximum(rates, self.settings.successor * rates[self.successor]) * self.size
        self.cumulative.copy_(torch.cumsum(rates, 0))

    def draw(self, uniform: Tensor) -> Tensor:
        """Two uniform numbers in [0, 1) for each world, [N, 2], to rows [N] to start in."""
        unit = torch.searchsorted(self.cumulative, (uniform[:, 0] * self.cumulative[-1]).contiguous(), right=True)
        unit = unit.clamp_max(self.cumulative.numel() - 1)
        size = self.size.index_select(0, unit)
        offset = torch.minimum((uniform[:, 1] * size).long(), size - 1)
        return self.first_row.index_select(0, unit) + offset

    def count(self, row: Tensor, failed: Tensor, finished: Tensor, weight: Tensor) -> None:
        """One control step at rows [N]: who failed, whose episode is over (either way); weight [] is 0 to count nothing."""
        unit = self.unit_of_row.index_select(0, row)
        self._new_failures.index_add_(0, unit, failed.float() * weight)
        spent = finished.float() if self.settings.unit == "clip" else torch.full_like(weight, self._step).expand(unit.shape)
        self._new_visits.index_add_(0, unit, spent * weight)

    def refresh(self, group: Group) -> None:
        """Once an iteration: fold in what was counted on all ranks."""
        group.sum_([self._new_failures, self._new_visits])
        self.failures.mul_(self.settings.decay).add_(self._new_failures)
        self.visits.mul_(self.settings.decay).add_(self._new_visits)
        self._new_failures.zero_()
        self._new_visits.zero_()
        self.refresh_weights()

    def state(self) -> dict[str, Tensor]:
        return {"failures": self.failures, "visits": self.visits}

    def load_state(self, state: dict[str, Tensor]) -> None:
        self.failures.copy_(state["failures"])
        self.visits.copy_(state["visits"])
        self.refresh_weights()


def _units(library: ReferenceLibrary, unit: str, control_hz: int) -> tuple[list[int], list[int], list[int], list[int]]:
    """First row, size and successor of each unit, and the unit of each row."""
    first: list[int] = []
    size: list[int] = []
    successor: list[int] = []
    unit_of_row: list[int] = []
    for start, length in zip(library.start.tolist(), library.length.tolist(), strict=True):
        usable = max(1, length - _LEFT)
        count = max(1, usable // control_hz) if unit == "second" else 1
        for k in range(count):
            here = len(first)
            begin = k * control_hz
            first.append(start + begin)
            size.append(control_hz if k < count - 1 else usable - begin)
            successor.append(here + 1 if k < count - 1 else here)
        base = len(first) - count
        unit_of_row += [base + min(frame // control_hz, count - 1) for frame in range(length)]
    return first, size, successor, unit_of_row
