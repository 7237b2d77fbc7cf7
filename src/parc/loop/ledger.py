"""What was done, from what, and what came of it: the loop's memory between one start and the next.

Every stage is written down under its name with the hashes of its inputs and, once it is finished, the hashes of its outputs:

    DIR/ledger.json   {"schema": 1, "stages": {"iteration-01/tracker": {
                         "inputs": {"settings": "3f..", "dataset": "91..", "synthesis": "c2..", "before": "-"},
                         "began": 1763212345.6, "spent": 12.5, "seconds": 131.9, "result": {"success": 0.4},
                         "outputs": {"iteration-01/tracker/actor.safetensors": {"sha256": "..", "bytes": 91, "mtime_ns": 17..}}}}}

A stage is skipped if its present inputs equal the recorded ones and its outputs are there. It is *continued* in its folder if it
was begun from these inputs and not finished, and done over in an empty folder if it was begun from others. An output's hash is
an input of the stages that read it, so a change runs through exactly what depends on it and stops where a stage gives the same
result as before.

The file is replaced whole at every change; a kill leaves the old one or the new one.
"""

import contextlib
import hashlib
import json
import math
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, is_dataclass
from pathlib import Path
from typing import Any

from parc.dataset.store import INDEX, Dataset, Index
from parc.errors import DatasetError, ParcError
from parc.run.atomic import write_bytes_atomically
from parc.run.file_lock import FolderLock, ForeignLockError, LockHeldError, lock_holder

LEDGER = "ledger.json"
LOCK = "lock"
SCHEMA = 1
NOTHING = "-"
"""hash of an input that is not there"""


class LoopError(ParcError):
    """A run that cannot go on, with what to do about it."""


@dataclass(frozen=True)
class FileMark:
    sha256: str
    bytes: int
    mtime_ns: int


@dataclass(frozen=True)
class StageEntry:
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

    @property
    def is_done(self) -> bool:
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


class Ledger:
    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        self.stages: dict[str, StageEntry] = {}
        file = self.folder / LEDGER
        if file.exists():
            self.stages = _read(file)

    def is_current(self, stage: Stage) -> bool:
        entry = self.stages.get(stage.name)
        return (
            entry is not None
            and entry.is_done
            and entry.inputs == stage.inputs
            and all((self.folder / file).is_file() for file in entry.outputs)
        )

    def changed_inputs(self, stage: Stage) -> list[str]:
        """Inputs that differ from those the stage was begun with; none for a stage never begun."""
        entry = self.stages.get(stage.name)
        return [] if entry is None else sorted(k for k in stage.inputs if entry.inputs.get(k) != stage.inputs[k])

    def run(self, stage: Stage) -> StageEntry:
        """Skip, continue or do a stage; returns its entry."""
        if self.is_current(stage):
            return self.stages[stage.name]
        folder, spent = self.folder / stage.name, 0.0
        entry = self.stages.get(stage.name)
        if entry is not None and entry.inputs == stage.inputs:
            spent = entry.spent + time_spent(folder, entry.began)
        else:
            shutil.rmtree(folder, ignore_errors=True)
        began = time.time()
        self._write(stage.name, StageEntry(stage.inputs, began, spent))
        folder.mkdir(parents=True, exist_ok=True)
        result = _finite(stage.work(folder))
        outputs = {str(file.relative_to(self.folder)): _mark(file) for file in stage.outputs(folder)}
        done = StageEntry(stage.inputs, began, spent, spent + time.time() - began, outputs, result)
        self._write(stage.name, done)
        return done

    def hash_of(self, file: Path) -> str:
        """Of an output, as recorded, unless the file was touched since; of any other file by reading it."""
        if not file.is_file():
            return NOTHING
        name = str(file.relative_to(self.folder)) if file.is_relative_to(self.folder) else ""
        known = next((e.outputs[name] for e in self.stages.values() if name in e.outputs), None)
        status = file.stat()
        if known is not None and (known.bytes, known.mtime_ns) == (status.st_size, status.st_mtime_ns):
            return known.sha256
        return hash_file(file)

    def hash_of_dataset(self, folder: Path) -> str:
        """Index and shards; equal clips in equal order have equal hashes."""
        return hash_text("\n".join(self.hash_of(file) for file in dataset_files(folder)))

    def _write(self, name: str, entry: StageEntry) -> None:
        stages = self.stages | {name: entry}
        values = {"schema": SCHEMA, "stages": {key: asdict(value) for key, value in stages.items()}}
        write_bytes_atomically(self.folder / LEDGER, json.dumps(values, indent=1).encode())
        self.stages = stages


def dataset_files(folder: Path) -> list[Path]:
    return [folder / INDEX, *(folder / shard.file for shard in Index.read(folder).shards)]


def clear_damaged(folder: Path, dataset: Path) -> None:
    """Empty a stage's folder if the data set in it was begun and can no longer be read, so that it is made again."""
    if not folder.exists() or not any(folder.iterdir()):
        return
    try:
        Dataset.open(dataset)
    except DatasetError:
        shutil.rmtree(folder)
        folder.mkdir()


def hash_file(file: Path) -> str:
    with file.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def hash_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def hash_settings(*settings: Any) -> str:
    """Of dataclasses and plain values; the class counts, because two kinds of settings may have equal fields."""
    return hash_text(json.dumps([_described(s) for s in settings], sort_keys=True))


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


def _described(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        names = value.__dataclass_fields__
        return [type(value).__name__, {name: _described(getattr(value, name)) for name in names}]
    if isinstance(value, list | tuple):
        return [_described(v) for v in value]
    return value


def _finite(value: Any) -> Any:
    """JSON has no NaN or infinity: null instead."""
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _mark(file: Path) -> FileMark:
    status = file.stat()
    return FileMark(hash_file(file), status.st_size, status.st_mtime_ns)


def time_spent(folder: Path, began: float) -> float:
    """Of a session that was cut: until it last wrote a file."""
    newest = max((f.stat().st_mtime for f in folder.rglob("*") if f.is_file()), default=began)
    return max(0.0, newest - began)


def _read(file: Path) -> dict[str, StageEntry]:
    try:
        values = json.loads(file.read_bytes())
        if values["schema"] != SCHEMA:
            raise LoopError(f"{file} has schema {values['schema']!r}, this program reads {SCHEMA}")
        return {
            name: StageEntry(**(entry | {"outputs": {k: FileMark(**v) for k, v in entry["outputs"].items()}}))
            for name, entry in values["stages"].items()
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise LoopError(f"{file} is damaged ({error!r}); move it away to do all stages over") from None
