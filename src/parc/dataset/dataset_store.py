"""A data set on disk: a folder of shards and an index that says which of them count.

    DATASET/
      index.json               which shards count, see `parc.dataset.index_file`
      shard-000001.safetensors clips, see `parc.dataset.clip_shard`; the entry of each clip (name, frames, fps, skill, provenance,
      shard-000002.safetensors terrain size) is in its header
      lock                     held by the one process that writes, and its journal

Appending writes a new shard, flushes it, and only then replaces the index in one step. A process killed at any moment leaves the
old index or the new one, so what `append` returned from is never lost, and a reader always finds a complete set; shards the index
does not name are passed over. The index never names a number twice, so a reader with an older index cannot mistake one shard for
another.

A writer deletes only what is proven to be the data set's own: before it writes, it notes in the lock from which number on its
shards are new, and before it drops shards from the index it notes their names. The next writer deletes what a killed one left of
these, and temporary files of this program meant to become an index or a shard. All else that lies in the folder stays, and no
file that is there is written over.
"""

import json
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from pathlib import Path
from types import TracebackType

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.dataset.clip_entry import ClipEntry
from parc.dataset.clip_shard import Shard, pack
from parc.dataset.index_file import INDEX, Index, ShardEntry, shard_entry, shard_file, shard_number, shards_in
from parc.errors import DatasetError
from parc.run.atomic_files import target_of, write_bytes_atomically
from parc.run.file_lock import FolderLock, ForeignLockError, LockHeldError

LOCK = "lock"


class Dataset:
    """Clips on disk, by number or by name, as they were when the data set was opened."""

    def __init__(self, folder: Path, index: Index, shards: list[Shard]) -> None:
        self.folder = folder
        self.index = index
        self._shards = shards
        self._places = [(shard, i) for shard in shards for i in range(len(shard))]
        self.entries: list[ClipEntry] = [entry for shard in shards for entry in shard.entries]
        self._by_name = {entry.name: i for i, entry in enumerate(self.entries)}
        if len(self._by_name) != len(self.entries):
            raise DatasetError(f"{folder} holds two clips of one name")

    @classmethod
    def open(cls, folder: Path | str, character: Character | None = None) -> "Dataset":
        """With `character`, refuse a data set made for another one."""
        folder = Path(folder)
        index = Index.read(folder)
        while True:
            try:
                dataset = cls(folder, index, [_open_shard(folder, entry) for entry in index.shards])
                break
            except FileNotFoundError as error:
                newer = Index.read(folder)
                if newer == index:
                    raise DatasetError(
                        f"{folder}: {INDEX} names a file that is missing ({Path(error.filename or str(error)).name})"
                    ) from None
                index = newer  # compacted between reading the index and opening the shards
        if character is not None:
            dataset.check_fits(character)
        return dataset

    def check_fits(self, character: Character) -> None:
        """An error in one sentence if the data set is for another character."""
        if character.fingerprint != self.index.fingerprint:
            raise DatasetError(f"{self.folder} is for character '{self.index.character}' ({self.index.fingerprint}), "
                               f"not for '{character.name}' ({character.fingerprint})")  # fmt: skip

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Clip]:
        return (clip for shard in self._shards for clip in shard.clips())

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __getitem__(self, key: int | str) -> Clip:
        if isinstance(key, str):
            key = self.number(key)
        if not -len(self) <= key < len(self):
            raise IndexError(f"clip {key} of {len(self)}")
        shard, i = self._places[key]
        return shard.clip(i)

    def number(self, name: str) -> int:
        """Of the clip of a name."""
        if name not in self._by_name:
            raise DatasetError(f"{self.folder} has no clip '{name}' among its {len(self)}{self._near(name)}")
        return self._by_name[name]

    def _near(self, name: str) -> str:
        """What may have been meant, to end a sentence with."""
        inside = [known for known in self.names if name.lower() in known.lower()]
        near = list(dict.fromkeys([*get_close_matches(name, self.names, n=3, cutoff=0.6), *inside]))[:3]
        near = near or (self.names[:3] if len(self) <= 3 else [])
        quoted = " or ".join(f"'{known}'" for known in near)
        return f"; did you mean {quoted}?" if near else f"; `parc dataset show {self.folder}` lists them"

    @property
    def names(self) -> list[str]:
        """Of all clips, in their order."""
        return [entry.name for entry in self.entries]

    @property
    def seconds(self) -> float:
        """Of all motions together."""
        return sum(entry.seconds for entry in self.entries)

    @property
    def frames(self) -> int:
        """Of all motions together."""
        return sum(entry.frames for entry in self.entries)


