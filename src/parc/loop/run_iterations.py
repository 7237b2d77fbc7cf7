"""The paper's algorithm: train, synthesise, track, record, and again on what was recorded.

    for i = 1, 2, ...
        G_i   generator     trained on D_{i-1}, going on from G_{i-1}
        M~_i  synthesis     new motions of G_i on new terrains, selected and corrected
        pi_i  tracker       trained on D_{i-1} and M~_i, going on from pi_{i-1}
              reflex        where asked for: pi_i trained on with G_i in the loop (`parc.reflex`); nothing below uses it
        M_i   recording     what pi_i does in simulation when it tracks M~_i
        D_i   dataset       D_{i-1} and what of M_i passes the guard

Before that, where it is asked for, iteration 0 makes D_0 out of the starting set as the paper does:

        M~_0  variation     so many spatial variations of each clip
        pi_0  tracker       trained on the starting set and M~_0
        M_0   recording     what pi_0 does in simulation when it tracks M~_0
        D_0   dataset       the starting set and M_0

On disk:

    DIR/
      run.json             settings of the run
      ledger.json          what was done from what (`parc.loop.ledger`)
      lock                 held by the one process that works here
      start/               the starting set, if it was made or imported here
      iteration-00/        variation/ (M~_0), tracker/, recording/, dataset/ (D_0) as below, if variations are recorded
      iteration-01/
        generator/         generator.safetensors, checkpoint, metrics.jsonl
        synthesis/         M~_1, a data set; units/ says which units are done
        tracker/           actor.safetensors, critic, checkpoint, metrics.jsonl, clips.json, followed.json
        recording/         M_1, a data set; units/ likewise
        dataset/           admission.json, dataset/ (D_1)

Each stage goes on by itself with what it finds in its folder, and the ledger says which stages need not be looked at. So a run
is resumed by starting it again: at most the work since the last checkpoint or unit is repeated, and with budgets in steps the
data set comes out the same, to the byte, as that of a run never stopped.
"""

import contextlib
import gc
import json
import logging
import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from parc.character.character import Character
from parc.character.named_character import said_of
from parc.correct.synthesise_clips import synthesise, unit_notes
from parc.dataset.dataset_store import Dataset, DatasetWriter
from parc.generate.model.motion_generator import Generator
from parc.generate.training.generator_training import GENERATOR_FILE
from parc.loop.admission_rules import GuardSettings
from parc.loop.admit_clips import ADMISSION, DATASET, admit, read_admission
from parc.loop.initial_dataset import hash_of_folder, import_start, is_dataset, stroll_start
from parc.loop.initial_models import RunSources, check_same_character, prepare
from parc.loop.ledger import NOTHING, RUN, Ledger, LoopError, Stage, clear_damaged, dataset_files, locked, refusal
from parc.loop.loop_plan import LoopSettings, TrackerPlan
from parc.loop.machines import Machines, torch_threads
from parc.loop.run_errors import disk_sentence, gpu_sentence
from parc.loop.stage_training import GeneratorTraining, TrackerTraining, run_training
from parc.loop.unlearnable_motions import lost_motions
from parc.record.record_clips import RecordSettings, record_dataset
from parc.run.atomic_files import remove_leftovers, write_bytes_atomically
from parc.run.hashing import hash_settings
from parc.run.work_items import Workers, WorkersState
from parc.track.learn.tracker_training import ACTOR, CHECKPOINT
from parc.vary.dataset_variations import vary_dataset

WORKERS, FOLLOWED = "workers.json", "followed.json"
_log = logging.getLogger("parc.loop")


@dataclass(frozen=True)
class LoopResult:
    """What a run gave."""

    dataset: Path
    """D of the last iteration"""
    recorded: int
    """clips recorded, all iterations together"""
    joined: int
    """of these, added to the data set"""
    clips: int
    """in the data set"""


