"""What was done, from what, and what came of it: the loop's memory between one start and the next.

Every stage is written down under its name with the hashes of its inputs and, once it is finished, the hashes of its outputs:

    DIR/ledger.json   {"schema": 1, "stages": {"iteration-01/tracker": {
                         "inputs": {"settings": "3f..", "dataset": "91..", "synthesis": "c2..", "before": "-"},
                         "began": 1763212345.6, "spent": 12.5, "seconds": 131.9, "result": {"success": 0.4},
                         "outputs": {"iteration-01/tracker/actor.safetensors": {"sha256": "..", "bytes": 91, "mtime_ns": 17..}}}}}

A stage is skipped if its present inputs equal the recorded ones and its outputs are there, to the last bit. It is *continued*
in its folder if it was begun from these inputs and not finished. If it was begun from others it is refused, unless it may be done
over again: then its folder moves to DIR/old-1 (old-2, ...) with all that lies in it, and the stage begins in a new one. Nothing
is deleted. An output's hash is an input of the stages that read it, so a change runs through exactly what depends on it and stops
where a stage gives the same result as before. An output that is no longer what the stage made ends the run with a sentence: what
would be made from it is made from damage.

A training by the clock notes the seconds it was begun with ("budget"): it keeps them, however its run's time is divided later.
In a run that came out of a pack (`parc.loop.pack.pack_run`) outputs that nothing reads any more are away, and weights may be
rounded; both are still known by the hash of what the stage made.

The file is replaced whole at every change; a kill leaves the old one or the new one. Stages may be done beside each other in
threads of one process.
"""

import contextlib
import itertools
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from parc.dataset.dataset_store import INDEX, Dataset, Index
from parc.errors import DatasetError, FormatError, ParcError
from parc.run.atomic_files import write_bytes_atomically
from parc.run.dataclass_json import from_json, tidy
from parc.run.file_lock import FolderLock, ForeignLockError, LockHeldError, lock_holder
from parc.run.file_reading import read_bytes, read_json
from parc.run.hashing import hash_file, hash_text

LEDGER, RUN = "ledger.json", "run.json"
LOCK = "lock"
SCHEMA = 1
NOTHING = "-"
"""hash of an input that is not there"""


class LoopError(ParcError):
    """A run that cannot go on, with what to do about it."""


@dataclass(frozen=True)
class FileMark:
    """An output as it was when its stage finished."""

    sha256: str
    bytes: int
    mtime_ns: int
    rounded: str = ""
    """hash of the file that stands for it, the same weights in float16 (`parc.loop.pack.pack_run`); empty: the file itself"""
    is_away: bool = False
    """it was left out of a pack, because nothing that is still to be done reads it"""


@dataclass(frozen=True)
class StageEntry:
    """What the ledger holds of a stage."""

    inputs: dict[str, str]
    began: float
    """s since 1970, of the session that is going on or was the last"""
    spent: float = 0.0
    """s of earlier sessions, as far as their files tell"""
    seconds: float | None = None
    """s in all; None: not finished"""
    outputs: dict[str, FileMark] = field(default_factory=dict)
    """by path below the run's folder"""
    result: dict[str, Any] = field(default_factory=dict)
    """numbers for the report"""
    budget: float | None = None
    """s of training that it was begun with; None: what its settings say"""

    @property
    def is_done(self) -> bool:
        """Whether the stage ended."""
        return self.seconds is not None


@dataclass(frozen=True)
class Stage:
    """A stage of one iteration, ready to be done."""

    name: str
    """also its folder below the run's"""
    inputs: dict[str, str]
    """name to hash"""
    work: Callable[[Path], dict[str, Any]]
    """does it in a folder, going on with what lies there; returns numbers for the report"""
    outputs: Callable[[Path], list[Path]]
    """files that later stages read"""
    budget: float | None = None
    """s of training, where the run's time is divided over its stages (`parc.loop.budget.stage_clock`)"""


