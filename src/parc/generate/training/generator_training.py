"""Train a motion generator (`parc train-generator`).

    OUT/
      generator.safetensors     averaged weights, ready to use; rewritten at every checkpoint
      checkpoint.safetensors    everything needed to go on (each rank's random state included)
      metrics.jsonl             losses, rate, windows a second

A training that starts from trained weights keeps their statistics; its rate warms up as ever, and the moving average begins at
those weights with its full memory, so a few rough first steps do not reach what is saved.

A run that is killed and started again with the same arguments goes on from its checkpoint, one that was stopped by Ctrl-C or
SIGTERM from its last step; a finished one does nothing. With torchrun each rank draws its own windows and gradients and logged
losses are averaged; it may go on with another number of ranks.
"""

import json
import logging
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.errors import FormatError, SettingsError
from parc.generate.data.frame_table import STILL_COUNTS, FrameTable
from parc.generate.data.gait_odds import GaitOdds
from parc.generate.data.training_windows import WindowSampler, WindowSettings
from parc.generate.model.motion_generator import Generator, GeneratorSettings
from parc.generate.model.prefix_transformer import PAST_FRAMES
from parc.generate.training.student_step import StudentSettings, StudentTrainer
from parc.generate.training.training_step import GeneratorTrainer, StepSettings
from parc.run import distributed
from parc.run.checkpoint import load_to_resume, save_checkpoint
from parc.run.metrics_log import MetricsLog
from parc.run.stop_request import StopRequest, stop_request

_log = logging.getLogger("parc.train_generator")
_TRUSTED = 1_000_000
"""steps that weights to start from count for in the moving average: its memory has its full length at once"""
GENERATOR_FILE, CHECKPOINT_FILE, METRICS_FILE = "generator.safetensors", "checkpoint.safetensors", "metrics.jsonl"


@dataclass(frozen=True)
class TrainSettings:
    """A training of a generator."""

    seconds: float = 600.0
    """budget of training time, s"""
    steps: int | None = None
    """budget of steps, instead of time; makes a run repeatable"""
    generator: GeneratorSettings = field(default_factory=GeneratorSettings)
    window: WindowSettings = field(default_factory=WindowSettings)
    step: StepSettings = field(default_factory=StepSettings)
    mirrored: bool = True
    """train on mirrored copies too"""
    balance: float = 0.5
    """0: every skill the same share of windows, 1: in proportion to its frames"""
    made_share: float | None = None
    """share of windows from generated motions; None: as one skill among the others"""
    still_counts: float = STILL_COUNTS
    """of a window that moves, what one counts in which the root stands still"""
    gait: GaitOdds = field(default_factory=GaitOdds)
    """what seconds of level gait count, like people's and unlike"""
    checkpoint_seconds: float = 60.0
    """s between checkpoints"""
    log_steps: int = 50
    """steps between lines of the log"""
    seed: int = 0
    """same seed, same result on one machine with a budget of steps"""
    graph: bool = True
    """capture the step as CUDA graphs"""
    compile: bool = False
    """fuse the kernels of a step with torch.compile, piece by piece; a minute or two before the clock starts"""

    def __post_init__(self) -> None:
        if self.seconds <= 0 or (self.steps is not None and self.steps < 1):
            budget = f"{self.seconds} s" if self.steps is None else f"{self.steps} steps"
            raise SettingsError(f"the budget is {budget}, expected more than none")
        if self.seed < 0:
            raise SettingsError(f"the seed is {self.seed}, expected a number of at least 0")
        if self.made_share is not None and not 0 < self.made_share < 1:
            raise SettingsError(f"the share of generated motions is {self.made_share}, expected between 0 and 1")
        if not 0 < self.still_counts <= 1:
            raise SettingsError(f"still_counts is {self.still_counts}, expected a share above 0 and at most 1")
        if self.window.future != self.generator.future:
            raise SettingsError(f"windows have {self.window.future} future frames, the generator {self.generator.future}")

    @classmethod
    def paper(cls, seconds: float = 600.0, steps: int | None = None) -> "TrainSettings":
        """The paper's recipe: DDPM on exponential maps, encoder over all tokens, every window with the same chance.

        The budget is ours (the paper tells none); mirrored copies are the released code's.
        """
        return cls(
            seconds=seconds, steps=steps, generator=GeneratorSettings.paper(), window=WindowSettings.paper(),
            step=StepSettings.paper(), mirrored=True, balance=1.0, still_counts=1.0,
        )  # fmt: skip