def run_loop(
    folder: Path | str,
    settings: LoopSettings,
    character: Character,
    sources: RunSources = RunSources(),
    device: torch.device | str = "cpu",
    after_iteration: Callable[[int], object] | None = None,
    machines: Machines = Machines(),
    over_again: bool = False,
) -> LoopResult:
    """Do what is not yet done of a run in `folder`. `after_iteration(i)` is called after each iteration, done earlier or now.

    Stages that were made otherwise are refused before anything is written; `over_again` moves them aside (`parc.loop.ledger`).
    """
    folder = Path(folder).absolute()
    check_same_character(folder, character)
    settings, sources = prepare(settings, sources, character)
    try:
        with locked(folder), torch_threads(settings.torch_threads):
            obstacle = None if over_again else find_obstacle(folder, settings, sources, character)
            if obstacle is not None:
                raise refusal(folder, obstacle.told)
            remove_leftovers(folder)
            run = _Run(folder, settings, sources, character, str(device), machines, over_again)
            write_bytes_atomically(folder / RUN, json.dumps(_description(settings, sources, character), indent=1).encode())
            return run.all(after_iteration)
    except OSError as error:
        raise disk_sentence(error, folder) from error
    except (torch.AcceleratorError, torch.OutOfMemoryError) as error:
        raise gpu_sentence(error, folder) from error


