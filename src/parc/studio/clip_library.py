"""The clips that can be opened: data sets', one of a data set as FOLDER/NAME, and files. Read when opened, not before.

Shared by all pages, and only read: what a page changes is its own copy.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.dataset.convert.clip_files import READABLE, data_set_above, load_clip
from parc.dataset.dataset_store import INDEX, Dataset
from parc.dataset.folder_import import skill_of
from parc.errors import DatasetError
from parc.studio.clip_thumbnails import Thumbnails
from parc.studio.document import sendable


@dataclass(frozen=True)
class Listed:
    """A line of the list."""

    name: str
    skill: str
    seconds: float | None
    """None where the file has not been read yet"""
    source: Path

    @property
    def line(self) -> str:
        skill = "" if self.skill in self.name else self.skill
        parts = [self.name, skill, "" if self.seconds is None else f"{self.seconds:.1f} s"]
        return sendable(" · ".join(part for part in parts if part))


class Library:
    """Clips that can be opened, by name; they are read when they are asked for."""

    def __init__(self, character: Character, files: Sequence[Path | str] = (), dataset: Path | str | None = None) -> None:
        self.character = character
        self._lock = threading.Lock()
        self._listed: dict[str, Listed] = {}
        self._sets: dict[Path, Dataset] = {}
        self.thumbnails = Thumbnails(self)
        for source in [*([dataset] if dataset is not None else []), *files]:
            self.add(Path(source))
        self.named = tuple(name for source in files if not Path(source).is_dir() for name in self.add(Path(source)))
        """the clips that were named one by one, not as part of a folder or data set"""

    def add(self, source: Path) -> list[str]:
        """A data set, one of its clips as FOLDER/NAME, a folder of motion files or one file; the names they got."""
        with self._lock:
            if (source / INDEX).is_file():
                return self._add_set(source)
            if source.is_dir():
                found = sorted(p for p in source.rglob("*") if p.suffix.lower() in READABLE and p.is_file())
                if not found:
                    raise DatasetError(f"{source} holds neither a data set nor files ending in {', '.join(READABLE)}")
                return [self._add_file(p, p.relative_to(source).with_suffix("").as_posix()) for p in found]
            if not source.exists() and (folder := data_set_above(source)):
                return [self._add_one_of_set(source, folder)]
            if not source.is_file():
                raise DatasetError(f"there is no clip file, folder or data set '{source}'")
            if source.suffix.lower() not in READABLE:
                raise DatasetError(f"'{source}' is not a clip; expected a file ending in {', '.join(READABLE)}")
            return [self._add_file(source, source.stem)]

    def refresh(self, folder: Path) -> None:
        """Read a data set's list again, after something was written to it."""
        with self._lock:
            for known in [known for known in self._sets if known.resolve() == folder.resolve()]:
                self._listed = {name: item for name, item in self._listed.items() if item.source != known}
                self._add_set(known)

    def __len__(self) -> int:
        return len(self._listed)

    def search(self, text: str = "") -> list[Listed]:
        """Lines whose name or skill holds every word of the text, in any order."""
        words = text.lower().split()
        with self._lock:
            return [c for c in self._listed.values() if all(w in f"{c.name} {c.skill}".lower() for w in words)]

    def load(self, name: str) -> Clip:
        with self._lock:
            item = self._listed.get(name)
            if item is None:
                raise DatasetError(f"there is no clip '{name}' in the list of {len(self._listed)}")
            dataset = self._sets.get(item.source)
        if dataset is not None:
            return dataset[name]
        clip = load_clip(item.source, self.character)
        clip.check_fits(self.character)
        provenance = clip.provenance if clip.provenance.skill else replace(clip.provenance, skill=item.skill)
        return replace(clip, name=name, provenance=provenance)

    def _add_set(self, folder: Path) -> list[str]:
        dataset = Dataset.open(folder, self.character)
        self._sets[folder] = dataset
        fresh = {e.name: Listed(e.name, e.skill, e.seconds, folder) for e in dataset.entries}
        self._listed = fresh | {name: item for name, item in self._listed.items() if name not in fresh}
        return list(fresh)

    def _add_one_of_set(self, path: Path, folder: Path) -> str:
        dataset = Dataset.open(folder, self.character)
        entry = dataset.entries[dataset.number(path.relative_to(folder).as_posix())]
        taken = self._listed.get(entry.name)
        if taken is not None and taken.source == folder:
            return entry.name
        name = entry.name if taken is None or taken.source == path else path.as_posix()
        self._listed[name] = Listed(name, entry.skill, entry.seconds, path)
        return name

    def _add_file(self, path: Path, name: str) -> str:
        if name in self._listed and self._listed[name].source != path:
            name = f"{name}{path.suffix}"
        self._listed[name] = Listed(name, skill_of(name), None, path)
        return name