def train_generator(
    settings: TrainSettings,
    clips: Sequence[Clip],
    out: Path | str,
    character: Character,
    device: torch.device | str = "cpu",
    resume: bool = True,
    init: Generator | Path | str | None = None,
    stop_after: int | None = None,
    teacher: Generator | Path | str | None = None,
    student: StudentSettings = StudentSettings(),
) -> Generator:
    """Train on clips and return the averaged generator; `init` starts from other weights (see above).

    With a `teacher` a student of it is trained, which starts from the teacher's weights and is made of what the teacher is,
    whatever `settings.generator` says. `stop_after` ends the call early after that many steps, as a kill after a checkpoint
    would.
    """
    if teacher is None:
        trainer = make_trainer(settings, clips, character, device, init)
    else:
        teacher = teacher if isinstance(teacher, Generator) else Generator.load(teacher, character)
        made_of = student.generator(teacher.settings)
        settings = replace(settings, generator=made_of, window=replace(settings.window, future=made_of.future))
        trainer = make_trainer(settings, clips, character, device, init or teacher, lesson=(teacher, student))
    return run_training(trainer, settings, Path(out), resume, stop_after)


def make_trainer(
    settings: TrainSettings,
    clips: Sequence[Clip],
    character: Character,
    device: torch.device | str = "cpu",
    init: Generator | Path | str | None = None,
    used: GeneratorTrainer | None = None,
    lesson: tuple[Generator, StudentSettings] | None = None,
) -> GeneratorTrainer:
    """A trainer at its first step; one that was `used` for a training like this is used again, with its compiled code.

    `lesson`: the teacher of a student, and what the student is to do.
    """
    group = used.group if used is not None else distributed.setup(device)
    device = group.device

    # first weights: new ones, or those of `init`
    torch.manual_seed(settings.seed)
    generator = Generator(character, settings.generator).to(device)
    source: Generator | None = None
    step = settings.step
    if init is not None:
        source = init if isinstance(init, Generator) else Generator.load(init, character)
        if asdict(source.settings.network) != asdict(settings.generator.network):
            raise SettingsError(
                f"the first weights have the network {source.settings.network}, expected {settings.generator.network}"
            )
        generator.begin_from(source)
        step = replace(step, adam=replace(step.adam, average_age=_TRUSTED))

    # the windows it trains on
    length = PAST_FRAMES + settings.window.future
    odds = (settings.mirrored, settings.balance, settings.made_share, settings.still_counts, settings.gait)
    table = FrameTable.build(clips, character, length, device, *odds)
    windows = WindowSampler(table, generator.layout, settings.generator.grid, settings.window, settings.generator.pace)

    # a new trainer, or the used one from its beginning
    trainer: GeneratorTrainer
    if lesson is not None:
        teacher, student = lesson
        trainer = StudentTrainer(
            generator, teacher, student, windows, step, group, settings.seed, settings.graph, settings.compile
        )
    elif used is None:
        trainer = GeneratorTrainer(generator, windows, step, group, settings.seed, settings.graph, settings.compile)
    else:
        trainer = used
        trainer.begin_again(generator, windows, step, settings.seed)
    if source is None:
        trainer.fit_statistics()
    else:
        _set_statistics(trainer, source)
    return trainer


def run_training(
    trainer: GeneratorTrainer, settings: TrainSettings, out: Path, resume: bool = True, stop_after: int | None = None
) -> Generator:
    """Train until the budget is spent, from the checkpoint in `out` if there is one."""
    settings = replace(settings, step=trainer.settings)
    checkpoint, is_main = out / CHECKPOINT_FILE, trainer.group.is_main
    elapsed = 0.0
    if resume and checkpoint.is_file():
        elapsed = _restore(trainer, checkpoint, settings)
        if is_main:
            _log.info("going on from step %d (%.0f s)", trainer.steps, elapsed)
    if _share(settings, trainer.steps, elapsed) < 1:
        trainer.prepare()
    with stop_request() as stop:
        log = MetricsLog(out / METRICS_FILE) if is_main else None
        stopped = _run(trainer, settings, out, log, elapsed, stop_after, stop)
    if stopped:
        if is_main:
            _log.info("saved at step %d; the same command goes on from there", trainer.steps)
        raise KeyboardInterrupt
    return trainer.averaged()


