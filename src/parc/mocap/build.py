"""A data set from a shortlist of raw takes: read, calibrate, make, judge, keep. Parallel, and resumed where it was stopped.

    OUT/                       the data set (see `parc.dataset.store`)
      mocap/settings.json      what it is built with; another build into the same folder must agree
      mocap/calibration.json   leg length and foot of every subject, over all its takes on the list
      mocap/report.jsonl       a line for each finished row: kept, rejected (why) or failed (why), and its quality
      mocap/NAME.motion        a clip on its way from a worker to the data set

A row is finished when its line is in the report, so a killed build goes on with the next row and a second run of a finished one
does nothing. A row that fails is told and passed over.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict, dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch

from parc.character.character import Character
from parc.dataset.clip import Provenance
from parc.dataset.convert.load import load_clip, save_clip
from parc.dataset.store import DatasetWriter
from parc.errors import DatasetError, ParcError
from parc.mocap.calibrate import Calibration, calibrate
from parc.mocap.pipeline import MocapSettings, make_clip
from parc.mocap.quality import QualityLimits
from parc.mocap.read import ReadSettings, Take, read_take
from parc.mocap.shortlist import ShortlistRow, read_shortlist
from parc.run.atomic import write_bytes_atomically


@dataclass(frozen=True)
class BuildSettings:
    mocap: MocapSettings = field(default_factory=MocapSettings)
    limits: QualityLimits = field(default_factory=QualityLimits)
    workers: int = 0
    """processes; 0 is one for each core"""


@dataclass(frozen=True)
class RowResult:
    name: str
    status: str
    """kept, rejected or failed"""
    reasons: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    levels: tuple[float, ...] = ()
    """m"""
    quality: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class BuildReport:
    results: tuple[RowResult, ...]

    def named(self, status: str) -> list[RowResult]:
        return [r for r in self.results if r.status == status]

    @property
    def seconds_kept(self) -> float:
        return sum(r.quality.get("seconds", 0.0) for r in self.named("kept"))

    def medians(self) -> dict[str, float]:
        """Of each quality over the kept clips that have it."""
        kept = self.named("kept")
        keys = {key for r in kept for key in r.quality}
        return {key: float(np.median([r.quality[key] for r in kept if key in r.quality])) for key in sorted(keys)}

    def __str__(self) -> str:
        counts = ", ".join(f"{len(self.named(s))} {s}" for s in ("kept", "rejected", "failed"))
        lines = [f"{counts}; {self.seconds_kept / 60:.1f} minutes kept"]
        lines += [f"  {r.name}: {r.status}, {'; '.join(r.reasons)}" for r in self.results if r.status != "kept"]
        return "\n".join(lines)


Progress = Callable[[int, int, RowResult], None]
"""called with rows finished, rows in all, and the row just finished"""


def build_dataset(
    shortlist: Path | str,
    out: Path | str,
    character: Character,
    settings: BuildSettings = BuildSettings(),
    on_progress: Progress | None = None,
) -> BuildReport:
    """The clips of a shortlist's rows into the data set `out`; what became of every row."""
    shortlist, out = Path(shortlist), Path(out)
    rows = read_shortlist(shortlist)
    work = out / "mocap"
    work.mkdir(parents=True, exist_ok=True)
    _check_settings(work / "settings.json", settings, character)
    with DatasetWriter(out, character) as writer:
        done = read_report(work / "report.jsonl")
        todo = [row for row in rows if row.name not in done]
        workers = min(settings.workers or os.cpu_count() or 1, max(len(todo), 1))
        with worker_pool(workers) as pool:
            subjects = _calibrations(pool, rows, shortlist, character, work / "calibration.json") if todo else {}
            jobs = [(row, row.file(shortlist), subjects.get(_subject(row)), work, character, settings) for row in todo]
            for result in _as_finished(pool, jobs, 2 * workers):
                path = work / f"{result.name}.motion"
                if result.status == "kept" and result.name not in writer:
                    writer.append([load_clip(path, character)])
                path.unlink(missing_ok=True)
                done[result.name] = result
                add_to_report(work / "report.jsonl", [result])
                if on_progress:
                    on_progress(len(done), len(rows), result)
        writer.compact()
    return BuildReport(tuple(done[row.name] for row in rows if row.name in done))


Job = tuple[ShortlistRow, Path, Calibration | None, Path, Character, BuildSettings]


