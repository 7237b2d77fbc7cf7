"""Each stage of a run: what it is made from, how it is done, and what later stages read (`parc.loop.run_iterations`)."""

import contextlib
import gc
import json
import logging
import math
from collections.abc import Iterator
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from parc.character.character import Character
from parc.correct.synthesise_clips import synthesise, unit_notes
from parc.dataset.dataset_store import Dataset, DatasetWriter
from parc.generate.model.motion_generator import Generator
from parc.generate.training.generator_training import GENERATOR_FILE
from parc.loop.admission_rules import GuardSettings
from parc.loop.admit_clips import ADMISSION, DATASET, admit, read_admission
from parc.loop.budget.stage_clock import training_seconds
from parc.loop.budget.time_budget import lasting
from parc.loop.initial_dataset import hash_of_folder, import_start, is_dataset, stroll_start
from parc.loop.initial_models import RunSources
from parc.loop.leaf_stages import IterationModels, SideLane
from parc.loop.ledger import NOTHING, Ledger, LoopError, Stage, clear_damaged, dataset_files
from parc.loop.loop_plan import LoopSettings, TrackerPlan
from parc.loop.machines import Machines
from parc.loop.stage_training import GeneratorTraining, TrackerTraining, run_training
from parc.loop.unlearnable_motions import lost_motions
from parc.record.record_clips import RecordSettings, record_dataset
from parc.run.atomic_files import write_bytes_atomically
from parc.run.hashing import hash_settings
from parc.run.work_items import Workers, WorkersState
from parc.track.learn.tracker_training import ACTOR, CHECKPOINT, CRITIC
from parc.vary.dataset_variations import vary_dataset

WORKERS, FOLLOWED, EVALUATION = "workers.json", "followed.json", "evaluation.json"
_log = logging.getLogger("parc.loop")


