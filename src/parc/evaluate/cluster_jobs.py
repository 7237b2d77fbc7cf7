"""The parts of an evaluation as items of work (`parc.run.work_items`): groups of terrains, to cross or to make motions on, and
groups of motions to track."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import torch

from parc.dataset.clip import Clip
from parc.evaluate.generator_measurement import GeneratorTest, GroupResult, evaluate_group
from parc.evaluate.reflex_measurement import CrossedGroup, CrossingTest, cross_group
from parc.evaluate.terrain_sets import TestCase
from parc.evaluate.tracker_measurement import ClipResult, TrackerTest, evaluate_tracker
from parc.generate.model.motion_generator import Generator
from parc.plan import Models
from parc.track.follow.runner import Runner
from parc.track.learn.policy import TrainedActor

Model = TypeVar("Model")


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
class CrossingJob:
    """Groups of terrains to what became of bodies on them."""

    models: Callable[[], Models]
    test: CrossingTest
    threads: int = 0

    def open(self) -> Callable[[Sequence[TestCase]], CrossedGroup]:
        """Load generator and tracker."""
        models = self.models()
        return lambda cases: cross_group(models, cases, self.test, self.threads)

    def __reduce__(self) -> tuple[Any, ...]:
        return CrossingJob, (_Loaded(self.models()), self.test, self.threads)


@dataclass(frozen=True, eq=False)
class _Loaded(Generic[Model]):
    model: Model

    def __call__(self) -> Model:
        return self.model


@dataclass(frozen=True, eq=False)
class _NewSimulator:
    """Worlds do not travel; they are made where they are needed."""

    trained: TrainedActor
    device: torch.device
    worlds: int
    threads: int

    def __call__(self) -> Runner:
        return Runner(self.trained, self.device, self.worlds, self.threads)
