"""The paper's algorithm: train, synthesise, track, record, and again on what was recorded.

    for i = 1, 2, ...
        G_i   generator     trained on D_{i-1}, going on from G_{i-1}
        M~_i  synthesis     new motions of G_i on new terrains, selected and corrected
        pi_i  tracker       trained on D_{i-1} and M~_i, going on from pi_{i-1}
              reflex        where asked for: pi_i trained on with G_i in the loop (`parc.reflex`); nothing below reads it
        M_i   recording     what pi_i does in simulation when it tracks M~_i
        D_i   dataset       D_{i-1} and what of M_i passes the guard
              evaluation    where asked for: G_i and pi_i on the development set; it may decide how long later trainings last

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
        evaluation/        evaluation.json
      cache/               code that was generated for the GPU

Each stage goes on by itself with what it finds in its folder, and the ledger says which stages need not be looked at. So a run
is resumed by starting it again: at most the work since the last checkpoint or unit is repeated, and with budgets in steps the
data set comes out the same, to the byte, as that of a run never stopped.
"""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from parc.character.character import Character
from parc.character.named_character import said_of
from parc.loop.admit_clips import DATASET
from parc.loop.initial_models import RunSources, check_same_character, prepare
from parc.loop.leaf_stages import SideLane
from parc.loop.ledger import RUN, Stage, locked, refusal
from parc.loop.loop_plan import LoopSettings
from parc.loop.machines import CACHE, Machines, code_cache, torch_threads
from parc.loop.run_errors import disk_sentence, gpu_sentence
from parc.loop.run_stages import RunStages
from parc.run.atomic_files import remove_leftovers, write_bytes_atomically


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
            if torch.device(device).type == "cuda":
                code_cache(folder / CACHE)
            lane = SideLane(machines.works_beside(str(device)))
            run = _Run(folder, settings, sources, character, str(device), machines, over_again, lane)
            write_bytes_atomically(folder / RUN, json.dumps(_description(settings, sources, character), indent=1).encode())
            try:
                return run.all(after_iteration)
            finally:
                lane.close()
    except OSError as error:
        raise disk_sentence(error, folder) from error
    except (torch.AcceleratorError, torch.OutOfMemoryError) as error:
        raise gpu_sentence(error, folder) from error


class _Run(RunStages):
    """The stages in their order."""

    def all(self, after_iteration: Callable[[int], object] | None) -> LoopResult:
        """Everything; `after_iteration` again at the end, where stages were done beside the others."""
        before = self.start = self._recorded_variations(self._start())
        recorded = joined = 0
        for i in range(1, self.settings.iterations + 1):
            before, admission, new = self._iteration(i, before)
            recorded, joined = recorded + new, joined + len(admission["joined"])
            if after_iteration:
                after_iteration(i)
        self.lane.finish()
        if after_iteration and self.lane.is_beside:
            after_iteration(self.settings.iterations)
        return LoopResult(before, recorded, joined, admission["clips"])

    def _iteration(self, i: int, before: Path) -> tuple[Path, dict[str, Any], int]:
        """Folder of D_i, what joined it, and how many clips were recorded."""
        plan = self.settings.plan(i)
        generator = self._generator(i, before)
        generated = self._synthesis(i, generator)
        recorded = tracker = reflex = None
        if self.settings.physics_correction:
            tracker = self._tracker(i, plan.tracker, before, generated)
            reflex = self._reflex(i, before, generated, generator, tracker)
            recorded = self._recording(i, plan.record, plan.tracker.training.threads, generated, tracker)
        admission = self._dataset(i, plan.guard, before, generated, recorded)
        self._evaluation(i, generator, tracker, reflex)
        place = generated if recorded is None else recorded
        made = self.ledger.stages[place.relative_to(self.folder).as_posix()].result
        new = made["clips"] if recorded is None else made["recorded"]
        return self._place(i, "dataset") / DATASET, admission, new


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
        if not self.ledger.is_current(stage) and not (self._is_leaf(stage) and self.ledger.obstacle(stage) is None):
            raise _Reached(stage)

    def _evaluation(self, i: int, generator: Path, tracker: Path | None, reflex: Path | None) -> None:
        if reflex is None or reflex.is_file():
            super()._evaluation(i, generator, tracker, reflex)


def _description(settings: LoopSettings, sources: RunSources, character: Character) -> dict[str, Any]:
    where = {name: path and str(path.absolute()) for name, path in asdict(sources).items()}
    return {"settings": asdict(settings), "sources": where, "character": said_of(character)}