class RunStages:
    """The stages of a run in a folder."""

    def __init__(
        self,
        folder: Path,
        settings: LoopSettings,
        sources: RunSources,
        character: Character,
        device: str = "cpu",
        machines: Machines = Machines(),
        over_again: bool = False,
        lane: SideLane | None = None,
    ) -> None:
        self.folder, self.settings, self.sources = folder, settings, sources
        self.character, self.device, self.machines = character, device, machines
        self.ledger, self.lane = Ledger(folder, over_again), lane or SideLane(False)
        self.start = folder

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
        budget = self._budget(i, "generator")
        settings = settings if budget is None else replace(settings, seconds=budget)
        first = self._place(i - 1, "generator") / GENERATOR_FILE if i > 1 else self.sources.generator
        inputs = {
            "settings": hash_settings(settings),
            "dataset": self.ledger.hash_of_dataset(before),
            "before": self._hash(first),
        }

        training = GeneratorTraining(settings, before, first, self.character, self.device)
        work = partial(run_training, training, machines=self.machines)
        self._do(Stage(f"{_name(i)}/generator", inputs, work, lambda out: [out / GENERATOR_FILE], budget))
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
        training, budget = replace(plan.training, seed=self._seed(i, 2)), self._budget(i, "tracker")
        training = training if budget is None else lasting(training, budget)
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
            settings, begin = plan.settings_from(first), first
            if first is not None and not first.is_file():  # of a run that came out of a pack without it
                begin = known
            task = TrackerTraining(settings, training, (before, generated), begin, self.character, self.device, lost)
            return run_training(task, out, machines=self.machines) | {"left_out": len(lost)}

        self._do(Stage(f"{_name(i)}/tracker", inputs, work, lambda out: [out / ACTOR, out / CHECKPOINT, out / CRITIC], budget))
        return self._place(i, "tracker") / ACTOR

    def _reflex(self, i: int, before: Path, generated: Path, generator: Path, tracker: Path) -> Path | None:
        """A leaf of the run: the tracker, trained on with the generator in the loop."""
        training, seed = self.settings.closed_loop, self._seed(i, 4)
        if training is None:
            return None
        budget = self._budget(i, "reflex")
        closed = training if budget is None else training.lasting(budget)
        inputs = {
            "settings": hash_settings(closed, seed),
            "dataset": self.ledger.hash_of_dataset(before),
            "synthesis": self.ledger.hash_of_dataset(generated),
            "generator": self._hash(generator),
            "tracker": self._hash(tracker),
        }

        def work(out: Path) -> dict[str, Any]:
            clips = [clip for folder in (before, generated) for clip in Dataset.open(folder, self.character)]
            return self.lane.call(closed.train, out, generator, tracker, clips, seed, self.character, self.device)

        stage = Stage(f"{_name(i)}/reflex", inputs, work, lambda out: [out / ACTOR, out / CHECKPOINT], budget)
        self.lane.add(partial(self._do, stage))
        return self._place(i, "reflex") / ACTOR

    def _evaluation(self, i: int, generator: Path, tracker: Path | None, reflex: Path | None) -> None:
        """A leaf of the run: what the iteration's models reach on the development set."""
        measurement = self.settings.evaluation
        if measurement is None:
            return
        models, processes = IterationModels(generator, tracker, reflex), self.machines.processes_beside(self.device)

        def begin() -> None:
            """The inputs are known only when the stages before in the lane are done."""
            files = {"generator": generator, "tracker": tracker, "reflex": reflex}
            inputs = {"settings": hash_settings(measurement)} | {name: self._hash(file) for name, file in files.items()}

            def work(out: Path) -> dict[str, Any]:
                return self.lane.call(measurement.measure, out, models, self.character, self.device, processes)

            self._do(Stage(f"{_name(i)}/evaluation", inputs, work, lambda out: [out / EVALUATION]))

        self.lane.add(begin)

    def _recording(self, i: int, settings: RecordSettings, threads: int, generated: Path, tracker: Path) -> Path:
        inputs = {
            "settings": hash_settings(settings, i),
            "synthesis": self.ledger.hash_of_dataset(generated),
            "tracker": self._hash(tracker),
        }

        # beside closed-loop training on the GPU the CPU's cores record
        device = "cpu" if self.lane.is_beside and self.settings.closed_loop is not None and i else self.device

        def work(out: Path) -> dict[str, Any]:
            clear_damaged(out, out)
            source = Dataset.open(generated, self.character)
            if not len(source):
                DatasetWriter(out, self.character).close()
                return {"clips": 0, "recorded": 0}
            with self._workers(f"{_name(i)}/recording") as workers:
                report = record_dataset(
                    tracker, source, out, self.character, device, settings, i, threads=threads, workers=workers
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
        is_alone = not (self.lane.is_beside and self._is_leaf(stage))
        if is_alone and torch.device(self.device).type == "cuda":
            # graphs and worlds of a stage hold the GPU's memory until collected
            gc.collect()
            torch.cuda.empty_cache()
        numbers = ", ".join(f"{k} {v:.4g}" for k, v in entry.result.items() if isinstance(v, int | float) and math.isfinite(v))
        _log.info("%s: done in %.0f s; %s", stage.name, entry.seconds, numbers)

    @staticmethod
    def _is_leaf(stage: Stage) -> bool:
        return stage.name.endswith(("/reflex", "/evaluation"))

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
        found = NOTHING if file is None else self.ledger.hash_of(file)
        if file is not None and found == NOTHING:
            raise LoopError(f"there is no file {file}")
        return found

    def _budget(self, i: int, stage: str) -> float | None:
        """s of a training, where the run was given minutes."""
        return training_seconds(self.settings, self.ledger, i, stage, self.lane.is_beside)

    def _seed(self, i: int, stage: int) -> int:
        return int(np.random.SeedSequence([self.settings.seed, i, stage]).generate_state(1)[0] >> 2)


def _name(i: int) -> str:
    return f"iteration-{i:02d}"
