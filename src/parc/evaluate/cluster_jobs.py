"""The parts of an evaluation as items of work (`parc.run.work_items`): groups of terrains, and groups of motions to track."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from parc.dataset.clip import Clip
from parc.evaluate.generator_measurement import GeneratorTest, GroupResult, evaluate_group
from parc.evaluate.terrain_sets import TestCase
from parc.evaluate.tracker_measurement import ClipResult, TrackerTest, evaluate_tracker
from parc.generate.model.motion_generator import Generator
from parc.track.follow.runner import Runner
from parc.track.learn.policy import TrainedActor


@dataclass(frozen=True, eq=False)
class GeneratorJob:
    """Groups of terrains to motions and their metrics. The model is loaded when the first group is asked for."""

    generator: Callable[[], Generator]
    cases: Sequence[TestCase]
    test: GeneratorTest
    model: str

    def open(self) -> Callable[[range], GroupResult]:
        """Load the generator."""
        generator = self.generator()
        return lambda group: evaluate_group(generator, self.cases, group, self.test, self.model)

    def __reduce__(self) -> tuple[Any, ...]:
        return GeneratorJob, (_Loaded(self.generator()), self.cases, self.test, self.model)


@dataclass(frozen=True, eq=False)
class TrackerJob:
    """(Motions, number of their group) to how they were tracked."""

    simulator: Callable[[], Runner]
    test: TrackerTest

    def open(self) -> Callable[[tuple[list[Clip], int]], list[ClipResult]]:
        """Make the worlds."""
        simulator = self.simulator()
        return lambda item: evaluate_tracker(simulator, item[0], self.test, item[1])

    def __reduce__(self) -> tuple[Any, ...]:
        here = self.simulator()
        return TrackerJob, (_NewSimulator(here.trained, here.device, here.worlds, here.threads), self.test)


@dataclass(frozen=True, eq=False)
class _Loaded:
    generator: Generator

    def __call__(self) -> Generator:
        return self.generator


@dataclass(frozen=True, eq=False)
class _NewSimulator:
    """Worlds do not travel; they are made where they are needed."""

    trained: TrainedActor
    device: torch.device
    worlds: int
    threads: int

    def __call__(self) -> Runner:
        return Runner(self.trained, self.device, self.worlds, self.threads)