def _make_row(job: Job) -> RowResult:
    """In a worker: one row to a clip file, or to a reason why not."""
    row, file, calibration, work, character, settings = job
    try:
        take = _take(row, file, character)
        seconds = len(take.landmarks) / take.landmarks.fps
        provenance = Provenance(source=row.source, skill=row.skill, edits=(f"{seconds:.2f} s from frame {row.first_frame}",))
        made = make_clip(take.landmarks, character, row.hands, calibration, provenance, settings.mocap, row.stretch)
    except ParcError as error:
        return RowResult(row.name, "failed", (str(error),))
    except (ValueError, IndexError, ArithmeticError, RuntimeError) as error:
        return RowResult(row.name, "failed", (f"{type(error).__name__}: {error}",))
    quality = {key: value for key, value in asdict(made.quality).items() if np.isfinite(value)}
    result = RowResult(row.name, "kept", made.quality.faults(settings.limits), take.warnings, made.ground.levels, quality)
    if result.reasons:
        return replace(result, status="rejected")
    save_clip(replace(made.clip, name=row.name), work / f"{row.name}.motion", character)
    return result


def _take(row: ShortlistRow, file: Path, character: Character) -> Take:
    take = read_take(file, character, ReadSettings(fps=row.fps))
    stop = len(take.landmarks) if row.last_frame is None else min(row.last_frame, len(take.landmarks))
    if stop - row.first_frame < 2:
        raise DatasetError(f"{row.source}: frames {row.first_frame}..{stop} are not inside its {len(take.landmarks)} frames")
    return replace(take, landmarks=take.landmarks.moved(lambda track: track[row.first_frame : stop]))


def _subject(row: ShortlistRow) -> str:
    """Takes of one person: the folder, and what stands before the first '_' of a file's name."""
    path = Path(row.source)
    return f"{path.parent.as_posix()}/{path.stem.split('_')[0]}"


def _calibrations(
    pool: ProcessPoolExecutor, rows: list[ShortlistRow], shortlist: Path, character: Character, path: Path
) -> dict[str, Calibration]:
    if path.exists():
        return {key: Calibration(**value) for key, value in json.loads(path.read_text()).items()}
    groups: dict[str, list[tuple[ShortlistRow, Path]]] = {}
    for row in rows:
        groups.setdefault(_subject(row), []).append((row, row.file(shortlist)))
    found = dict(zip(groups, pool.map(_calibrate_group, [(g, character) for g in groups.values()]), strict=True))
    known = {key: value for key, value in found.items() if value is not None}
    write_bytes_atomically(path, json.dumps({key: asdict(value) for key, value in known.items()}, indent=1).encode())
    return known


def _calibrate_group(job: tuple[list[tuple[ShortlistRow, Path]], Character]) -> Calibration | None:
    takes = []
    for row, file in job[0]:
        try:
            takes.append(_take(row, file, job[1]).landmarks)
        except ParcError:
            continue
    return calibrate(takes) if takes else None


def _as_finished(pool: ProcessPoolExecutor, jobs: list[Job], ahead: int) -> Iterator[RowResult]:
    """Results as they come, never more than `ahead` rows handed out at once."""
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


def worker_pool(workers: int) -> ProcessPoolExecutor:
    """Processes of one thread each."""
    return ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=torch.set_num_threads, initargs=(1,))


def add_to_report(path: Path, results: Iterable[RowResult]) -> None:
    with open(path, "a", encoding="utf-8") as file:
        file.writelines(json.dumps(asdict(result)) + "\n" for result in results)


def read_report(path: Path) -> dict[str, RowResult]:
    """Rows with a line in the report; a last line cut off by a kill does not count."""
    done: dict[str, RowResult] = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            values: dict[str, Any] = json.loads(line)
        except ValueError:
            continue
        listed = {key: tuple(values[key]) for key in ("reasons", "warnings", "levels")}
        done[values["name"]] = RowResult(**(values | listed))
    return done


def _check_settings(path: Path, settings: BuildSettings, character: Character) -> None:
    wanted = {"mocap": asdict(settings.mocap), "limits": asdict(settings.limits), "character": character.fingerprint}
    text = json.dumps(wanted, indent=1, sort_keys=True)
    if path.exists() and hashlib.sha256(path.read_bytes()).digest() != hashlib.sha256(text.encode()).digest():
        raise DatasetError(f"{path.parent.parent} was built with other settings; build into an empty folder, or delete it first")
    write_bytes_atomically(path, text.encode())