class DatasetWriter:
    """The one writer of a data set; creates the folder if there is none. Use as a context manager, or call `close`.

        with DatasetWriter(folder, humanoid()) as writer:
            writer.append(clips)
    """  # fmt: skip

    def __init__(self, folder: Path | str, character: Character) -> None:
        self.folder = Path(folder)
        self.character = character
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock: FolderLock | None = _take_lock(self.folder)
        try:
            if not (self.folder / INDEX).exists():
                if shards_in(self.folder):
                    raise DatasetError(
                        f"{self.folder} holds shards of a data set, but no {INDEX}; put it back, or move them away"
                    )
                Index(character.name, character.fingerprint).write(self.folder)
            dataset = Dataset.open(self.folder, character)
            self._index = dataset.index
            self._names = set(dataset.names)
            self._delete_leftovers()
            self._first_new = self._free_number()
            self._note()
        except BaseException:
            self._lock.release()
            raise

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def append(self, clips: Iterable[Clip], rename: bool = False) -> list[str]:
        """Add clips as one shard; on return they are on the disk. Their names as stored.

        A name that is taken is an error, or with `rename` gets the first free suffix _2, _3, ...
        """
        if self._lock is None:
            raise DatasetError(f"the writer of {self.folder} is closed")
        taken: set[str] = set()
        added: list[Clip] = []
        for clip in clips:
            self._check(clip)
            name = self._free_name(clip.name, taken) if rename else clip.name
            if name in self._names or name in taken:
                raise DatasetError(f"{self.folder} already has a clip '{name}'; names must differ")
            taken.add(name)
            added.append(clip if name == clip.name else _renamed(clip, name))
        if added:
            shard = self._write_shard(added)
            self._publish((*self._index.shards, shard))
            self._names |= taken
        return [clip.name for clip in added]

    def remove(self, names: Iterable[str]) -> None:
        """Take clips out; on return they are gone from the disk. Names that are not there are passed over."""
        if self._lock is None:
            raise DatasetError(f"the writer of {self.folder} is closed")
        gone = set(names) & self._names
        if not gone:
            return
        shards = []
        for shard in self._index.shards:
            held = {entry.name for entry in Shard(self.folder / shard.file).entries}
            if not held & gone:
                shards.append(shard)
            elif held - gone:
                shards.append(self._write_shard([clip for clip in self._clips_of([shard]) if clip.name not in gone]))
        self._replace(tuple(shards))
        self._names -= gone

    def compact(self, frames_per_shard: int = 200_000) -> None:
        """Merge neighbouring shards up to about this many frames each; order and content stay."""
        if self._lock is None:
            raise DatasetError(f"the writer of {self.folder} is closed")
        groups: list[list[ShardEntry]] = []
        for shard in self._index.shards:
            if groups and sum(s.frames for s in groups[-1]) + shard.frames <= frames_per_shard:
                groups[-1].append(shard)
            else:
                groups.append([shard])
        merged = [group[0] if len(group) == 1 else self._write_shard(self._clips_of(group)) for group in groups]
        self._replace(tuple(merged))

    def close(self) -> None:
        """Release the lock; the next writer may begin."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def __enter__(self) -> "DatasetWriter":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _check(self, clip: Clip) -> None:
        clip.check_fits(self.character)
        if clip.character not in (self.character.name, self.character.fingerprint):
            raise DatasetError(
                f"clip '{clip.name}' is for character '{clip.character}', {self.folder} is for '{self.character.name}'"
            )

    def _free_name(self, name: str, taken: set[str]) -> str:
        free, suffix = name, 2
        while free in self._names or free in taken:
            free, suffix = f"{name}_{suffix}", suffix + 1
        return free

    def _write_shard(self, clips: list[Clip]) -> ShardEntry:
        data, number = pack(clips), self._free_number()
        write_bytes_atomically(self.folder / shard_file(number), data)
        self._index = Index(self._index.character, self._index.fingerprint, self._index.shards, number + 1)
        return shard_entry(shard_file(number), data, len(clips), sum(len(clip.motion) for clip in clips))

    def _free_number(self) -> int:
        """The index's next one, or above whatever lies there by that name."""
        return max(self._index.next_shard, *(number + 1 for number in shards_in(self.folder)), 1)

    def _publish(self, shards: tuple[ShardEntry, ...]) -> None:
        index = Index(self._index.character, self._index.fingerprint, shards, self._index.next_shard)
        index.write(self.folder)
        self._index = index

    def _replace(self, shards: tuple[ShardEntry, ...]) -> None:
        """Publish other shards and delete those dropped."""
        kept = {shard.file for shard in shards}
        dropped = [shard.file for shard in self._index.shards if shard.file not in kept]
        if shards == self._index.shards:
            return
        self._note(dropped)
        self._publish(shards)
        for file in dropped:
            (self.folder / file).unlink(missing_ok=True)
        self._note()

    def _clips_of(self, group: list[ShardEntry]) -> list[Clip]:
        return [clip for entry in group for clip in Shard(self.folder / entry.file).clips()]

    def _note(self, drops: list[str] | None = None) -> None:
        """In the lock: what the next writer may delete if this one is killed. With nothing to drop, earlier notes are over."""
        if self._lock is not None:
            write = self._lock.note if drops else self._lock.note_alone
            write(json.dumps({"first_new": self._first_new, "drops": drops or []}))

    def _delete_leftovers(self) -> None:
        """What a killed writer left, as far as its journal or its temporary names prove it."""
        named = {shard.file for shard in self._index.shards}
        first_new, drops = _read_journal(self._lock.found if self._lock else [])
        for number, path in shards_in(self.folder).items():
            if path.name not in named and (path.name in drops or (first_new is not None and number >= first_new)):
                path.unlink(missing_ok=True)
        for path in list(self.folder.iterdir()):
            target = target_of(path)
            if target is not None and (target == INDEX or shard_number(target) is not None):
                path.unlink(missing_ok=True)


