"""`parc loop`, `parc status`."""

import contextlib
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import torch
import tyro

from parc.cli.base_command import Command, log_to_stderr, progress
from parc.cli.character_option import OfCharacter
from parc.errors import SettingsError
from parc.evaluate.iteration_evaluation import evaluation_of
from parc.loop import LoopError, Machines, RunSources, preset, run_loop
from parc.loop.budget.time_budget import scaled, within
from parc.loop.initial_models import prepare
from parc.loop.ledger import RUN, next_old, working_process
from parc.loop.loop_plan import PRESETS, IterationPlan, LoopSettings, StartSettings
from parc.loop.loop_report import gather_report
from parc.loop.run_iterations import find_obstacle
from parc.loop.run_outline import outline
from parc.loop.run_progress import read_progress, read_run
from parc.loop.stage_options import asked_for, with_options
from parc.reflex.loop_stage import closed_loop_of
from parc.report.iterations_figure import iterations_figure
from parc.report.loop_figure import loop_figure
from parc.report.loop_page import write_loop_report
from parc.run.atomic_files import write_bytes_atomically
from parc.run.metrics_export import Mirror, Target, TensorBoardTarget, WandbTarget
from parc.vary.dataset_variations import VarySetSettings


@dataclass(frozen=True, kw_only=True)
class Loop(OfCharacter):
    """The whole of PARC: train, synthesise, track, record, and again. The same command, or only DIR, goes on after a stop.

    The settings of all stages are options, for every iteration of the run: those of `parc train-generator` below --generator.,
    of `parc synthesise` below --synthesis., of `parc train-tracker` below --tracker., of `parc record` below --record. Defaults
    are those of the preset; a run that goes on has what it was begun with.
    """

    folder: Annotated[Path, tyro.conf.Positional]
    """of the run"""
    preset: Literal["tiny", "scratch", "quick", "gpu", "paper"] | None = None
    """quick: minutes on a CPU, from the models in the box; scratch: the same from nothing; gpu: half an hour an iteration on one
    GPU, or as many --minutes as there are, from untrained networks; paper: the paper from end to end, but in MuJoCo instead of
    Isaac Gym, on your motions (or the box's) instead of its own and with training times of ours; tiny: a self-test. As the run
    was begun, or quick, if not given"""
    iterations: int | None = None
    """how many; as the run was begun, or the preset's, if not given"""
    minutes: float | None = None
    """about how long the run may take, all iterations together (presets gpu and paper): trainings are stretched or cut, and what
    is left is shared out anew before each of them, most to what the evaluation says is lacking; as the run was begun, or as the
    preset has it, if not given"""
    dataset: Path | None = None
    """data set or folder of motion files to start from; if not given the one in the box, or walks made by rule"""
    generator: Path | None = None
    """trained generator to start from"""
    tracker: Path | None = None
    """trained tracker (actor.safetensors) to start from"""
    shipped: bool | None = None
    """start from the models in the box, where none are given; as the run was begun, or as the preset does, if not given"""
    scale: float | None = None
    """share of the work (presets gpu and paper), such as 0.002: training times times this, numbers of clips, of candidates and of
    variations times its square root; networks and settings stay"""
    variations: int | None = None
    """spatial variations of each clip of the starting set, recorded before iteration 1; 0: none. The paper has 50; as the run was
    begun, or the preset's (50 with paper, 2 with gpu, else none), if not given"""
    physics_correction: bool = True
    """without it, the paper's ablation: generated clips join the data set as they are; the paper's heuristic chooses among
    candidates, and nothing else is done: no repair in the sampler, hesitations stay, no kinematic correction, no tracking, no
    guard"""
    kinematic_only: bool = False
    """generated clips join the data set after kinematic correction; nothing is tracked"""
    reflex: bool | None = None
    """after each tracker, train it on to cross terrain without rehearsal (`parc train-reflex`), for .45 of the tracker's time;
    as the run was begun, or with gpu only, if not given"""
    evaluation: bool | None = None
    """after each iteration, measure its models on the development set: Tables 1 and 2, crossings without rehearsal and by search;
    as the run was begun, or with gpu only, if not given"""
    blending: bool | None = None
    """with the evaluation, also the sweep of the paper's Table 3; as the run was begun, or not, if not given"""
    beside: bool | None = None
    """closed-loop training and evaluations beside the other stages, in processes of their own; where there is a GPU and four
    cores, if not given"""
    cluster: str | None = None
    """Ray cluster for synthesis and recording: local, auto (the one this machine belongs to) or HOST:PORT"""
    processes: int | None = None
    """training processes on this machine (torchrun); as many as there are GPUs if not given, one on the CPU"""
    launch: str | None = None
    """command that starts a training on several machines instead, such as 'srun torchrun --nnodes 4 --nproc-per-node 8 ..'"""
    over_again: bool = False
    """do stages of the run in DIR over again where other settings are asked for than it was begun with; the old ones move to
    DIR/old-1 (old-2, ..) with all that lies in them"""
    dry_run: bool = False
    """check everything, tell what would be done and about how long it takes, and write nothing"""
    seed: int | None = None  # type: ignore[assignment]
    """same seed, same result; as the run was begun, or 0, if not given"""
    torch_threads: int | None = None
    """of torch on the CPU, 0: as they are; as the run was begun, or as the preset has it, if not given"""
    stages: Annotated[IterationPlan, tyro.conf.arg(name="")] = field(default_factory=IterationPlan)
    start: StartSettings = field(default_factory=StartSettings)
    vary: VarySetSettings = field(default_factory=VarySetSettings)
    named: tyro.conf.Suppress[frozenset[str]] = frozenset()
    """settings that were typed, by the fields that lead to them"""

    @classmethod
    def of_preset(cls, preset: str, device: str) -> dict[str, Any]:
        """Settings of the stages; those of iteration 1 where iterations differ."""
        settings = PRESETS.get(preset, PRESETS["quick"])()
        vary = VarySetSettings() if settings.variations is None else settings.variations.vary
        return {"stages": settings.plans[0], "start": settings.start, "vary": vary}

    def with_named(self, places: frozenset[str]) -> Self:
        """Remembers them: a value that is the preset's own may be another than the run's."""
        return replace(self, named=places)

    def run(self) -> dict[str, Any]:
        settings, given = self._settings()
        sources = RunSources(*(getattr(self, name) or given.get(name) for name in ("dataset", "generator", "tracker")))
        character = self.body(self.folder, sources.dataset, sources.generator, sources.tracker)
        machines = Machines(self.cluster, self._processes(), self.beside, self.launch)
        if self.dry_run:
            settings, sources = prepare(settings, sources, character)
            obstacle = find_obstacle(self.folder, settings, sources, character)
            moves = (
                {} if obstacle is None else {"refused": obstacle.told, "moves": obstacle.moves, "to": str(next_old(self.folder))}
            )
            return {"preset": settings.name, **outline(settings, sources), **moves}
        log_to_stderr()
        began = time.monotonic()
        with contextlib.redirect_stdout(sys.stderr):
            result = run_loop(
                self.folder,
                settings,
                character,
                sources,
                self.torch_device,
                lambda i: write_loop_report(self.folder, character),
                machines,
                self.over_again,
            )
        return {
            "report": str(self.folder / "report.html"),
            "dataset": str(result.dataset),
            "recorded": result.recorded,
            "added": result.joined,
            "clips": result.clips,
            "seconds": round(time.monotonic() - began, 1),
        }

    def show(self, result: dict[str, Any]) -> None:
        if not self.dry_run:
            return super().show(result)
        print(f"preset {result['preset']}, from {result['start']}")
        for row in result["stages"]:
            print(f"{row['stage']:<24}{_duration(row['seconds']):>8}  {row['does']}")
        if "moves" in result:
            print(f"{self.folder} holds a run that was begun otherwise: {result['refused']}")
            print(f"refused without --over-again; with it, to {result['to']} would move:")
            for stage in result["moves"]:
                print(f"  {stage}")
        print(f"about {_duration(result['seconds'])} in all on the machine the preset is meant for; nothing was written")

    def _processes(self) -> int:
        if self.processes is not None:
            return self.processes
        return max(1, torch.cuda.device_count()) if self.torch_device == "cuda" else 1

    def _settings(self) -> tuple[Any, dict[str, Path]]:
        """What was asked for, the rest as the run in the folder was begun."""

        begun: dict[str, Any] = {}
        sources: dict[str, Path] = {}
        if (self.folder / RUN).is_file():
            run = read_run(self.folder)
            begun = run["settings"]
            sources = {name: Path(path) for name, path in run["sources"].items() if path}
        if not self.physics_correction and self.kinematic_only:
            raise SettingsError("--no-physics-correction leaves out the kinematic correction too: give it or --kinematic-only")
        wanted = self._wanted_variations(begun)
        settings = preset(self.preset or begun.get("name", "quick")).with_variations(wanted)
        scale = begun.get("scale") if self.scale is None else self.scale
        if scale is not None:
            settings = scaled(settings, scale)
        untracked, kinematic = not self.physics_correction or self.kinematic_only, begun.get("kinematic_correction", True)
        settings = replace(
            settings,
            physics_correction=begun.get("physics_correction", True) and not untracked,
            kinematic_correction=self.physics_correction and (self.kinematic_only or kinematic),
            iterations=begun.get("iterations", settings.iterations) if self.iterations is None else self.iterations,
        )
        settings = self._with_leaves(settings, begun)
        minutes = begun.get("minutes") if self.minutes is None else self.minutes
        if minutes is not None:
            settings = within(settings, minutes, begun.get("stretch") if minutes == begun.get("minutes") else None)
        settings = settings.with_variations(wanted)  # a number that was asked for is not scaled
        settings = with_options(settings, begun.get("options", {}) | self._stage_options())
        if minutes is None:  # for a tracker's time that was typed
            settings = self._with_leaves(settings, begun)
        return (
            replace(
                settings,
                seed=begun.get("seed", 0) if self.seed is None else self.seed,
                shipped=begun.get("shipped", settings.shipped) if self.shipped is None else self.shipped,
                shipped_motions=settings.shipped_motions and self.shipped is not False,
                torch_threads=begun.get("torch_threads", settings.torch_threads)
                if self.torch_threads is None
                else self.torch_threads,
            ),
            sources,
        )

    def _with_leaves(self, settings: LoopSettings, begun: dict[str, Any]) -> LoopSettings:
        """With closed-loop training and evaluations, where they are asked for or usual."""
        is_gpu = settings.name == "gpu"
        usual = begun.get("closed_loop") is not None if begun else is_gpu and settings.physics_correction
        closed = closed_loop_of(settings) if (usual if self.reflex is None else self.reflex) else None
        measured = begun.get("evaluation") if begun else {} if is_gpu else None
        sweeps = bool((measured or {}).get("blending")) if self.blending is None else self.blending
        measures = measured is not None or sweeps if self.evaluation is None else self.evaluation
        evaluation = evaluation_of(settings, sweeps) if measures else None
        return replace(settings, closed_loop=closed, evaluation=evaluation)

    def _stage_options(self) -> dict[str, Any]:
        """Settings of stages that were typed, or are others than the preset's."""
        usual = self.of_preset(str(self.preset), self.device)
        found: dict[str, Any] = {}
        for name, above in (("stages", ""), ("start", "start."), ("vary", "vary.")):
            typed = {place.removeprefix(f"{name}.") for place in self.named if place.startswith(f"{name}.")}
            found |= {above + place: value for place, value in asked_for(getattr(self, name), usual[name], typed).items()}
        return found

    def _wanted_variations(self, begun: dict[str, Any]) -> int | None:
        """Of each clip; None: the preset's."""

        if self.variations is not None and self.variations < 0:
            raise SettingsError(f"{self.variations} variations of each clip were asked for, expected 0 or more")
        if self.variations is None and begun and self.preset in (None, begun["name"]) and self.scale is None:
            return (begun.get("variations") or {"count": 0})["count"]
        return self.variations


