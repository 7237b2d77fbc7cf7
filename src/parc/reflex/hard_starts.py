"""States of bodies to begin with: a store, and those of a while before failures, of which the hopeless ones leave.

What is kept a while before each failure is what the policy cannot do yet, but also what nobody could: a body in the air beside
its platform. So each state counts how often episodes from it succeeded, and leaves if that is too seldom, or nearly always.

Everything is tensor code of fixed shapes in place, so it may be part of a CUDA graph. The last row of a store takes what is void.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from parc.reflex.reflex_settings import ReflexStarts
from parc.track.follow.trace import Snapshot


class StartState(NamedTuple):
    """Bodies [K] between two control steps, on paths of the bank."""

    states: Snapshot
    case: Tensor
    """[K] row of the bank"""
    progress: Tensor
    """[K] m along its path"""


class StoredStarts:
    """R starts, and a void one, side by side."""

    def __init__(self, rows: int, like: Snapshot) -> None:
        """`like`: states [N, ...] as they are kept."""
        device = like.qpos.device
        self.rows = rows
        self._states = Snapshot(*(torch.zeros(rows + 1, *part.shape[1:], device=device) for part in like))
        self._case = torch.zeros(rows + 1, dtype=torch.long, device=device)
        self._progress = torch.zeros(rows + 1, device=device)

    def take(self, rows: Tensor) -> StartState:
        """Starts in rows [K]."""
        states = Snapshot(*(part.index_select(0, rows) for part in self._states))
        return StartState(states, self._case.index_select(0, rows), self._progress.index_select(0, rows))

    def put(self, rows: Tensor, start: StartState) -> None:
        """Starts [K] into rows [K]; of void ones into the row behind the last."""
        for own, part in zip(
            (*self._states, self._case, self._progress), (*start.states, start.case, start.progress), strict=True
        ):
            own.index_copy_(0, rows, part)

    @property
    def case(self) -> Tensor:
        """[R] rows of the bank."""
        return self._case[: self.rows]

    def state(self) -> dict[str, Tensor]:
        """For a checkpoint; `load_state` takes it back."""
        return dict(zip(Snapshot._fields, self._states, strict=True)) | {"case": self._case, "progress": self._progress}

    def load_state(self, state: dict[str, Tensor]) -> None:
        """What `state` told."""
        for name, own in self.state().items():
            own.copy_(state[name])


class HardStarts:
    """A ring of starts with what became of the episodes from them."""

    def __init__(self, settings: ReflexStarts, like: Snapshot) -> None:
        device, rows = like.qpos.device, settings.kept
        self.settings, self.void = settings, rows
        self.store = StoredStarts(rows, like)
        self.tries, self.wins = torch.zeros(rows + 1, device=device), torch.zeros(rows + 1, device=device)
        """[R + 1] episodes from each that are over, and those that succeeded"""
        self.serial = torch.zeros(rows + 1, dtype=torch.long, device=device)
        """[R + 1] number of the state that is kept there; 0: none"""
        self._count = torch.zeros((), dtype=torch.long, device=device)
        self.cumulative = torch.zeros(rows, device=device)
        self.dropped = torch.zeros((), dtype=torch.long, device=device)
        """[] states that have left because of what became of them"""

    @property
    def live(self) -> Tensor:
        """[R] bool, rows that hold a state."""
        return self.serial[: self.void] > 0

    def insert(self, keep: Tensor, start: StartState) -> None:
        """Those of starts [K] where keep [K] is true, over the oldest."""
        order = keep.long().cumsum(0)
        rows = torch.where(keep, (self._count + order - 1) % self.void, self.void)
        self.store.put(rows, start)
        self.serial.index_copy_(0, rows, torch.where(keep, self._count + order, 0))
        self.serial[self.void].zero_()
        for counts in (self.tries, self.wins):
            counts.index_fill_(0, rows, 0.0)
        self._count.add_(order[-1])

    def draw(self, uniform: Tensor) -> Tensor:
        """Rows [K] for numbers [K] in [0, 1), all live ones alike, as of the last `refresh`; the void row if there are none."""
        found = torch.searchsorted(self.cumulative, (uniform * self.cumulative[-1]).contiguous(), right=True)
        return torch.where(self.cumulative[-1] > 0, found.clamp_max(self.void - 1), self.void)

    def settle(self, rows: Tensor, serial: Tensor, over: Tensor, success: Tensor) -> None:
        """Episodes from rows [K], begun when these held the states `serial` [K]: who is over, and who of them succeeded."""
        counts = (over & (serial > 0) & (self.serial.index_select(0, rows) == serial)).float()
        self.tries.index_add_(0, rows, counts)
        self.wins.index_add_(0, rows, counts * success)

    def forget(self, cases: Tensor) -> None:
        """States on rows [K] of the bank leave."""
        self.serial[: self.void].masked_fill_(torch.isin(self.store.case, cases), 0)
        self._weigh()

    def refresh(self) -> None:
        """Once an iteration: hopeless and easy states leave, and `draw` knows of the new ones."""
        tries, wins = self.tries[: self.void], self.wins[: self.void]
        known = tries >= self.settings.tries
        leaves = self.live & known & ((wins < self.settings.hopeless * tries) | (wins > self.settings.easy * tries))
        self.dropped.add_(leaves.sum())
        self.serial[: self.void].masked_fill_(leaves, 0)
        self._weigh()

    def _weigh(self) -> None:
        self.cumulative.copy_(torch.cumsum(self.live.float(), 0))

    def state(self) -> dict[str, Tensor]:
        """For a checkpoint; `load_state` takes it back."""
        own = {"tries": self.tries, "wins": self.wins, "serial": self.serial, "count": self._count, "dropped": self.dropped}
        return own | {f"store.{name}": part for name, part in self.store.state().items()}

    def load_state(self, state: dict[str, Tensor]) -> None:
        """What `state` told."""
        for name, own in self.state().items():
            own.copy_(state[name])
        self._weigh()
