"""A run as one small file, to go on with on another machine (`parc loop pack`, `parc loop unpack`).

What goes along is what is still read: settings and ledger; D_0, the newest data set and models; everything of iterations that are
not finished; of those that are, the numbers. All else stays behind and is marked in the ledger as away. A run that is unpacked
goes on as it would have here, to the byte where its budgets are in steps.

`half` makes it several times smaller, and not the same run any more: generators go along in float16, optimiser states and
trainings that are not finished stay behind, so the next trainings begin as from trained models, and one that was cut
begins again.

Generated code (RUN/cache) goes along only where it is asked for, on both sides: it is run, so it must come from people you trust.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from parc.dataset.dataset_store import INDEX
from parc.generate.training.generator_training import GENERATOR_FILE
from parc.loop.initial_dataset import is_dataset
from parc.loop.ledger import (
    LEDGER,
    RUN,
    FileMark,
    Ledger,
    LoopError,
    StageEntry,
    dataset_files,
    ledger_bytes,
    locked,
    mark_of,
)
from parc.loop.machines import CACHE
from parc.loop.pack.pack_format import PackReader, cut_pack, write_pack
from parc.loop.run_outline import stages_of
from parc.loop.run_progress import read_run
from parc.models import FOLDER as BOX
from parc.run.atomic_files import write_bytes_atomically
from parc.run.checkpoint import checkpoint_bytes, load_checkpoint
from parc.run.hashing import hash_bytes
from parc.track.learn.tracker_training import CHECKPOINT

SOURCES = "sources"
"""folder of an unpacked run with what it was begun from"""
_MARK = ".unpacking"
_TRAININGS = ("generator", "tracker", "reflex")
_MODELS = (*_TRAININGS, "dataset")
_NOTES = (".json", ".jsonl", ".md")


@dataclass(frozen=True)
class Pack:
    """What was packed."""

    files: list[Path]
    bytes: int
    """of all of them"""
    packed: int
    """files of the run in it"""
    away: int
    """outputs that stay behind"""
    largest: dict[str, int]
    """bytes before compression, by folder"""


def pack_run(folder: Path, out: Path, half: bool = False, caches: bool = False, part: int = 0) -> Pack:
    """Write a run that nobody works on as one file, or in parts of `part` bytes."""
    with locked(folder):
        run, ledger = read_run(folder), Ledger(folder)
        chosen = set(_chosen(folder, run["settings"], ledger, half, caches))
        contents: dict[str, Callable[[], bytes]] = {}
        stages = dict(ledger.stages)
        for name, entry in stages.items():
            marks = {file: _mark(folder, file, mark, file in chosen, half) for file, mark in entry.outputs.items()}
            stages[name] = replace(entry, outputs=marks)
        contents[LEDGER] = partial(bytes, ledger_bytes(stages))
        sources, copies = _sources(run["sources"])
        contents[RUN] = partial(bytes, json.dumps(run | {"sources": sources}, indent=1).encode())
        contents |= {name: file.read_bytes for name, file in sorted(copies.items())}
        for name in sorted(chosen):
            rounds = half and name.endswith(f"/{GENERATOR_FILE}")
            contents[name] = partial(_in_half, folder / name) if rounds else (folder / name).read_bytes
        size = write_pack(out, contents, {"rounded": half})
        sizes: dict[str, int] = {}
        for name, content in contents.items():
            place = "/".join(Path(name).parts[:-1]) or "."
            sizes[place] = sizes.get(place, 0) + len(content())
        files = cut_pack(out, part) if part and size > part else [out]
        away = sum(mark.is_away for entry in stages.values() for mark in entry.outputs.values())
        return Pack(files, size, len(contents), away, dict(sorted(sizes.items(), key=lambda item: -item[1])[:6]))


def unpack_run(file: Path, folder: Path, caches: bool = False) -> int:
    """Make a run of a pack in a folder that is not there, or is empty; returns the number of its files."""
    folder = folder.absolute()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise LoopError(f"{folder} is there and not empty; a run is unpacked into a folder of its own")
    beside = folder.with_name(f"{folder.name}{_MARK}")
    _remove_own(beside)
    beside.mkdir(parents=True)
    (beside / _MARK).touch()
    pack = PackReader(file)
    try:
        for name, data in pack.contents():
            if caches or Path(name).parts[0] != CACHE:
                write_bytes_atomically(beside / name, data)
        run, ledger = read_run(beside), Ledger(beside)
    except BaseException:
        _remove_own(beside)
        raise
    finally:
        pack.close()
    places = {kind: place and str(_place(place, folder)) for kind, place in run["sources"].items()}
    write_bytes_atomically(beside / RUN, json.dumps(run | {"sources": places}, indent=1).encode())
    stages = {name: replace(entry, outputs=_as_they_lie(beside, entry)) for name, entry in ledger.stages.items()}
    write_bytes_atomically(beside / LEDGER, ledger_bytes(stages))
    (beside / _MARK).unlink()
    if folder.exists():
        folder.rmdir()
    beside.rename(folder)
    return len(pack.files)


def _chosen(folder: Path, settings: dict[str, Any], ledger: Ledger, half: bool, caches: bool) -> Iterator[str]:
    """Files that go along, by their paths below the folder."""
    last = _last_closed(settings, ledger)
    varied = bool(settings.get("variations"))
    for name, entry in ledger.stages.items():
        iteration, _, kind = name.partition("/")
        i = int(iteration.removeprefix("iteration-")) if kind else 0
        yield from (_below(folder, file) for file in (folder / name).glob("*") if file.suffix in _NOTES and file.is_file())
        yield from (_below(folder, file) for file in (folder / name).glob(f"*/{INDEX}"))
        if not entry.is_done:
            if not (half and kind in _TRAININGS):
                yield from _all_below(folder, folder / name)
        elif not kind or i > last or (i == last and kind in _MODELS) or (i == 0 and kind == "dataset" and varied):
            yield from (file for file in entry.outputs if not (half and Path(file).name == CHECKPOINT))
    if caches:
        yield from _all_below(folder, folder / CACHE)


def _last_closed(settings: dict[str, Any], ledger: Ledger) -> int:
    """The last iteration all of whose stages, and those before, are done; -1: none."""
    parts = (bool(settings.get(part)) for part in ("variations", "closed_loop", "evaluation"))
    varied, closed, measured = parts
    wanted = stages_of(settings["iterations"], settings["physics_correction"], varied, closed, measured)
    last = -1
    for i in sorted({i for i, _ in wanted}):
        entries = [ledger.stages.get(f"iteration-{i:02d}/{stage}") for k, stage in wanted if k == i]
        if not all(entry is not None and entry.is_done for entry in entries):
            break
        last = i
    return last


def _mark(folder: Path, file: str, mark: FileMark, goes: bool, half: bool) -> FileMark:
    if not goes or not (folder / file).is_file():
        return replace(mark, is_away=True)
    if half and file.endswith(f"/{GENERATOR_FILE}"):
        return replace(mark, rounded=hash_bytes(_in_half(folder / file)), is_away=False)
    return mark


def _in_half(file: Path) -> bytes:
    """A model's file with its weights in float16; the same bytes each time."""
    tensors, meta = load_checkpoint(file)
    tensors = {name: value.half() if name.startswith("network.") else value for name, value in tensors.items()}
    return checkpoint_bytes(tensors, meta)


