"""Where a run is and when it will end, from its files alone: the run itself need not be asked, nor be alive.

The time left of a stage that has not begun is what the same stage took in the last iteration that finished it, or what the preset
expects; of the one going on, what it has spent times (1 - share) / share, with the share of its budget that its log or its
units say is used up.
"""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parc.correct.synthesise_clips import unit_notes
from parc.errors import FormatError
from parc.generate.training.generator_training import METRICS_FILE
from parc.loop.ledger import RUN, Ledger, LoopError, StageEntry, time_spent, working_process
from parc.loop.run_outline import stages_of
from parc.loop.run_stages import WORKERS
from parc.run.file_reading import read_json, reading
from parc.run.metrics_log import read_metrics
from parc.track.learn.tracker_training import METRICS

_LEAST_SHARE = 0.02
"""below it the preset's expectation is the better guess"""


@dataclass(frozen=True)
class Progress:
    """How far a run has come."""

    state: str
    """finished, running or stopped"""
    process: str | None
    """id of the process that works on it"""
    iteration: int
    """the one going on, or the last"""
    iterations: int
    stage: str
    """the one going on or next; empty when finished"""
    share: float
    """of that stage, 0 to 1"""
    seconds_spent: float
    seconds_left: float
    clips_joined: int
    """added to the data set so far"""
    workers: dict[str, Any] | None = None
    """of a stage that is done on a cluster: items done and running, machines alive and lost"""


def read_run(folder: Path | str) -> dict[str, Any]:
    """run.json: settings and sources of a run."""
    file = Path(folder) / RUN
    try:
        if not file.exists():
            raise LoopError(f"{folder} holds no run; `parc loop {folder}` begins one")
        run = read_json(file)
        if not _is_run(run):
            raise FormatError("settings and sources of a run were expected")
        return run
    except FormatError as error:
        raise LoopError(f"{file} cannot be read ({error})") from None


def _is_run(run: Any) -> bool:
    if not isinstance(run, dict) or not isinstance(run.get("sources"), dict) or not isinstance(run.get("settings"), dict):
        return False
    settings, sources = run["settings"], run["sources"]
    kinds = {"name": str, "plans": list, "iterations": int, "physics_correction": bool, "seed": int}
    if not all(isinstance(settings.get(key), kind) for key, kind in kinds.items()):
        return False
    if not isinstance(settings.get("options", {}), dict) or not isinstance(settings.get("torch_threads", 0), int):
        return False
    if not 1 <= settings["iterations"] <= 10**6 or not isinstance(settings.get("minutes"), int | float | None):
        return False
    return all(path is None or isinstance(path, str) for path in sources.values())


def read_progress(folder: Path | str) -> Progress:
    """Of the run in a folder, from what its files say."""
    folder = Path(folder)
    with reading(f"the run in {folder}", "run", LoopError):
        return _read_progress(folder)


def _read_progress(folder: Path) -> Progress:
    settings = read_run(folder)["settings"]
    stages = Ledger(folder).stages
    process = working_process(folder)
    alive = process is not None
    varied, closed, measured = (bool(settings.get(part)) for part in ("variations", "closed_loop", "evaluation"))
    wanted = stages_of(settings["iterations"], settings["physics_correction"], varied, closed, measured)
    undone = [(i, stage) for i, stage in wanted if not _is_done(stages, i, stage)]
    spent = sum(_spent(entry, folder / name, alive) for name, entry in stages.items())
    joined = sum(e.result.get("joined", 0) for name, e in stages.items() if name.endswith("/dataset") and e.is_done)
    if not undone:
        return Progress("finished", None, settings["iterations"], settings["iterations"], "", 1.0, spent, 0.0, joined)
    share, left = 0.0, 0.0
    for k, (i, stage) in enumerate(undone):
        entry = stages.get(_key(i, stage))
        expected = _usual_seconds(stages, settings, i, stage)
        if k == 0 and entry is not None:
            share = min(_share(folder / _key(i, stage), _plan(settings, i), stage, entry.budget), 1.0)
            used = _spent(entry, folder / _key(i, stage), alive)
            left += used * (1 - share) / share if share > _LEAST_SHARE else max(expected - used, 0.0)
        else:
            left += expected
    i, stage = undone[0]
    state, at_work = ("running", _workers(folder)) if alive else ("stopped", None)
    return Progress(state, process, i, settings["iterations"], stage, share, spent, left, joined, at_work)


def _workers(folder: Path) -> dict[str, Any] | None:
    try:
        found = read_json(folder / WORKERS)
    except FormatError:  # none, or gone in between
        return None
    return found if isinstance(found, dict) and {"done", "running", "machines", "lost"} <= found.keys() else None


def _key(i: int, stage: str) -> str:
    return f"iteration-{i:02d}/{stage}"


def _plan(settings: dict[str, Any], i: int) -> dict[str, Any]:
    """Of an iteration, with what is the same in all; of iteration 0 how the starting set is varied."""
    if i == 0:
        return settings["variations"]
    plan = settings["plans"][min(i, len(settings["plans"])) - 1]
    leaves = {"reflex": settings.get("closed_loop"), "evaluation": settings.get("evaluation")}
    known = {stage: leaf for stage, leaf in leaves.items() if leaf is not None}
    return plan | known | {"expected": plan["expected"] | {stage: leaf["expected"] for stage, leaf in known.items()}}


def _is_done(stages: dict[str, StageEntry], i: int, stage: str) -> bool:
    entry = stages.get(_key(i, stage))
    return entry is not None and entry.is_done


def _usual_seconds(stages: dict[str, StageEntry], settings: dict[str, Any], i: int, stage: str) -> float:
    part = {"recording": "record", "dataset": "guard"}.get(stage, stage)
    mine = _plan(settings, i)
    for earlier in range(i - 1, 0, -1):
        entry = stages.get(_key(earlier, stage))
        if entry is not None and entry.seconds is not None and _plan(settings, earlier)[part] == mine[part]:
            return entry.seconds
    return float(mine["expected"][stage])


def _spent(entry: StageEntry, folder: Path, alive: bool) -> float:
    if entry.seconds is not None:
        return entry.seconds
    return entry.spent + (time.time() - entry.began if alive else time_spent(folder, entry.began))


def _share(folder: Path, plan: dict[str, Any], stage: str, seconds: float | None) -> float:
    """Of a stage's budget that is used up; `seconds`: the budget that it was begun with, if it is not its plan's."""
    if stage == "generator":
        rows, budget = _rows(folder / METRICS_FILE), plan["generator"]
        return _ratio(rows, "step", budget["steps"]) if budget["steps"] else _ratio(rows, "seconds", seconds or budget["seconds"])
    if stage in ("tracker", "reflex"):
        budget = plan["tracker"]["training"] if stage == "tracker" else plan["reflex"]["plan"]
        rows = [r for r in _rows(folder / METRICS) if r.get("event") == "train"]
        if budget["iterations"]:
            return _ratio(rows, "iteration", budget["iterations"])
        return _ratio(rows, "seconds", seconds or budget["seconds"])
    if stage == "synthesis":
        clips = sum(len(unit.clips) for unit in unit_notes(folder).notes().values())
        return clips / max(plan["synthesis"]["clips"], 1)
    return 0.0


def _ratio(rows: list[dict[str, Any]], key: str, budget: float) -> float:
    return float(rows[-1][key]) / budget if rows else 0.0


def _rows(file: Path) -> list[dict[str, Any]]:
    return read_metrics(file) if file.is_file() else []