@dataclass(frozen=True, kw_only=True)
class Status(Command):
    """Where a run of `parc loop` is, and when it will end; its numbers in TensorBoard or Weights & Biases, if asked for."""

    folder: Annotated[Path, tyro.conf.Positional]
    """of the run; for --tensorboard and --wandb any folder with metrics.jsonl below it, such as one training"""
    figure: Path | None = None
    """also draw the loop with the numbers of its last finished iteration (.svg)"""
    trend: Path | None = None
    """also draw what its iterations reach on the development set, beside the paper's (.svg)"""
    tensorboard: Path | None = None
    """copy the metrics to a folder for TensorBoard; `tensorboard --logdir FOLDER` shows them"""
    wandb: str | None = None
    """copy the metrics to a project of Weights & Biases"""
    follow: bool = False
    """go on copying until the run ends or Ctrl-C"""

    def run(self) -> dict[str, Any]:
        """Look, draw, copy."""
        copied = self._copy() if self.tensorboard is not None or self.wandb is not None else {}
        if copied and not (self.folder / RUN).is_file():
            return copied
        if self.follow and not copied:
            raise SettingsError("nowhere to copy to; expected --tensorboard FOLDER, --wandb PROJECT, or both")
        if self.figure is not None:
            self._draw(self.figure, loop_figure)
        if self.trend is not None:
            self._draw(self.trend, iterations_figure)
        return asdict(read_progress(self.folder)) | copied

    def _copy(self) -> dict[str, Any]:
        """All metrics.jsonl below the folder."""
        mirror = Mirror(self.folder, [])
        targets: list[Target] = []
        if self.tensorboard is not None:
            targets.append(TensorBoardTarget(self.tensorboard))
        if self.wandb is not None:
            targets.append(WandbTarget(self.wandb, self.folder))
        mirror.targets = targets
        lines = 0
        try:
            with progress(None, "lines") as bar:
                for count in mirror.follow(lambda: not self.follow or working_process(self.folder) is None):
                    lines += count
                    bar.update(count)
        except KeyboardInterrupt:
            pass
        finally:
            for target in targets:
                target.close()
        return {"lines": lines, "tensorboard": self.tensorboard and str(self.tensorboard), "wandb": self.wandb}

    def _draw(self, file: Path, figure: Callable[[dict[str, Any]], str]) -> None:
        if file.suffix != ".svg":
            raise SettingsError(f"the figure is drawn as .svg, not as '{file.name}'")
        numbers = gather_report(self.folder)
        if not numbers["iterations"]:
            raise LoopError(f"no iteration of {self.folder} is finished; there is nothing to draw yet")
        if figure is iterations_figure and not any(iteration["evaluation"] for iteration in numbers["iterations"]):
            raise LoopError(f"no iteration of {self.folder} was measured; `parc loop {self.folder} --evaluation True` does it")
        write_bytes_atomically(file, figure(numbers).encode())

    def show(self, result: dict[str, Any]) -> None:
        """In a few lines."""
        if "lines" in result:
            print(f"{result['lines']} lines of metrics copied")
        if "state" not in result:
            return
        where = f"iteration {result['iteration']} of {result['iterations']}" if result["iteration"] else "the starting set"
        if result["state"] == "finished":
            print(f"finished after {_duration(result['seconds_spent'])}; {result['clips_joined']} clips added")
            return
        end = time.strftime("%H:%M on %d %b", time.localtime(time.time() + result["seconds_left"]))
        print(f"{result['state']} in {where}, stage {result['stage']} ({100 * result['share']:.0f} %)")
        print(f"{_duration(result['seconds_spent'])} spent, about {_duration(result['seconds_left'])} left", end="")
        print(f": until {end}" if result["state"] == "running" else f"; `parc loop {self.folder}` goes on")
        if at_work := result["workers"]:
            lost = f", {at_work['lost']} lost" if at_work["lost"] else ""
            print(f"{at_work['done']} items done, {at_work['running']} handed out on {at_work['machines']} machines{lost}")
        print(f"{result['clips_joined']} clips added so far")


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
