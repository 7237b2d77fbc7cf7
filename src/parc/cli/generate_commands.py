"""`parc train-generator`, `parc practise`, `parc generate`, `parc correct`, `parc synthesise`."""

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from parc.cli.base_command import Command, progress, show_workers
from parc.cli.picture_file import check_picture, save_picture

if TYPE_CHECKING:
    from parc.generate.training.generator_training import TrainSettings

Sampler = Literal["default", "paper"]
_CPU_BATCH = 16
"""windows of a training step"""


@dataclass(frozen=True, kw_only=True)
class TrainGenerator(Command):
    """Train a motion generator. A run that was stopped goes on when the same command is given again."""

    clips: Annotated[Path, tyro.conf.Positional]
    """data set, or folder of motion files"""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """folder for weights, checkpoint and metrics"""
    preset: Literal["fast", "paper"] = "fast"
    """fast: few-step flow, prefix-cached transformer; paper: the paper's DDPM, losses and windows, all with the same chance,
    its sizes and rates those of the released code"""
    seconds: float = 600.0
    """s of training"""
    steps: int | None = None
    """steps of training, instead of seconds"""
    batch: int = 0
    """windows of a step; 0: 1024 on a GPU, 16 on the CPU; with paper 64"""
    init: Path | None = None
    """generator file to start from"""
    compile: bool = False
    """fuse the kernels of a step first: a minute or two before the clock starts, then on a GPU 1.7 times as fast"""

    def run(self) -> dict[str, Any]:
        import logging
        import sys

        from parc.character import humanoid
        from parc.correct.practise_generator import check_no_practice
        from parc.dataset.clip_reading import read_clips
        from parc.generate.training.generator_training import GENERATOR_FILE, TrainSettings, train_generator

        make = TrainSettings.paper if self.preset == "paper" else TrainSettings
        settings = replace(make(seconds=self.seconds, steps=self.steps), seed=self.seed, compile=self.compile)
        batch = self.batch or (settings.step.batch if self.preset == "paper" else 0)
        settings = _for_device(settings, batch, self.torch_device)
        logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
        check_no_practice(self.out)
        character = humanoid()
        train_generator(settings, read_clips(self.clips, character), self.out, character, self.torch_device, init=self.init)
        return {"generator": str(self.out / GENERATOR_FILE)}


def _for_device(settings: "TrainSettings", batch: int, device: str) -> "TrainSettings":
    from parc.errors import SettingsError

    if batch < 0:
        raise SettingsError(f"a batch of {batch} windows was asked for, expected at least 1")
    on_gpu = device.startswith("cuda")
    settings = replace(settings, step=replace(settings.step, batch=batch or (settings.step.batch if on_gpu else _CPU_BATCH)))
    if not on_gpu:
        settings = replace(settings, log_steps=1)  # a step takes seconds: the clock is looked at after each
    return settings


@dataclass(frozen=True, kw_only=True)
class Practise(Command):
    """Train a generator, let it make motions on crowded boxes, train it on those that arrive, and again.

    A run that was stopped goes on when the same command is given again.
    """

    clips: Annotated[Path, tyro.conf.Positional]
    """data set, or folder of motion files"""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """folder for weights, motions made and metrics"""
    seconds: float = 480.0
    """s of training in all; making motions is not counted"""
    steps: int | None = None
    """steps of training in all, instead of seconds"""
    first_share: float = 0.45
    """of the training before the first motions are made"""
    rounds: int = 3
    """times that motions are made and trained on"""
    units: int = 3
    """of terrains, on each of three kinds of ground in each round"""
    terrains_per_unit: int = 64
    """terrains of a unit, which are worked on together"""
    candidates: int = 16
    """motions sampled for each path"""
    choices: int = 4
    """candidates sampled for each window, the best of which is kept"""
    rate: float = 4e-4
    """highest learning rate after the first training"""
    batch: int = 0
    """windows of a step; 0: 1024 on a GPU, 16 on the CPU"""
    init: Path | None = None
    """generator file to start from"""
    compile: bool = False
    """fuse the kernels of training steps first, once for all trainings"""

    def run(self) -> dict[str, Any]:
        import logging
        import sys

        from parc.character import humanoid
        from parc.correct.practise_generator import PracticeSettings, practise
        from parc.dataset import Dataset
        from parc.dataset.clip_reading import read_clips
        from parc.generate.model.motion_generator import Generator
        from parc.generate.training.generator_training import GENERATOR_FILE, TrainSettings

        train = TrainSettings(seconds=self.seconds, steps=self.steps, seed=self.seed, compile=self.compile)
        settings = PracticeSettings(
            _for_device(train, self.batch, self.torch_device), self.rounds, self.first_share, self.rate, units=self.units
        )
        synthesis = replace(
            settings.synthesis,
            terrains_per_unit=self.terrains_per_unit,
            candidates=self.candidates,
            keep=min(settings.synthesis.keep, self.candidates),
            rollout=replace(settings.synthesis.rollout, choices=self.choices),
        )
        logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
        character = humanoid()
        clips = read_clips(self.clips, character)
        if self.init is not None:
            Generator.load(self.init, character)
        practise(replace(settings, synthesis=synthesis), clips, self.out, character, self.torch_device, self.init)
        made = sum(len(Dataset.open(folder, character)) for folder in (self.out / "made").iterdir())
        return {"generator": str(self.out / GENERATOR_FILE), "motions_made": made}


