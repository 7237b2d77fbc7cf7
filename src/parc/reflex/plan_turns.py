"""Who plans when: in every control step as many bodies as in any other, each every k steps for a k of its own.

every (2, 3), 10 worlds       step   0       1       2       3       4       5
worlds 0-3 every 2 steps            0 1     2 3     0 1     2 3     0 1     2 3
worlds 4-9 every 3 steps            4 5     6 7     8 9     4 5     6 7     8 9
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from parc.errors import SettingsError

_LONGEST_PERIOD = 5000
"""control steps after which the same bodies plan in the same steps again"""


@dataclass(frozen=True, eq=False)
class PlanTurns:
    """The turns of N worlds."""

    between: Tensor
    """[N] control steps from one plan to the next"""
    worlds: Tensor
    """[period, M] whose turn it is after each control step"""

    @classmethod
    def of(cls, every: tuple[int, ...], count: int, device: torch.device | str = "cpu") -> "PlanTurns":
        """`count` worlds, of which k / sum(every) plan every k steps."""
        each, period = count // sum(every), math.lcm(*every)
        if each < 1 or each * sum(every) != count or period > _LONGEST_PERIOD:
            raise SettingsError(
                f"{count} worlds cannot take turns every {every} control steps, expected a multiple of {sum(every)}"
            )
        between, turns, first = torch.zeros(count, dtype=torch.long), [], 0
        for k in every:
            worlds = first + torch.arange(k * each).view(k, each)
            between[first : first + k * each] = k
            turns.append(worlds[torch.arange(period) % k])
            first += k * each
        return cls(between.to(device), torch.cat(turns, 1).to(device))

    def at(self, step: int) -> Tensor:
        """[M] whose turn it is after so many control steps."""
        return self.worlds[step % len(self.worlds)]
