"""`parc train-reflex`, `parc bench reflex`: a tracker that crosses terrain without rehearsing it, and how fast that trains."""

import contextlib
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import tyro

from parc.cli.base_command import Command, use_threads
from parc.reflex.reflex_settings import ReflexTrainingSettings


@dataclass(frozen=True, kw_only=True)
class TrainReflex(Command):
    """Train a tracker with the generator in the loop, on terrain that is drawn anew, so that it crosses without rehearsal.

    A run that was stopped goes on when the same command is given again. OUT holds an actor and its critic as other commands take
    them: parc traverse --tracker OUT/actor.safetensors.
    """

    tracker: Annotated[Path | None, tyro.conf.Positional] = None
    """trained actor (.safetensors) to begin with, its critic beside it; that in the box if not given"""
    generator: Path | None = None
    """trained generator (.safetensors), which stays as it is; the one in the box if not given"""
    clips: Path | None = None
    """data set, folder of motion files, or one motion file, which are not to be forgotten; the motions in the box if not given"""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """folder for actor, critic, checkpoint and metrics"""
    seconds: float = 480.0
    """s of training; evaluations and compilation are not counted"""
    iterations: int = 0
    """rollouts and updates, instead of seconds"""
    worlds: int = 0
    """simulated characters in all; 0: 8192 on a GPU, 87 on the CPU"""
    resume: bool = True
    """continue a checkpoint found in OUT"""
    milestone_seconds: float = 0.0
    """s of training between evaluations, at which it is also saved; 0: 120"""
    milestone_iterations: int = 0
    """iterations between evaluations, instead of seconds"""
    log_seconds: float = 10.0
    """s between lines of metrics.jsonl"""
    threads: int = 0
    """of the CPU engine and of the networks on a CPU; 0: all cores"""
    drawers: int = -1
    """processes that draw terrains beside the training; -1: as the settings of the bank say, but 8 on a GPU if these say none"""
    compile: bool = False
    """fuse the generator's kernels first: a minute or more before the clock starts"""
    settings: ReflexTrainingSettings = field(default_factory=ReflexTrainingSettings)

    def run(self) -> dict[str, Any]:
        import torch

        from parc.character import humanoid
        from parc.dataset.clip_reading import read_clips
        from parc.errors import DatasetError
        from parc.generate.model.motion_generator import Generator
        from parc.models import shipped_generator, shipped_motions, shipped_tracker
        from parc.reflex.reflex_training import train_reflex
        from parc.track.learn.tracker_training import ACTOR
        from parc.track.learn.training_plan import TrainingPlan

        use_threads(self.threads)
        character, device = humanoid(), self.torch_device
        on_cpu = device == "cpu"
        plan = TrainingPlan(
            worlds=self.worlds or (87 if on_cpu else 8192),
            seconds=self.seconds,
            iterations=self.iterations,
            milestone_seconds=self.milestone_seconds or 120.0,
            milestone_iterations=self.milestone_iterations,
            log_seconds=self.log_seconds,
            seed=self.seed,
            threads=self.threads,
        )
        drawers = self.drawers if self.drawers >= 0 else self.settings.bank.drawers or (0 if on_cpu else 8)
        settings = replace(self.settings, bank=replace(self.settings.bank, drawers=drawers))
        clips = self.clips or shipped_motions()
        if clips is None:
            raise DatasetError("this installation has no motions in the box; name a data set with --clips")
        generator = Generator.load(self.generator or shipped_generator(), character, device)
        if not on_cpu:
            generator = generator.in_precision(torch.bfloat16)
        with contextlib.redirect_stdout(sys.stderr):  # a line for each evaluation
            result = train_reflex(
                self.tracker or shipped_tracker(), generator, read_clips(clips, character), self.out, settings, plan,
                self.resume, self.compile,
            )  # fmt: skip
        return {
            "policy": str(self.out / ACTOR),
            "crossings": result["best"]["crossings"],
            "crossings_before": result["before"]["crossings"],
            "clips": result["best"]["clips"],
            "clips_before": result["before"]["clips"],
            "seconds": result["seconds"],
            "samples": result["samples"],
        }


@dataclass(frozen=True, kw_only=True)
class BenchReflex(Command):
    """Closed-loop training of the models in the box: milliseconds of each part, samples a second in all."""

    worlds: int = 0
    """simulated characters in all; 0: 8192 on a GPU, 87 on the CPU"""
    repeats: int = 20
    """times each part is run"""
    iterations: int = 8
    """rollouts and updates that the rate in all is measured on"""
    threads: int = 0
    """of the CPU engine and of the networks on a CPU; 0: all cores"""
    compile: bool = False
    """fuse the generator's kernels first"""
    settings: ReflexTrainingSettings = field(default_factory=ReflexTrainingSettings)

    def run(self) -> dict[str, Any]:
        from parc.bench.closed_loop import bench_closed_loop
        from parc.character import humanoid
        from parc.dataset.clip_reading import read_clips
        from parc.errors import DatasetError, SettingsError
        from parc.models import shipped_motions

        if self.repeats < 1 or self.iterations < 1:
            raise SettingsError(f"{self.repeats} repeats and {self.iterations} iterations were asked for, expected at least 1")
        use_threads(self.threads)
        folder = shipped_motions()
        if folder is None:
            raise DatasetError("this installation has no motions in the box, on which this is measured")
        clips = read_clips(folder, humanoid())
        return bench_closed_loop(
            clips, self.settings, self.torch_device, self.seed, self.worlds or None, self.repeats, self.iterations, self.threads,
            self.compile,
        )  # fmt: skip
