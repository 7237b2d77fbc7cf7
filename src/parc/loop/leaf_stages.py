"""Stages of an iteration that nothing else of the run reads: what the loop asks of them, and how they are done beside the rest.

Both live after the loop on the road: closed-loop training in `parc.reflex.loop_stage`, the evaluation on the development set in
`parc.evaluate.iteration_evaluation`.
"""

import contextlib
import logging
import multiprocessing
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.run.process_pool import worker_pool
from parc.track.learn.training_plan import TrainingPlan

T = TypeVar("T")
_log = logging.getLogger("parc.loop")


class ClosedLoop(Protocol):
    """How an iteration's tracker is trained on with its generator in the loop; a frozen dataclass."""

    @property
    def plan(self) -> TrainingPlan:
        """How long; its seed does not count."""
        ...

    @property
    def expected(self) -> float:
        """s that it takes on the machine the preset is meant for."""
        ...

    def lasting(self, seconds: float) -> Self:
        """The same with another training time."""
        ...

    def train(
        self, out: Path, generator: Path, tracker: Path, clips: list[Clip], seed: int, character: Character, device: str
    ) -> dict[str, Any]:
        """Train in `out`, going on with what lies there; leaves an actor as a tracker's training does."""
        ...


@dataclass(frozen=True)
class IterationModels:
    """What an iteration has learned."""

    generator: Path
    tracker: Path | None
    """None: nothing is tracked"""
    reflex: Path | None
    """the tracker trained on with the generator in the loop; None: none was, and `tracker` crosses without rehearsal"""


class Measurement(Protocol):
    """How an iteration's models are measured on the development set; a frozen dataclass."""

    @property
    def expected(self) -> float:
        """s that it takes on the machine the preset is meant for."""
        ...

    def measure(self, out: Path, models: IterationModels, character: Character, device: str, processes: int) -> dict[str, Any]:
        """Measure into `out`, going on with what lies there; returns the numbers of `parc.loop.iteration_numbers`."""
        ...


def _tell_failure(stage: "Future[None]") -> None:
    if not stage.cancelled() and (error := stage.exception()) is not None:
        _log.warning("a stage beside the others failed, and the same command does it again: %s", error)


def _told_on_stderr(function: Callable[..., T], *values: Any) -> T:
    """What a stage prints is no result of the command."""
    with contextlib.redirect_stdout(sys.stderr):
        return function(*values)


class SideLane:
    """Where such stages are done: here and at once, or one after the other beside the rest, each in a process of its own."""

    def __init__(self, is_beside: bool) -> None:
        self._threads = ThreadPoolExecutor(1) if is_beside else None
        self._begun: list[Future[None]] = []

    @property
    def is_beside(self) -> bool:
        """Whether stages are done beside the rest."""
        return self._threads is not None

    def add(self, stage: Callable[[], None]) -> None:
        """A stage, after those that were added before."""
        if self._threads is None:
            stage()
        else:
            self._begun.append(self._threads.submit(stage))
            self._begun[-1].add_done_callback(_tell_failure)

    def call(self, function: Callable[..., T], *values: Any) -> T:
        """A function's answer; of a lane beside the rest from another process, which ends with this one."""
        if self._threads is None:
            return function(*values)
        with worker_pool(1) as pool:
            return pool.submit(_told_on_stderr, function, *values).result()

    def finish(self) -> None:
        """Wait for all of them, and raise what the first that failed has ended with; the others go on."""
        wait(self._begun)
        while self._begun:
            self._begun.pop(0).result()

    def close(self) -> None:
        """However the run has ended: nothing goes on behind its back. A stage that is cut is gone on with by the next call."""
        if self._threads is None:
            return
        self._threads.shutdown(wait=False, cancel_futures=True)
        if any(not stage.done() for stage in self._begun):
            for child in multiprocessing.active_children():
                child.terminate()
        self._threads.shutdown(wait=True)