class Ledger:
    """What a run has done, and the means to do the next stage."""

    def __init__(self, folder: Path | str, over_again: bool = False) -> None:
        self.folder, self.over_again = Path(folder), over_again
        self.stages: dict[str, StageEntry] = {}
        self._old: Path | None = None
        self._writing = threading.Lock()
        self._whole: dict[str, tuple[int, int]] = {}
        """outputs that were read and are what was written, with size and time"""
        self._begun = {file: read_bytes(file) for name in (LEDGER, RUN) if (file := self.folder / name).is_file()}
        file = self.folder / LEDGER
        if file.exists():
            self.stages = _read(file)

    def is_current(self, stage: Stage) -> bool:
        """Whether a stage is done with these inputs, and its files are as they were."""
        entry = self.stages.get(stage.name)
        if entry is None or not entry.is_done or entry.inputs != stage.inputs:
            return False
        there = {name: mark for name, mark in entry.outputs.items() if (self.folder / name).is_file()}
        if not all(name in there or mark.is_away for name, mark in entry.outputs.items()):
            return False
        for name, mark in there.items():
            if not self._is_whole(name, mark):
                raise LoopError(
                    f"{self.folder / name} is no longer what {stage.name} made: it was changed or is damaged; put it back, or "
                    "move it away, and the same command makes it again"
                )
        return True

    def _is_whole(self, name: str, mark: FileMark) -> bool:
        """By content, read once: a disk that loses a bit changes neither size nor time."""
        status = (self.folder / name).stat()
        seen = (status.st_size, status.st_mtime_ns)
        if self._whole.get(name) != seen:
            if status.st_size != mark.bytes or not _is_of(mark, hash_file(self.folder / name)):
                return False
            self._whole[name] = seen
        return True

    def changed_inputs(self, stage: Stage) -> list[str]:
        """Inputs that differ from those the stage was begun with; none for a stage never begun."""
        entry = self.stages.get(stage.name)
        if entry is None:
            return []
        return sorted(k for k in stage.inputs.keys() | entry.inputs.keys() if entry.inputs.get(k) != stage.inputs.get(k))

    def obstacle(self, stage: Stage) -> str | None:
        """Why a stage cannot be done in its folder, in words; None: it can, or it is done."""
        if changed := self.changed_inputs(stage):
            return f"{stage.name} was made otherwise ({', '.join(changed)} differ)"
        folder = self.folder / stage.name
        if stage.name not in self.stages and folder.is_dir() and any(folder.iterdir()):
            return f"{stage.name} holds files, and {LEDGER} does not say from what they were made"
        return None

    def run(self, stage: Stage) -> StageEntry:
        """Skip, continue or do a stage; returns its entry."""
        if self.is_current(stage):
            return self.stages[stage.name]
        folder, spent = self.folder / stage.name, 0.0
        entry = self.stages.get(stage.name)
        if obstacle := self.obstacle(stage):
            if not self.over_again:
                raise refusal(self.folder, obstacle)
            self._old = self._old or begin_old(self.folder, self._begun)
            move_aside(folder, self._old / stage.name)
        elif entry is not None:
            spent = entry.spent + time_spent(folder, entry.began)
        began = time.time()
        self._write(stage.name, StageEntry(stage.inputs, began, spent, budget=stage.budget))
        folder.mkdir(parents=True, exist_ok=True)
        result = tidy(stage.work(folder))
        outputs = {file.relative_to(self.folder).as_posix(): mark_of(file) for file in stage.outputs(folder)}
        done = StageEntry(stage.inputs, began, spent, spent + time.time() - began, outputs, result, stage.budget)
        self._write(stage.name, done)
        return done

    def faults(self) -> list[str]:
        """Every output of a finished stage that is missing, or has another hash than the ledger says: all of them are read."""
        found = []
        for entry in self.stages.values():
            for name, mark in entry.outputs.items():
                file = self.folder / name
                if not file.is_file():
                    found += [] if mark.is_away else [f"{name} is missing"]
                elif not _is_of(mark, hash_file(file)):
                    found.append(f"{name} is no longer what was written: it was changed or is damaged")
        return found

    def hash_of(self, file: Path) -> str:
        """Of an output, as recorded, unless the file was touched since; of any other file by reading it."""
        known = self.mark(file)
        if not file.is_file():
            return known.sha256 if known is not None and known.is_away else NOTHING
        status = file.stat()
        if known is not None and (known.bytes, known.mtime_ns) == (status.st_size, status.st_mtime_ns):
            return known.sha256
        found = hash_file(file)
        return known.sha256 if known is not None and _is_of(known, found) else found

    def mark(self, file: Path) -> FileMark | None:
        """Of an output; None for any other file."""
        name = file.relative_to(self.folder).as_posix() if file.is_relative_to(self.folder) else ""
        return next((entry.outputs[name] for entry in self.stages.values() if name in entry.outputs), None)

    def hash_of_dataset(self, folder: Path) -> str:
        """Index and shards; equal clips in equal order have equal hashes."""
        return hash_text("\n".join(self.hash_of(file) for file in dataset_files(folder)))

    def _write(self, name: str, entry: StageEntry) -> None:
        with self._writing:
            stages = self.stages | {name: entry}
            write_bytes_atomically(self.folder / LEDGER, ledger_bytes(stages))
            self.stages = stages