class _Run:
    def __init__(
        self,
        folder: Path,
        settings: LoopSettings,
        sources: RunSources,
        character: Character,
        device: str = "cpu",
        machines: Machines = Machines(),
        over_again: bool = False,
    ) -> None:
        self.folder, self.settings, self.sources = folder, settings, sources
        self.character, self.device, self.machines = character, device, machines
        self.ledger = Ledger(folder, over_again)

    def all(self, after_iteration: Callable[[int], object] | None) -> LoopResult:
        before = self.start = self._recorded_variations(self._start())
        recorded = joined = 0
        for i in range(1, self.settings.iterations + 1):
            before, admission, new = self._iteration(i, before)
            recorded, joined = recorded + new, joined + len(admission["joined"])
            if after_iteration:
                after_iteration(i)
        return LoopResult(before, recorded, joined, admission["clips"])

    def _start(self) -> Path:
        source = self.sources.dataset
        if source is not None and is_dataset(source):
            return source.absolute()
        settings, seed = self.settings.start, self.settings.seed
        if source is not None:
            inputs = {"files": hash_of_folder(source)}
            self._do(Stage("start", inputs, lambda out: import_start(source, out, self.character), dataset_files))
        else:
            inputs = {"settings": hash_settings(settings, seed)}
            self._do(Stage("start", inputs, lambda out: stroll_start(settings, seed, out, self.character), dataset_files))
        return self.folder / "start"

    def _iteration(self, i: int, before: Path) -> tuple[Path, dict[str, Any], int]:
        """Folder of D_i, what joined it, and how many clips were recorded."""
        plan = self.settings.plan(i)
        generator = self._generator(i, before)
        generated = self._synthesis(i, generator)
        recorded = None
        if self.settings.physics_correction:
            tracker = self._tracker(i, plan.tracker, before, generated)
            self._reflex(i, before, generated, generator, tracker)
            recorded = self._recording(i, plan.record, plan.tracker.training.threads, generated, tracker)
        admission = self._dataset(i, plan.guard, before, generated, recorded)
        new = len(Dataset.open(recorded or generated))
        return self._place(i, "dataset") / DATASET, admission, new

    def _recorded_variations(self, start: Path) -> Path:
        """D_0: the starting set, with its variations as recorded in simulation if they are asked for (the paper's section 7)."""
        plan = self.settings.variations
        if plan is None:
            return start
        seed = self._seed(0, 3)
        inputs = {
            "settings": hash_settings(plan.count, plan.vary.vary, plan.vary.limits, seed),
            "dataset": self.ledger.hash_of_dataset(start),
        }

        def work(out: Path) -> dict[str, Any]:
            clear_damaged(out, out)
            report = vary_dataset(start, out, self.character, plan.count, seed, plan.vary, self.device)
            return {"clips": len(Dataset.open(out)), "refused": len(report.results) - len(report.named("kept"))}

        self._do(Stage(f"{_name(0)}/variation", inputs, work, dataset_files))
        varied = self._place(0, "variation")
        tracker = self._tracker(0, plan.tracker, start, varied)
        recorded = self._recording(0, plan.record, plan.tracker.training.threads, varied, tracker)
        self.start = start
        self._dataset(0, plan.guard, start, varied, recorded)
        return self._place(0, "dataset") / DATASET

    def _generator(self, i: int, before: Path) -> Path:
        settings = replace(self.settings.plan(i).generator, seed=self._seed(i, 1))
        first = self._place(i - 1, "generator") / GENERATOR_FILE if i > 1 else self.sources.generator
        inputs = {
            "settings": hash_settings(settings),
            "dataset": self.ledger.hash_of_dataset(before),
            "before": self._hash(first),
        }

        training = GeneratorTraining(settings, before, first, self.character, self.device)
        work = partial(run_training, training, machines=self.machines)
        self._do(Stage(f"{_name(i)}/generator", inputs, work, lambda out: [out / GENERATOR_FILE]))
        return self._place(i, "generator") / GENERATOR_FILE

    def _synthesis(self, i: int, generator: Path) -> Path:
        plan, seed, model = self.settings.plan(i).synthesis, self.settings.seed, self._hash(generator)
        inputs = {"settings": hash_settings(plan, seed, i), "generator": model}

        def work(out: Path) -> dict[str, Any]:
            clear_damaged(out, out)
            loaded = Generator.load(generator, self.character, self.device)
            units, short = range(plan.most_units), model[:16]
            with self._workers(f"{_name(i)}/synthesis") as workers:
                synthesise(loaded, out, units, seed, i, plan.settings, model=short, enough=plan.clips, workers=workers)
            clips = len(Dataset.open(out))
            if not clips:
                _log.warning("iteration %d: no generated motion was valid; the data set stays as it is", i)
            return {"clips": clips, "units": len(unit_notes(out).notes())}

        self._do(Stage(f"{_name(i)}/synthesis", inputs, work, dataset_files))
        return self._place(i, "synthesis")

    def _tracker(self, i: int, plan: TrackerPlan, before: Path, generated: Path) -> Path:
        training = replace(plan.training, seed=self._seed(i, 2))
        has_one_before = i > (0 if self.settings.variations else 1)
        first = self._place(i - 1, "tracker") / CHECKPOINT if has_one_before else self.sources.tracker
        known = self._place(i - 1, "tracker") / ACTOR if has_one_before else self.sources.tracker
        inputs = {
            "settings": hash_settings(plan, training),
            "dataset": self.ledger.hash_of_dataset(before),
            "synthesis": self.ledger.hash_of_dataset(generated),
            "before": self._hash(first),
        }

        def work(out: Path) -> dict[str, Any]:
            lost = lost_motions(plan, known, generated, out / FOLLOWED, self.character, self.device)
            settings = plan.settings_from(first)
            task = TrackerTraining(settings, training, (before, generated), first, self.character, self.device, lost)
            return run_training(task, out, machines=self.machines) | {"left_out": len(lost)}

        self._do(Stage(f"{_name(i)}/tracker", inputs, work, lambda out: [out / ACTOR, out / CHECKPOINT]))
        return self._place(i, "tracker") / ACTOR

    def _reflex(self, i: int, before: Path, generated: Path, generator: Path, tracker: Path) -> None:
        """A leaf of the run: the tracker, trained on with the generator in the loop."""
        training, seed = self.settings.closed_loop, self._seed(i, 4)
        if training is None:
            return
        inputs = {
            "settings": hash_settings(training, seed),
            "dataset": self.ledger.hash_of_dataset(before),
            "synthesis": self.ledger.hash_of_dataset(generated),
            "generator": self._hash(generator),
            "tracker": self._hash(tracker),
        }

        def work(out: Path) -> dict[str, Any]:
            clips = [clip for folder in (before, generated) for clip in Dataset.open(folder, self.character)]
            return training.train(out, generator, tracker, clips, seed, self.character, self.device)

        self._do(Stage(f"{_name(i)}/reflex", inputs, work, lambda out: [out / ACTOR, out / CHECKPOINT]))

    def _recording(self, i: int, settings: RecordSettings, threads: int, generated: Path, tracker: Path) -> Path:
        inputs = {
            "settings": hash_settings(settings, i),
            "synthesis": self.ledger.hash_of_dataset(generated),
            "tracker": self._hash(tracker),
        }

        def work(out: Path) -> dict[str, Any]:
            clear_damaged(out, out)
            source = Dataset.open(generated, self.character)
            if not len(source):
                DatasetWriter(out, self.character).close()
                return {"clips": 0, "recorded": 0}
            with self._workers(f"{_name(i)}/recording") as workers:
                report = record_dataset(
                    tracker, source, out, self.character, self.device, settings, i, threads=threads, workers=workers
                )
            return report.to_dict() | {"recorded": len(Dataset.open(out))}

        self._do(Stage(f"{_name(i)}/recording", inputs, work, dataset_files))
        return self._place(i, "recording")

    def _dataset(self, i: int, guard: GuardSettings, before: Path, generated: Path, recorded: Path | None) -> dict[str, Any]:
        inputs = {
            "settings": hash_settings(guard),
            "start": self.ledger.hash_of_dataset(self.start),
            "dataset": self.ledger.hash_of_dataset(before),
            "synthesis": self.ledger.hash_of_dataset(generated),
            "recording": NOTHING if recorded is None else self.ledger.hash_of_dataset(recorded),
        }

        def work(out: Path) -> dict[str, Any]:
            clear_damaged(out, out / DATASET)
            admission = admit(out, self.start, before, generated, recorded, self.character, guard, self.device)
            if admission["warning"]:
                _log.warning("iteration %d: %s", i, admission["warning"])
            counts = {name: len(admission[name]) for name in ("joined", "refused")}
            return {"clips": admission["clips"], **counts, "surplus": admission["surplus"], "warning": admission["warning"]}

        self._do(Stage(f"{_name(i)}/dataset", inputs, work, lambda out: [out / ADMISSION, *dataset_files(out / DATASET)]))
        return read_admission(self._place(i, "dataset"))

    def _do(self, stage: Stage) -> None:
        if self.ledger.is_current(stage):
            _log.info("%s: done before", stage.name)
            return
        changed = self.ledger.changed_inputs(stage)
        _log.info("%s: %s", stage.name, f"over again, because of another {', '.join(changed)}" if changed else "begins")
        entry = self.ledger.run(stage)
        if torch.device(self.device).type == "cuda":  # graphs and worlds of a stage hold the GPU's memory until collected
            gc.collect()
            torch.cuda.empty_cache()
        numbers = ", ".join(f"{k} {v:.4g}" for k, v in entry.result.items() if isinstance(v, int | float) and math.isfinite(v))
        _log.info("%s: done in %.0f s; %s", stage.name, entry.seconds, numbers)

    @contextlib.contextmanager
    def _workers(self, stage: str) -> Iterator[Workers]:
        """Who does the items of a stage; how far they are is told in workers.json, for `parc status`."""
        file = self.folder / WORKERS

        def tell(state: WorkersState) -> None:
            write_bytes_atomically(file, json.dumps({"stage": stage, **asdict(state)}).encode())

        try:
            with self.machines.workers(self.device, tell) as workers:
                yield workers
        finally:
            file.unlink(missing_ok=True)

    def _place(self, i: int, stage: str) -> Path:
        return self.folder / _name(i) / stage

    def _hash(self, file: Path | None) -> str:
        if file is not None and not file.is_file():
            raise LoopError(f"there is no file {file}")
        return NOTHING if file is None else self.ledger.hash_of(file)

    def _seed(self, i: int, stage: int) -> int:
        return int(np.random.SeedSequence([self.settings.seed, i, stage]).generate_state(1)[0] >> 2)


