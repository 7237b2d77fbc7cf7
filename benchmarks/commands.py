"""The commands of `benchmarks/run.py`: how fast the parts are on this machine. Rates and ratios, never a verdict."""

import json
import math
import sys
from dataclasses import dataclass, field
from typing import Annotated, Any

import tyro

from parc.cli.base_command import Command
from parc.reflex.reflex_settings import ReflexTrainingSettings
from parc.run.choose_device import use_threads


@dataclass(frozen=True, kw_only=True)
class BenchSdf(Command):
    """Distances of body surface points to the terrain: points a second."""

    def run(self) -> dict[str, Any]:
        """Measure."""
        from benchmarks.distance_rate import bench_sdf

        return bench_sdf(self.torch_device, self.seed)


@dataclass(frozen=True, kw_only=True)
class BenchPlan(Command):
    """Path planning: seconds to build a navigation graph, plans a second."""

    def run(self) -> dict[str, Any]:
        """Measure."""
        from benchmarks.planning_rate import bench_plan

        return bench_plan(self.torch_device, self.seed)


@dataclass(frozen=True, kw_only=True)
class BenchPhysics(Command):
    """The simulated world: control and physics steps a second by number of characters."""

    worlds: tuple[int, ...] = ()
    """characters at once; (1, 64, 512) on the CPU and 1024 to 16384 on a GPU if none are given"""
    seconds: float = 2.0
    """of measurement for each number of characters"""
    threads: int = 0
    """of the CPU engine; 0: all cores"""

    def run(self) -> dict[str, Any]:
        """Measure."""
        from benchmarks.physics_rate import bench_physics

        _check_positive(self.seconds, "seconds")
        return bench_physics(self.torch_device, self.seed, self.worlds or None, self.seconds, self.threads)

    def show(self, result: dict[str, Any]) -> None:
        print(f"{result['device']}, characters{'control steps/s':>18}{'physics steps/s':>18}{'ms a step':>12}{'diverged':>10}")
        for worlds, row in result["worlds"].items():
            rates = f"{row['control_steps_per_second']:>18.0f}{row['physics_steps_per_second']:>18.0f}"
            print(f"{worlds:<{len(result['device']) + 12}}{rates}{row['ms_per_control_step']:>12.2f}{row['diverged']:>10}")
        print(f"one alone on the CPU: {result['real_time_factor_of_one_on_cpu']:.0f} times real time")


@dataclass(frozen=True, kw_only=True)
class BenchGenerator(Command):
    """The generator: milliseconds of a window by number of motions, windows a second in training.

    A window has 13 new frames (.43 s), of which a rollout keeps 7 (.23 s of motion).
    """

    batches: tuple[int, ...] = ()
    """motions at once; (1, 32) on the CPU and (1, 32, 2048) on a GPU if none are given"""
    train_batch: int = 0
    """windows of a training step; 0: 16 on the CPU, 1024 on a GPU"""
    seconds: float = 2.0
    """of measurement for each number"""
    compile: bool = False
    """fuse the work with torch.compile first"""
    student: int = 0
    """windows of a student of so many steps; 0: of the usual generator. Training is the usual one's"""

    def run(self) -> dict[str, Any]:
        """Measure."""
        from benchmarks.generator_rate import bench_generator

        batches, train_batch = self.batches or None, self.train_batch or None
        _check_positive(self.seconds, "seconds")
        for size in (*self.batches, *([self.train_batch] if self.train_batch else [])):
            _check_positive(size, "motions or windows at once")
        how = (self.seconds, self.compile, self.student, _tell)
        return bench_generator(self.torch_device, self.seed, batches, train_batch, *how)


def _tell(name: str, row: dict[str, Any]) -> None:
    print(f"{name}: {json.dumps(row)}", file=sys.stderr, flush=True)


@dataclass(frozen=True, kw_only=True)
class BenchCorrect(Command):
    """Kinematic correction: milliseconds of an iteration for many clips at once."""

    clips: int = 0
    """at once; 0: 2 on the CPU, 32 on a GPU"""
    seconds: float = 10.0
    """length of a clip"""
    iterations: int = 0
    """0: 20 on the CPU, 1000 on a GPU"""
    compile: bool = False
    """fuse the work with torch.compile first"""

    def run(self) -> dict[str, Any]:
        """Measure."""
        from benchmarks.correction_rate import bench_optimise

        return bench_optimise(
            self.torch_device, self.seed, self.clips or None, self.seconds, self.iterations, compiled=self.compile
        )


@dataclass(frozen=True, kw_only=True)
class BenchTracker(Command):
    """Training a tracker: milliseconds of each stage, samples a second in all; on the CPU also the rate of one character."""

    worlds: int = 0
    """characters at once; 0: 64 on the CPU, 8192 on a GPU"""
    repeats: int = 20
    """times each stage is run"""
    threads: int = 0
    """of the CPU engine; 0: all cores"""

    def run(self) -> dict[str, Any]:
        """Measure."""
        from benchmarks.tracker_rate import bench_tracker

        _check_positive(self.repeats, "repeats")
        return bench_tracker(self.torch_device, self.seed, self.worlds or None, self.repeats, self.threads)


@dataclass(frozen=True, kw_only=True)
class BenchReflex(Command):
    """Closed-loop training of the models in the box: milliseconds of each part, samples a second in all."""

    worlds: int = 0
    """simulated characters in all; 0: 87 on the CPU, 8192 on a GPU"""
    repeats: int = 20
    """times each part is run"""
    iterations: int = 8
    """rollouts and updates that the rate in all is measured on"""
    threads: int = 0
    """of the CPU engine and of the networks on a CPU; 0: all cores"""
    compile: bool = False
    """fuse the generator's kernels first"""
    settings: Annotated[ReflexTrainingSettings, tyro.conf.arg(name="")] = field(default_factory=ReflexTrainingSettings)

    def run(self) -> dict[str, Any]:
        """Measure."""
        from benchmarks.closed_loop_rate import bench_closed_loop

        from parc.character import humanoid
        from parc.dataset.clip_reading import read_clips
        from parc.models import shipped_motions

        _check_positive(self.repeats, "repeats")
        _check_positive(self.iterations, "iterations")
        use_threads(self.threads)
        folder = shipped_motions()
        clips = [] if folder is None else read_clips(folder, humanoid())
        return bench_closed_loop(
            clips,
            self.settings,
            self.torch_device,
            self.seed,
            self.worlds or None,
            self.repeats,
            self.iterations,
            self.threads,
            self.compile,
        )


@dataclass(frozen=True, kw_only=True)
class BenchStudio(Command):
    """The studio in a headless browser without a graphics card: rates of playback, milliseconds from clicks to pictures.

    Takes about seven minutes. The browser draws on the same cores, which is most of what is measured."""

    clicks: int = 30
    """of each kind"""
    size: tuple[int, int] = (1280, 800)
    """of the window, pixels; 800 500 at least"""

    def run(self) -> dict[str, Any]:
        """Measure."""
        from parc.errors import SettingsError

        if self.clicks < 1:
            raise SettingsError(f"{self.clicks} clicks of each kind were asked for, expected at least 1")
        try:
            from benchmarks.studio_rate import bench_studio
        except ModuleNotFoundError as error:
            if error.name is not None and error.name.split(".")[0] == "viser":
                raise SettingsError("the studio needs viser: pip install 'parc-motion[studio]'") from None
            raise
        return bench_studio(self.clicks, self.size)


def _check_positive(number: float, what: str) -> None:
    from parc.errors import SettingsError

    if not 0 < number < math.inf:
        raise SettingsError(f"a measurement of {number} {what} was asked for, expected a positive number")