def _sources(given: dict[str, str | None]) -> tuple[dict[str, str | None], dict[str, Path]]:
    """What a run was begun from, as places in the pack or in the box, and the files to be copied."""
    places: dict[str, str | None] = {}
    copies: dict[str, Path] = {}
    for kind, told in given.items():
        source = Path(told) if told else None
        if source is None or not source.exists():
            places[kind] = told
        elif source.resolve().is_relative_to(BOX.resolve()):
            places[kind] = f"box:{source.resolve().relative_to(BOX.resolve()).as_posix()}"
        else:
            places[kind] = f"run:{SOURCES}/{kind}" + ("" if source.is_dir() else f"/{source.name}")
            files = dataset_files(source) if is_dataset(source) else _files_of(source)
            above = source if source.is_dir() else source.parent
            copies |= {f"{SOURCES}/{kind}/{file.relative_to(above).as_posix()}": file for file in files}
    return places, copies


def _files_of(source: Path) -> list[Path]:
    """A model with its critic beside it, or a folder of motion files."""
    if source.is_dir():
        return [file for file in source.rglob("*") if file.is_file()]
    critic = source.with_name("critic.safetensors")
    return [source, *([critic] if critic.is_file() else [])]


def _place(told: str, folder: Path) -> Path:
    kind, _, place = told.partition(":")
    if ".." in Path(place).parts:
        raise LoopError(f"the pack names {told[:60]} as what its run was begun from, which is outside of it")
    return BOX / place if kind == "box" else folder / place if kind == "run" else Path(told)


def _as_they_lie(folder: Path, entry: StageEntry) -> dict[str, FileMark]:
    """Marks with size and time of the files that were written, so that they need not be read on every call."""
    marks = {}
    for name, mark in entry.outputs.items():
        file = folder / name
        if file.is_file():
            here = mark_of(file)
            mark = replace(mark, bytes=here.bytes, mtime_ns=here.mtime_ns)
        marks[name] = mark
    return marks


def _all_below(folder: Path, place: Path) -> Iterator[str]:
    yield from (_below(folder, file) for file in place.rglob("*") if file.is_file())


def _below(folder: Path, file: Path) -> str:
    return file.relative_to(folder).as_posix()


def _remove_own(beside: Path) -> None:
    """What an unpacking that was cut has left."""
    if not beside.exists():
        return
    if not (beside / _MARK).is_file():
        raise LoopError(f"{beside} is there, and not what an unpacking has left; move it away")
    shutil.rmtree(beside)