@dataclass(frozen=True)
class Obstacle:
    """Stages of an earlier run that were made otherwise than is asked for."""

    told: str
    moves: list[str]
    """what `over_again` moves aside: the first such stage and those after it, unless its new result is the old one"""


def find_obstacle(folder: Path | str, settings: LoopSettings, sources: RunSources, character: Character) -> Obstacle | None:
    """What stands in the way of a run in a folder, found without doing or writing anything."""
    check_same_character(Path(folder), character)
    look = _Look(Path(folder).absolute(), settings, sources, character)
    try:
        look.all(None)
    except _Reached as reached:
        told = look.ledger.obstacle(reached.stage)
        if told is not None:
            names = list(look.ledger.stages)
            later = names[names.index(reached.stage.name) :] if reached.stage.name in names else [reached.stage.name]
            return Obstacle(told, later)
    return None


class _Reached(Exception):
    """The first stage that is not done."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage


class _Look(_Run):
    """Goes through the stages that are done, and no further."""

    def _do(self, stage: Stage) -> None:
        if not self.ledger.is_current(stage):
            raise _Reached(stage)


def _name(i: int) -> str:
    return f"iteration-{i:02d}"


def _description(settings: LoopSettings, sources: RunSources, character: Character) -> dict[str, Any]:
    where = {name: path and str(path.absolute()) for name, path in asdict(sources).items()}
    return {"settings": asdict(settings), "sources": where, "character": said_of(character)}
