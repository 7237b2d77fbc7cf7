"""A folder of motion files into a data set, in one call.

Every readable file under the folder, in sorted order, becomes a clip named by its path below the folder without the extension
("climb/take_3"). A file that cannot be read is reported by name with its sentence and passed over. Run again after a
kill or after adding files, the call imports only what is missing: files whose name the data set already has are not opened.

The skill of a clip is, unless its file says one, the name of the folder it lies in below the imported one; for files directly
in that folder, the file's name up to the first part that holds a digit or names a motion capture collection (a leading
one is passed over, a repeated word is said once):

    climb/take_3.pkl -> climb        gap_jump_cmu_108_15.pkl -> gap_jump        humanoid3d_walk.txt -> walk
"""

import os
import pickle
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.dataset.convert.clip_files import READABLE, load_clip
from parc.dataset.dataset_store import DatasetWriter
from parc.errors import DatasetError, ParcError
from parc.run.file_reading import first_line
from parc.run.on_progress import OnProgress
from parc.run.process_pool import worker_pool

_ORIGINS = frozenset({"cmu", "sfu", "amass", "lafan", "mixamo", "humanoid3d", "sie"})
"""Parts of a name that tell where a take is from, not what it shows."""


@dataclass(frozen=True)
class ImportReport:
    """What became of the files of a folder."""

    imported: list[str]
    """names of the clips written by this call"""
    skipped: list[str]
    """names that were in the data set before"""
    failed: dict[str, str]
    """file, relative to the folder, to the sentence that says what is wrong with it"""

    def __str__(self) -> str:
        lines = [f"{len(self.imported)} clips imported, {len(self.skipped)} already there, {len(self.failed)} files not readable"]
        return "\n".join([*lines, *(f"  {file}: {sentence}" for file, sentence in self.failed.items())])


@dataclass(frozen=True)
class _Job:
    path: Path
    name: str
    skill: str


def import_folder(
    folder: Path | str,
    out: Path | str,
    character: Character,
    workers: int = 0,
    clips_per_shard: int = 256,
    on_progress: OnProgress | None = None,
) -> ImportReport:
    """Import every motion file under `folder` into the data set `out`.

    `workers` processes read files beside this one (0: this one reads). `on_progress` is called after each file.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise DatasetError(f"{folder} is not a folder")
    jobs = list(_jobs(folder, Path(out)))
    if not jobs:
        raise DatasetError(f"{folder} has no files ending in {', '.join(READABLE)}")
    imported: list[str] = []
    failed: dict[str, str] = {}
    with DatasetWriter(out, character) as writer:
        skipped = [job.name for job in jobs if job.name in writer]
        missing = [job for job in jobs if job.name not in writer]
        done = len(skipped)
        results = _read_all(missing, character, workers)
        pairs = zip(missing, results, strict=True)
        while chunk := list(islice(pairs, clips_per_shard)):
            clips = []
            for job, result in chunk:
                if isinstance(result, Clip):
                    clips.append(result)
                else:
                    failed[str(job.path.relative_to(folder))] = result
                done += 1
                if on_progress is not None:
                    on_progress(done, len(jobs))
            imported += writer.append(clips)
    return ImportReport(imported, skipped, failed)


def skill_of(name: str) -> str:
    """Skill from a clip's name, by the rule of the module's docstring; empty if the name says nothing."""
    parent, _, stem = name.rpartition("/")
    if parent:
        return parent.rpartition("/")[2]
    words: list[str] = []
    for word in stem.replace("-", "_").split("_"):
        if word.lower() in _ORIGINS:
            if words:
                break
            continue
        if any(c.isdigit() for c in word):
            break
        if word not in words[-1:]:
            words.append(word)
    return "_".join(words)


def _jobs(folder: Path, out: Path) -> Iterator[_Job]:
    """One job a file; of two files that differ only in the extension the second keeps it in its name."""
    taken: set[str] = set()
    for path in sorted(p for p in folder.rglob("*") if p.suffix.lower() in READABLE and p.is_file()):
        if out.resolve() in path.resolve().parents:
            continue
        relative = path.relative_to(folder)
        name = relative.with_suffix("").as_posix()
        if name in taken:
            name = relative.as_posix()
        taken.add(name)
        yield _Job(path, name, skill_of(relative.with_suffix("").as_posix()))


def _read_all(jobs: list[_Job], character: Character, workers: int) -> Iterator[Clip | str]:
    if workers <= 0 or len(jobs) < 2:
        yield from (_read(job, character) for job in jobs)
        return
    with worker_pool(min(workers, os.cpu_count() or 1)) as pool:
        results = pool.map(_read_packed, jobs, [character] * len(jobs), chunksize=max(1, min(64, len(jobs) // (4 * workers))))
        yield from (pickle.loads(result) for result in results)


def _read_packed(job: _Job, character: Character) -> bytes:
    """As bytes: torch would send each tensor through a file descriptor, and thousands of clips run out of them."""
    return pickle.dumps(_read(job, character))


def _read(job: _Job, character: Character) -> Clip | str:
    try:
        clip = load_clip(job.path, character)
    except ParcError as error:
        return str(error)
    except Exception as error:  # nothing in one file may end the import of the others
        return f"{job.path.name} cannot be read ({type(error).__name__}: {first_line(error)})"
    provenance = clip.provenance if clip.provenance.skill else replace(clip.provenance, skill=job.skill)
    return replace(clip, name=job.name, provenance=provenance)
