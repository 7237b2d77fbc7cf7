"""One way to resume a job of many items: a note for each item that is finished.

    OUT/units/000012.json      item 000012 is finished, and this is what the job says of it
    OUT/report.jsonl           the notes of all items, a line each, once a job that wants it so has come to its end

A note is written last, after all else that belongs to its item. So whenever a job is stopped, an item is finished or it is done
again, and then gives what it would have given. Notes are found by their keys: the order of items, and who makes them, does not
matter. A damaged note does not count. A key that holds a hash of what the item was made from finds nothing when that is another.
A job whose items all come from the same settings keeps those beside the notes, and refuses others (`parc.run.settings_guard`).

Long computations with one state (trainings) are resumed from their checkpoint instead (`parc.run.checkpoint`).
"""

import json
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Generic, TypeVar

from parc.errors import ParcError
from parc.run.atomic_files import write_bytes_atomically
from parc.run.work_items import Job, Workers

Note = TypeVar("Note")


class ResumableItems(Generic[Note]):
    """Finished items of a job, by key: a name of letters, digits and hyphens."""

    def __init__(
        self, folder: Path, encode: Callable[[Note], Any], decode: Callable[[Any], Note], list_file: Path | None = None
    ) -> None:
        """`encode` makes JSON of a note and `decode` a note of JSON; what it raises says that a note is damaged.

        `list_file`: where `merge` puts the notes.
        """
        self.folder, self._encode, self._decode, self._list_file = folder, encode, decode, list_file
        self._merged: dict[str, Note] = {}
        if list_file is not None and list_file.is_file():
            for line in list_file.read_bytes().splitlines():
                self._read_line(line)

    def get(self, key: str) -> Note | None:
        """The note of a finished item; None where there is none, or a damaged one."""
        file = self._file(key)
        if not file.is_file():
            return self._merged.get(key)
        try:
            return self._decode(json.loads(file.read_bytes()))
        except (ParcError, OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return None

    def __contains__(self, key: str) -> bool:
        return self.get(key) is not None

    def notes(self) -> dict[str, Note]:
        """Of every finished item; those that were merged come first."""
        files = sorted(self.folder.glob("[!.]*.json")) if self.folder.is_dir() else []
        keys = [*self._merged, *(file.stem for file in files if file.stem not in self._merged)]
        return {key: note for key in keys if (note := self.get(key)) is not None}

    def add(self, key: str, note: Note) -> None:
        """An item is finished: all else that belongs to it is on the disk."""
        write_bytes_atomically(self._file(key), json.dumps(self._encode(note)).encode())

    def forget(self, keys: Iterable[str]) -> None:
        """These items are to be done again, or no longer belong to the job."""
        gone = set(keys)
        for key in gone:
            self._file(key).unlink(missing_ok=True)
        if gone & self._merged.keys():
            self._merged = {key: note for key, note in self._merged.items() if key not in gone}
            self._write_list()

    def merge(self) -> None:
        """Put all notes into the list file and remove their own files; nothing is lost whenever this is stopped."""
        self._merged = self.notes()
        self._write_list()
        for file in self.folder.glob("[!.]*.json"):
            file.unlink()
        if self.folder.is_dir() and not any(self.folder.iterdir()):
            self.folder.rmdir()

    def each(
        self,
        keys: Sequence[str],
        job: Job[Any, Any],
        item: Callable[[int], Any],
        finish: Callable[[int, Any], Note],
        workers: Workers,
        begin: Callable[[int], object] = lambda number: None,
    ) -> Generator[tuple[Note, bool], None, None]:
        """The note of every item in order, and whether it is new; `workers` do the missing ones.

        For item n of `keys`, `item(n)` is what the job is given, and `finish(n, result)` stores what belongs to the result and
        gives its note. `begin(n)` is called before an item that is missing.
        """
        known = [self.get(key) for key in keys]
        missing = (item(n) for n, note in enumerate(known) if note is None)
        with closing(workers.map(job, missing)) as results:
            for n, (key, note) in enumerate(zip(keys, known, strict=True)):
                if note is not None:
                    yield note, False
                    continue
                begin(n)
                made = finish(n, next(results))
                self.add(key, made)
                yield made, True

    def _file(self, key: str) -> Path:
        return self.folder / f"{key}.json"

    def _read_line(self, line: bytes) -> None:
        try:
            values = json.loads(line)
            self._merged[values["item"]] = self._decode({name: v for name, v in values.items() if name != "item"})
        except (ParcError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return

    def _write_list(self) -> None:
        assert self._list_file is not None
        lines = [json.dumps({"item": key, **self._encode(note)}) + "\n" for key, note in self._merged.items()]
        write_bytes_atomically(self._list_file, "".join(lines).encode())