def ledger_bytes(stages: Mapping[str, StageEntry]) -> bytes:
    """What the file holds."""
    values = {"schema": SCHEMA, "stages": {key: asdict(value) for key, value in stages.items()}}
    return json.dumps(values, indent=1).encode()


def dataset_files(folder: Path) -> list[Path]:
    """Index and shards of a data set."""
    return [folder / INDEX, *(folder / shard.file for shard in Index.read(folder).shards)]


def clear_damaged(folder: Path, dataset: Path) -> None:
    """Move a stage's folder aside if the data set in it was begun and can no longer be read, so that it is made again."""
    if not folder.exists() or not any(folder.iterdir()):
        return
    try:
        Dataset.open(dataset)
    except DatasetError:
        run = next((above for above in folder.parents if (above / LEDGER).is_file()), folder.parent)
        move_aside(folder, begin_old(run) / folder.relative_to(run))
        folder.mkdir()


def refusal(folder: Path, obstacle: str) -> LoopError:
    """The sentence for a run that stands in the way of what was asked for."""
    return LoopError(
        f"{folder} holds a run that was begun otherwise: {obstacle}; choose another folder, or add --over-again, which moves "
        f"it and what was made from it to {next_old(folder)} and does these stages over again"
    )


def next_old(folder: Path) -> Path:
    """Where stages that are done over again move to."""
    return folder / f"old-{next(n for n in itertools.count(1) if not os.path.lexists(folder / f'old-{n}'))}"


def begin_old(folder: Path, beside: Mapping[Path, bytes] = MappingProxyType({})) -> Path:
    """The folder for moved stages; `beside` them lie files as they were, ledger and settings."""
    old = next_old(folder)
    old.mkdir(parents=True)
    for file, content in beside.items():
        write_bytes_atomically(old / file.name, content)
    return old


def move_aside(folder: Path, target: Path) -> None:
    """A folder with all that is in it; of a link the link, so that what it points to stays where it is."""
    if not os.path.lexists(folder):
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    if folder.is_symlink():
        target.symlink_to(folder.resolve(), target_is_directory=True)
        folder.unlink()
    else:
        folder.rename(target)


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """The one process that works in a folder; released by the system however the process ends."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        lock = FolderLock(folder / LOCK)
    except LockHeldError as error:
        raise LoopError(f"{folder} is being worked on by process {error.holder}; wait for it or stop it") from None
    except ForeignLockError as error:
        raise LoopError(str(error)) from None
    try:
        yield
    finally:
        lock.release()


def working_process(folder: Path) -> str | None:
    """Id of the process that works in a folder, if there is one."""
    return lock_holder(folder / LOCK)


def mark_of(file: Path) -> FileMark:
    """A file as it is."""
    status = file.stat()
    return FileMark(hash_file(file), status.st_size, status.st_mtime_ns)


def _is_of(mark: FileMark, found: str) -> bool:
    return found in {mark.sha256, mark.rounded}


def time_spent(folder: Path, began: float) -> float:
    """Of a session that was cut: until it last wrote a file."""
    newest = max((f.stat().st_mtime for f in folder.rglob("*") if f.is_file()), default=began)
    return max(0.0, newest - began)


def _read(file: Path) -> dict[str, StageEntry]:
    try:
        values = read_json(file)
        if values["schema"] != SCHEMA:
            raise LoopError(f"{file} has schema {values['schema']!r}, this program reads {SCHEMA}")
        for name in values["stages"]:
            check_place(name)
        return {name: _entry(entry) for name, entry in values["stages"].items()}
    except (FormatError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise LoopError(f"{file} is damaged ({error!r}); move it away, and add --over-again to do all stages over") from None


def _entry(values: Any) -> StageEntry:
    entry = from_json(StageEntry, values, FormatError)
    for name in entry.outputs:
        check_place(name)
    return entry


def check_place(name: str) -> None:
    """Of a stage or an output: a path below the run's folder that a system takes."""
    parts = Path(name).parts
    is_long = len(name.encode(errors="replace")) > 1000 or any(len(part.encode(errors="replace")) > 255 for part in parts)
    if not parts or is_long or ".." in parts or Path(name).is_absolute() or not name.isprintable():
        raise ValueError(f"a stage or an output of an impossible name: {name[:60]!r}")
