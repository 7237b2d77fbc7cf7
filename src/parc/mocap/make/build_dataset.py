"""A data set from a shortlist of raw takes: read, calibrate, make, judge, keep. Parallel, and resumed where it was stopped.

    OUT/                       the data set (see `parc.dataset.dataset_store`)
      mocap/settings.json      what it is built with; another build into the same folder must agree
      mocap/calibration.json   leg length and foot of every subject, over all its takes on the list
      mocap/report.jsonl       a line for each row: kept, rejected (why) or failed (why), and its quality
      mocap/rows/KEY.json      the same of rows finished since the last build that came to its end
      mocap/KEY.motion         a clip on its way from a worker to the data set, called by the key of its row

A row is finished when there is a note under its key (`parc.mocap.make.row_keys`, `parc.run.resumable_items`). So a killed build
goes on with the next row, a second run of a finished one does nothing, and a run after a source was repaired or a row edited
redoes these rows alone. The clip of a row that is no longer on the list is taken out. A row that fails is told and passed over.

A subject keeps its calibration as long as one of the takes it was found from is as it was: the clips of one person agree.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np

from parc.character.character import Character
from parc.dataset.clip import Provenance
from parc.dataset.convert.clip_files import load_clip, save_clip
from parc.dataset.dataset_store import Dataset, DatasetWriter
from parc.errors import DatasetError, FormatError, ParcError
from parc.mocap.make.build_report import BuildReport, RowResult, row_notes
from parc.mocap.make.make_clip import MocapSettings, make_clip
from parc.mocap.make.row_keys import row_keys
from parc.mocap.make.take_shortlist import ShortlistRow, read_shortlist
from parc.mocap.read.read_take import Take, read_take
from parc.mocap.subject.calibrate_subject import Calibration, calibrate
from parc.quality.limit_profiles import MocapLimits
from parc.run.atomic_files import write_bytes_atomically
from parc.run.file_reading import read_json
from parc.run.on_progress import OnProgress
from parc.run.process_pool import worker_pool
from parc.run.settings_guard import agree


@dataclass(frozen=True)
class BuildSettings:
    """Of a build."""

    mocap: MocapSettings = field(default_factory=MocapSettings)
    limits: MocapLimits = field(default_factory=MocapLimits)
    workers: int = 0
    """processes; 0 is one for each core, with 1 all is done in this one"""


def build_dataset(
    shortlist: Path | str,
    out: Path | str,
    character: Character,
    settings: BuildSettings = BuildSettings(),
    on_progress: OnProgress | None = None,
    naming: Mapping[str, str] | None = None,
) -> BuildReport:
    """The clips of a shortlist's rows into the data set `out`; what became of every row.

    `naming` says which joint is where (`parc.mocap.read.joint_naming`) for rows without a table of their own.
    """
    shortlist, out = Path(shortlist), Path(out)
    rows = read_shortlist(shortlist, naming)
    keys = row_keys(rows, shortlist)
    work = out / "mocap"
    work.mkdir(parents=True, exist_ok=True)
    made_with = {"mocap": asdict(settings.mocap), "limits": asdict(settings.limits), "character": character.fingerprint}
    agree(work / "settings.json", made_with, folder=out)
    listed_in = os.path.relpath(shortlist.resolve(), out.resolve())
    with DatasetWriter(out, character) as writer:
        # rows that were edited since, or are no longer on the list, leave with their clips
        notes = row_notes(work)
        known = notes.notes()
        gone = [r.name for r in known.values() if r.name not in keys and r.shortlist == listed_in]
        todo = [row for row in rows if keys[row.name] not in known]
        unknown = {row.name for row in todo} - {r.name for r in known.values()}
        _check_names([row for row in todo if row.name in writer and row.name in unknown], out)
        stale = {*gone, *(row.name for row in todo)}
        writer.remove(stale)
        notes.forget(key for key, r in known.items() if r.name in stale)
        done = {r.name: r for r in known.values() if r.name not in stale}

        workers = min(settings.workers or os.cpu_count() or 1, max(len(todo), 1))
        with worker_pool(workers) if workers > 1 else nullcontext() as pool:
            subjects = _calibrations(pool, rows, todo, keys, shortlist, character, work / "calibration.json")
            jobs = [
                (row, row.file(shortlist), subjects.get(_subject(row)), _on_its_way(work, keys[row.name]), character, settings)
                for row in todo
            ]
            for result in _as_finished(pool, jobs, 2 * workers):
                path = _on_its_way(work, keys[result.name])
                if result.status == "kept":
                    writer.append([load_clip(path, character)])
                path.unlink(missing_ok=True)
                done[result.name] = replace(result, key=keys[result.name], shortlist=listed_in)
                notes.add(keys[result.name], done[result.name])
                if on_progress:
                    on_progress(sum(name in done for name in keys), len(rows), result.name)
        writer.compact()
        notes.merge()
    return BuildReport(tuple(done[row.name] for row in rows if row.name in done), tuple(gone))


Job = tuple[ShortlistRow, Path, Calibration | None, Path, Character, BuildSettings]


def _on_its_way(work: Path, key: str) -> Path:
    """Where a worker leaves a clip: never called by a name from the list, which may be anything."""
    return work / f"{key}.motion"


def _make_row(job: Job) -> RowResult:
    """In a worker: one row to a clip file, or to a reason why not."""
    row, file, calibration, target, character, settings = job
    try:
        take = _take(row, file, character)
        seconds = len(take.landmarks) / take.landmarks.fps
        cut = f"cut: {seconds:.2f} s from frame {row.first_frame}"
        provenance = Provenance(source=row.source, skill=row.skill, edits=(cut,))
        made = make_clip(take.landmarks, character, row.hands, calibration, provenance, settings.mocap, row.stretch)
    except ParcError as error:
        return RowResult(row.name, "failed", (str(error),))
    except Exception as error:  # one row must not end the build, whatever is in its file
        return RowResult(row.name, "failed", (f"{type(error).__name__}: {error}",))
    quality = {key: value for key, value in made.quality.named.items() if np.isfinite(value)}
    result = RowResult(row.name, "kept", made.quality.faults(settings.limits), take.warnings, made.ground.levels, quality)
    if result.reasons:
        return replace(result, status="rejected")
    save_clip(replace(made.clip, name=row.name), target, character)
    return result


def _take(row: ShortlistRow, file: Path, character: Character) -> Take:
    take = read_take(file, character, row.read)
    frames = len(take.landmarks)
    for column, value, most in (("first_frame", row.first_frame, frames - 2), ("last_frame", row.last_frame, frames)):
        if value is not None and value > most:
            why = "".join(f" ({warning})" for warning in take.warnings if "rest pose" in warning)
            raise DatasetError(f"{row.source}: {column} is {value}, but it has {frames} frames{why}")
    return replace(take, landmarks=take.landmarks.moved(lambda track: track[row.first_frame : row.last_frame]))


def _subject(row: ShortlistRow) -> str:
    """Takes of one person: the folder, and what stands before the first '_' of a file's name."""
    path = Path(row.source)
    return f"{path.parent.as_posix()}/{path.stem.split('_')[0]}"