def _run(
    trainer: GeneratorTrainer,
    settings: TrainSettings,
    out: Path,
    log: MetricsLog | None,
    elapsed: float,
    stop_after: int | None,
    stop: StopRequest,
) -> bool:
    """Until the budget is spent or a stop is asked for, with a checkpoint either way; says whether it was stopped."""
    group = trainer.group
    began, saved, first_step = time.monotonic() - elapsed, time.monotonic(), trainer.steps
    mark, mark_steps = time.monotonic(), trainer.steps
    used, stopped = _share(settings, trainer.steps, elapsed), False
    while used < 1.0 and not stopped and (stop_after is None or trainer.steps - first_step < stop_after):
        trainer.step(used)

        # the clock of the first rank counts for all
        looks_up = trainer.steps % settings.log_steps == 0
        if settings.steps is not None:
            used = trainer.steps / settings.steps
        elif looks_up:
            clock = torch.tensor(time.monotonic() - began, dtype=torch.float64, device=trainer.device)
            group.broadcast_([clock])
            used = float(clock) / settings.seconds

        # a line of the log
        if looks_up:
            group.mean_([trainer.parts])
        if looks_up and log is not None:
            parts = dict(zip(settings.step.objective.NAMES, trainer.parts.tolist(), strict=True))
            now = time.monotonic()
            speed = (trainer.steps - mark_steps) * settings.step.batch * group.world_size / max(now - mark, 1e-9)
            mark, mark_steps = now, trainer.steps
            values = {
                "step": trainer.steps,
                "seconds": now - began,
                "rate": float(trainer.optimiser.rate),
                "windows_per_s": speed,
            }
            values |= {"gradient": float(trainer.optimiser.norm), "skipped": float(trainer.optimiser.skipped)}
            log.write(**values, own=trainer.rolls_out, **parts)
            if trainer.steps % (10 * settings.log_steps) == 0:
                _log.info("step %d  %.0f s  loss %.4f  %.0f windows/s", trainer.steps, now - began, parts["total"], speed)

        # a stop, or a checkpoint
        stopped = (looks_up or group.world_size == 1) and group.agree(stop.asked)
        if looks_up and not stopped and group.agree(time.monotonic() - saved >= settings.checkpoint_seconds):
            _save(trainer, out, settings, time.monotonic() - began)
            saved = time.monotonic()
    _save(trainer, out, settings, time.monotonic() - began)
    return stopped


def _share(settings: TrainSettings, steps: int, elapsed: float) -> float:
    return steps / settings.steps if settings.steps is not None else elapsed / settings.seconds


def _save(trainer: GeneratorTrainer, out: Path, settings: TrainSettings, elapsed: float) -> None:
    group = trainer.group
    states = trainer.random.get_state()
    gathered: list[Tensor] = [states]
    if group.world_size > 1:
        mine = states.to(trainer.device)
        gathered = [torch.empty_like(mine) for _ in range(group.world_size)]
        torch.distributed.all_gather(gathered, mine)
    if not group.is_main:
        return
    tensors = {**trainer.state(), **{f"random.{rank}": state for rank, state in enumerate(gathered)}}
    meta = {"kind": "generator-training", "steps": trainer.steps, "elapsed": elapsed, "settings": _identity(settings, trainer)}
    save_checkpoint(out / CHECKPOINT_FILE, tensors, meta | {"fingerprint": trainer.generator.character.fingerprint})
    spent: dict[str, Any] = {} if settings.steps else {"seconds": round(elapsed, 1)}  # equal runs of equal steps give equal files
    trainer.averaged().save(out / GENERATOR_FILE, steps=trainer.steps, **spent)


def _restore(trainer: GeneratorTrainer, path: Path, settings: TrainSettings) -> float:
    tensors, meta = load_to_resume(path)
    if not {"steps", "elapsed", "fingerprint"} <= meta.keys():
        raise FormatError(f"{path} does not describe a training that could go on; move it away to begin anew")
    if meta.get("settings") != _identity(settings, trainer) or meta["fingerprint"] != trainer.generator.character.fingerprint:
        raise SettingsError(f"{path} is of a run with other settings; choose another folder")
    trainer.restore(tensors, meta["steps"])
    state = tensors.get(f"random.{trainer.group.rank}")
    if state is None:  # a run on fewer ranks: this one begins a new stream
        words = np.random.SeedSequence([settings.seed, meta["steps"], trainer.group.rank]).generate_state(1, np.uint64)
        trainer.random.manual_seed(int(words[0]) >> 1)
    else:
        trainer.random.set_state(state)
    return float(meta["elapsed"])


def _identity(settings: TrainSettings, trainer: GeneratorTrainer) -> dict:
    """What must not change between a run and its continuation."""
    lesson = {"lesson": trainer.lesson} if isinstance(trainer, StudentTrainer) else {}
    return lesson | {
        "generator": _plain(settings.generator),
        "step": _plain(settings.step),
        "window": _plain(settings.window),
        "seed": settings.seed,
    }


def _plain(value: object) -> object:
    """A dataclass as JSON would give it back: tuples are lists."""
    return json.loads(json.dumps(asdict(value)))  # type: ignore[call-overload]


def _set_statistics(trainer: GeneratorTrainer, source: Generator) -> None:
    trainer.restore({**trainer.state(), "mean": source.mean.to(trainer.device), "std": source.std.to(trainer.device)}, 0)