def _open_shard(folder: Path, entry: ShardEntry) -> Shard:
    """Compared with what the index says of it, as far as that costs nothing."""
    path = folder / entry.file
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        raise
    except OSError as error:
        raise DatasetError(f"{path} cannot be read ({error.strerror})") from None
    if entry.bytes and size != entry.bytes:
        raise DatasetError(f"{path} has {size} bytes, {INDEX} says {entry.bytes}: it is damaged, or not the one that was written")
    shard = Shard(path)
    frames = sum(clip.frames for clip in shard.entries)
    if (len(shard), frames) != (entry.clips, entry.frames):
        raise DatasetError(
            f"{path} holds {len(shard)} clips of {frames} frames, {INDEX} says {entry.clips} of {entry.frames}: one is damaged"
        )
    return shard


def _read_journal(lines: list[str]) -> tuple[int | None, frozenset[str]]:
    """First number of new shards, and shards to drop, of the newest whole note; one that cannot be read proves nothing."""
    for line in reversed(lines):
        try:
            values = json.loads(line)
            return int(values["first_new"]), frozenset(map(str, values["drops"]))
        except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
            continue
    return None, frozenset()


def _take_lock(folder: Path) -> FolderLock:
    try:
        return FolderLock(folder / LOCK)
    except LockHeldError as error:
        raise DatasetError(f"{folder} is being written by process {error.holder}; wait for it or stop it") from None
    except ForeignLockError as error:
        raise DatasetError(str(error)) from None


def _renamed(clip: Clip, name: str) -> Clip:
    return Clip(name, clip.motion, clip.terrain, clip.path, clip.character, clip.provenance)