def _calibrations(
    pool: ProcessPoolExecutor | None,
    rows: Iterable[ShortlistRow],
    todo: Iterable[ShortlistRow],
    keys: Mapping[str, str],
    shortlist: Path,
    character: Character,
    path: Path,
) -> dict[str, Calibration]:
    """Of the subjects of rows to do; those known from takes that are still the same are kept."""
    stored = _stored_calibrations(path)
    wanted = {_subject(row) for row in todo}
    groups: dict[str, list[tuple[ShortlistRow, Path]]] = {subject: [] for subject in sorted(wanted)}
    for row in rows:
        if _subject(row) in groups:
            groups[_subject(row)].append((row, row.file(shortlist)))
    for subject, group in list(groups.items()):
        if {keys[row.name] for row, _ in group} & set(stored.get(subject, {}).get("takes", ())):
            del groups[subject]
    found = (pool.map if pool else map)(_calibrate_group, [(group, character) for group in groups.values()])
    for subject, (calibration, names) in zip(groups, found, strict=True):
        if calibration is None:
            stored.pop(subject, None)
        else:
            stored[subject] = asdict(calibration) | {"takes": [keys[name] for name in names]}
    if groups:
        write_bytes_atomically(path, json.dumps(stored, indent=1).encode())
    return {
        subject: Calibration(value["leg"], value["toe_drop"], tuple(value["slope"]))
        for subject, value in stored.items()
        if subject in wanted
    }


def _stored_calibrations(path: Path) -> dict[str, dict]:
    """Those that can be read; others are found again."""
    try:
        stored = read_json(path) if path.exists() else {}
    except FormatError:
        return {}
    if not isinstance(stored, dict):
        return {}
    kinds = {"leg": float, "toe_drop": float, "slope": list, "takes": list}
    return {
        subject: value
        for subject, value in stored.items()
        if isinstance(value, dict) and all(isinstance(value.get(key), kind) for key, kind in kinds.items())
    }


def _calibrate_group(job: tuple[list[tuple[ShortlistRow, Path]], Character]) -> tuple[Calibration | None, list[str]]:
    """In a worker: with the names of the rows that could be read."""
    takes = {}
    for row, file in job[0]:
        try:
            takes[row.name] = _take(row, file, job[1]).landmarks
        except ParcError:
            continue
    return (calibrate(list(takes.values())) if takes else None), list(takes)


def _as_finished(pool: ProcessPoolExecutor | None, jobs: list[Job], ahead: int) -> Iterator[RowResult]:
    """Results as they come, never more than `ahead` rows handed out at once; without a pool in this process."""
    if pool is None:
        yield from map(_make_row, jobs)
        return
    waiting = iter(jobs)
    running: set[Future[RowResult]] = set()
    while True:
        while len(running) < ahead and (job := next(waiting, None)) is not None:
            running.add(pool.submit(_make_row, job))
        if not running:
            return
        finished, running = wait(running, return_when=FIRST_COMPLETED)
        for future in finished:
            yield future.result()


def _check_names(rows: list[ShortlistRow], out: Path) -> None:
    """Clips of these rows' names that no report tells of: left by a kill, or none of ours, which must stay."""
    if not rows:
        return
    origin = {entry.name: entry.provenance.source for entry in Dataset.open(out).entries}
    for row in rows:
        if origin[row.name] != row.source:
            raise DatasetError(
                f"{out} already has a clip '{row.name}' that was not built from {row.source}; build into another folder"
            )