@dataclass(frozen=True, kw_only=True)
class Generate(Command):
    """Generate motion along a path over a terrain and keep the best of a batch."""

    terrain: Annotated[Path, tyro.conf.Positional]
    """.terrain file, grey image or mesh"""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """motion file to write"""
    generator: Path | None = None
    """trained generator (.safetensors); the one in the box if not given"""
    path: Path | None = None
    """path (.json) to follow; without it one is planned between random points near the edges"""
    batch: int = 8
    """motions, the best of which is kept"""
    sampler: Sampler = "default"
    """paper: windows as the network gives them, s = 0.65, no repair, gravity or overlap, and the best motion by the paper's
    heuristic. What is sampled, in how many steps, is the generator's own: only one of train-generator --preset paper is a DDPM"""
    choices: int | None = None
    """candidates sampled for each window of a motion, the best of which is kept; if not given 4, or 1 with the paper's sampler"""
    steps: int | None = None
    """steps of a flow's sampler; as trained if not given"""
    blend: float | None = None
    """constant blending coefficient s; if not given annealed from 1 to 0, or 0.65 with the paper's sampler"""
    seconds: float = 20.0
    """time limit, s"""
    picture: Path | None = None
    """also draw it (.png)"""

    def run(self) -> dict[str, Any]:
        import numpy as np
        import torch

        from parc.character import humanoid
        from parc.correct.select_candidates import SelectSettings, select
        from parc.dataset import Clip, Provenance, save_clip
        from parc.dataset.convert import check_writable
        from parc.errors import PathError, SettingsError
        from parc.generate.model.blended_denoising import Blend
        from parc.generate.model.motion_generator import Generator
        from parc.generate.rollout.path_rollout import RolloutSettings, roll_out
        from parc.metrics import ClipBatch, measure_clips
        from parc.models import shipped_generator
        from parc.path import load_path, plan_random_path
        from parc.terrain import load_terrain

        check_picture(self.picture)
        check_writable(self.out)
        if self.batch < 1:
            raise SettingsError(f"a batch of {self.batch} candidates was asked for, expected at least 1")
        character = humanoid()
        source = self.generator or shipped_generator()
        model = Generator.load(source, character, self.torch_device)
        ground = load_terrain(self.terrain)
        route = load_path(self.path) if self.path else plan_random_path(ground, np.random.default_rng(self.seed))
        if not bool(ground.contains(route.nodes[:, :2]).all()):
            raise PathError(f"the path '{self.path}' leaves the terrain '{self.terrain}': it was planned on another map")
        is_paper = self.sampler == "paper"
        start = RolloutSettings.paper() if is_paper else RolloutSettings(choices=4)
        settings = replace(
            start,
            blend=start.blend if self.blend is None else Blend.constant(self.blend),
            steps=self.steps,
            seconds=self.seconds,
            choices=start.choices if self.choices is None else self.choices,
        )
        rollouts = roll_out(model, [ground], [route], self.batch, settings, self.seed)
        origin = Provenance(source=source.name, seed=self.seed, skill="generated")
        clips = [
            Clip(f"{self.out.stem}_{k}", motion, ground, route, character.fingerprint, origin)
            for k, motion in enumerate(rollouts.motions())
        ]
        by = SelectSettings.paper() if is_paper else SelectSettings()
        chosen = select(ClipBatch.stack(clips, character, self.torch_device), rollouts.reached, by)
        (best,) = chosen.best(torch.zeros(len(clips), dtype=torch.long))[0]
        clip = replace(clips[best], name=self.out.stem)
        save_clip(clip, self.out, character)
        if self.picture:
            from parc.render import draw_clip

            save_picture(draw_clip(clip, character), self.picture)
        reached = bool(rollouts.reached[best])
        share = float(rollouts.reached.float().mean())
        told = {"out": str(self.out), "sampler": model.schedule.describe(self.steps), "reached": reached, "share_reached": share}
        return {**told, **measure_clips([clip], character)[0]}


@dataclass(frozen=True, kw_only=True)
class Correct(Command):
    """Pull a motion out of the ground, onto its contacts, and smooth it (kinematic optimisation)."""

    clip: Annotated[Path, tyro.conf.Positional]
    """motion file"""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """motion file to write"""
    preset: Sampler = "default"
    """paper: its four terms alone, jerk in m/s3, all iterations; default: also smoothness, sliding and held contact points, jerk
    in units of position, and an end as soon as nothing is gained"""
    iterations: int = 3000
    """at most"""
    step_size: float = 0.001
    """of Adam"""

    def run(self) -> dict[str, Any]:
        from parc.character import humanoid
        from parc.correct.correct_motions import OptimiseSettings, optimise
        from parc.dataset import load_clip, save_clip
        from parc.dataset.convert import check_writable
        from parc.metrics import measure_clips

        check_writable(self.out)
        character = humanoid()
        clip = load_clip(self.clip, character)
        start = OptimiseSettings.paper() if self.preset == "paper" else OptimiseSettings()
        settings = replace(start, iterations=self.iterations, step_size=self.step_size)
        with progress(self.iterations, "correcting") as bar:
            corrected = optimise([clip], character, settings, self.torch_device, lambda done, _: bar.update(done - bar.n))[0]
        save_clip(corrected, self.out, character)
        before, after = measure_clips([clip, corrected], character)
        return {"out": str(self.out), "before": before, "after": after}

    def show(self, result: dict[str, Any]) -> None:
        print(f"{'':<18}{'before':>12}{'after':>12}")
        shown = (
            "tpl",
            "tcl",
            "pen_mm",
            "self_pen_mm",
            "self_pen_frames",
            "joint_limit_frames",
            "foot_skate",
            "foot_f1",
            "floating",
        )
        for key in (*shown, "max_jerk", "hjf_paper"):
            print(f"{key:<18}{result['before'][key]:12.4g}{result['after'][key]:12.4g}")
        print(f"written to {result['out']}")


@dataclass(frozen=True, kw_only=True)
class Synthesise(Command):
    """Make new clips: terrain, path, rollouts, selection, correction, data set. Run again to go on after a stop."""

    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """data set folder"""
    generator: Path | None = None
    """trained generator (.safetensors); the one in the box if not given"""
    units: int = 1
    """units of terrains; the clips of a unit do not depend on how the units are shared out"""
    shard: int = 0
    """make only units shard, shard + shards, ..."""
    shards: int = 1
    iteration: int = 1
    """PARC iteration, part of the seed and of the clips' provenance"""
    ground: Literal["boxes", "crowded", "course", "platforms"] = "boxes"
    """the paper's random boxes; those and narrower, higher ones over a deep floor; slices of the 100 x 100 course; towers with
    gaps of .4 to 2.4 m between them"""
    terrains_per_unit: int = 8
    preset: Sampler = "default"
    """paper: the paper's sampler, heuristic and correction, 64 candidates, without mirrored copies"""
    candidates: int | None = None
    """motions sampled for each path; 16, or 64 with paper, if not given"""
    choices: int | None = None
    """candidates sampled for each window, the best of which is kept; 4, or 1 with paper, if not given"""
    iterations: int = 3000
    """of the correction; 0 for none"""
    cluster: str | None = None
    """make units on a Ray cluster: local, auto (the one this machine belongs to) or HOST:PORT"""

    def run(self) -> dict[str, Any]:
        from parc.character import humanoid
        from parc.correct.synthesise_clips import SynthesisSettings, synthesise
        from parc.dataset import Dataset
        from parc.errors import SettingsError
        from parc.generate.model.motion_generator import Generator
        from parc.generate.rollout.path_rollout import RolloutSettings
        from parc.models import shipped_generator
        from parc.run.work_items import workers_at

        if not 0 <= self.shard < self.shards:
            raise SettingsError(f"shard {self.shard} of {self.shards} does not exist; shards count from 0")
        if self.units < 1:
            raise SettingsError(f"{self.units} units of terrains were asked for, expected at least 1")
        ours = SynthesisSettings(candidates=16, rollout=RolloutSettings(choices=4))
        start = SynthesisSettings.paper() if self.preset == "paper" else ours
        assert start.optimise is not None
        settings = replace(
            start,
            ground=self.ground,
            terrains_per_unit=self.terrains_per_unit,
            candidates=start.candidates if self.candidates is None else self.candidates,
            rollout=start.rollout if self.choices is None else replace(start.rollout, choices=self.choices),
            optimise=replace(start.optimise, iterations=self.iterations) if self.iterations else None,
        )
        model = Generator.load(self.generator or shipped_generator(), humanoid(), self.torch_device)
        mine = range(self.shard, self.units, self.shards)
        began = time.monotonic()
        with progress(len(mine), "units") as bar, workers_at(self.cluster, self.torch_device, show_workers(bar)) as workers:
            written = synthesise(
                model, self.out, mine, self.seed, self.iteration, settings, lambda unit, clips: bar.update(), workers=workers
            )
        dataset = Dataset.open(self.out)
        return {
            "out": str(self.out),
            "sampler": model.schedule.describe(),
            "terrains": self.terrains_per_unit * len(mine),
            "written": len(written),
            "clips": len(dataset),
            "minutes": dataset.seconds / 60,
            "seconds": time.monotonic() - began,
        }
