"""index.json of a data set: which shards count, how large they are and what they hold, checked against itself when read.

    {"schema": 2, "character": NAME, "fingerprint": HASH, "next_shard": 3,
     "shards": [{"file": "shard-000001.safetensors", "clips": 64, "frames": 9120, "bytes": 5123412, "sha256": ".."}, ...],
     "sha256": hash of all of the above}

Schema 1 had no sizes and no hashes; such sets are read, and get both when something is written to them.
"""

import json
import re
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from parc.errors import DatasetError, FormatError
from parc.run.atomic_files import write_bytes_atomically
from parc.run.dataclass_json import from_json
from parc.run.file_reading import read_json
from parc.run.hashing import hash_bytes, hash_file, hash_json

INDEX = "index.json"
SCHEMA = 2
_READS = (1, SCHEMA)
_SHARD = re.compile(r"shard-(\d{6,9})\.safetensors")


@dataclass(frozen=True)
class ShardEntry:
    """What the index says of a shard."""

    file: str
    clips: int
    frames: int
    bytes: int = 0
    """size of the file; 0 is not known"""
    sha256: str = ""
    """of the file; empty is not known"""

    def __post_init__(self) -> None:
        if shard_number(self.file) is None:
            raise DatasetError(f"a shard is called {self.file[:60]!r}, expected shard-NNNNNN.safetensors")
        for name, least in (("clips", 1), ("frames", 1), ("bytes", 0)):
            if (value := getattr(self, name)) < least:
                raise DatasetError(f"{self.file}: {name} is {str(value)[:20]}, expected a whole number of at least {least}")


@dataclass(frozen=True)
class Index:
    """The content of index.json; refuses what it does not know."""

    character: str
    fingerprint: str
    shards: tuple[ShardEntry, ...] = ()
    next_shard: int = 1
    schema: int = SCHEMA

    def __post_init__(self) -> None:
        numbers = [shard_number(shard.file) or 0 for shard in self.shards]
        if len(set(numbers)) != len(numbers):
            raise DatasetError("it names a shard twice")
        if not max(numbers, default=0) < self.next_shard < 10**9:
            raise DatasetError(f"next_shard is {str(self.next_shard)[:20]}, expected more than {max(numbers, default=0)}")

    @classmethod
    def read(cls, folder: Path) -> "Index":
        """The index of a data set's folder, checked."""
        path = folder / INDEX
        if not path.exists():
            raise DatasetError(f"{folder} is not a data set: it is not a folder with an {INDEX}")
        try:
            values = read_json(path)
        except FormatError as error:
            if not path.exists():
                raise DatasetError(f"{folder} is not a data set: it is not a folder with an {INDEX}") from None
            raise DatasetError(f"{path} cannot be read ({error})") from None
        if not isinstance(values, dict) or values.get("schema") not in _READS:
            found = values.get("schema") if isinstance(values, dict) else type(values).__name__
            raise DatasetError(f"{path} has schema {str(found)[:20]}, this program reads {' and '.join(map(str, _READS))}")
        written = values.pop("sha256", None)
        is_whole = values["schema"] == 1 or written == hash_json(values)
        try:
            index = from_json(cls, values | {"schema": SCHEMA}, DatasetError)
        except DatasetError as error:
            raise DatasetError(f"{path} is damaged: {error}") from None
        if not is_whole:
            raise DatasetError(f"{path} was changed or is damaged: its content does not have the hash that it names")
        return index

    def write(self, folder: Path) -> None:
        """Put it into the folder in one step."""
        values = asdict(self) | {"shards": [asdict(_with_hash(folder, shard)) for shard in self.shards]}
        write_bytes_atomically(folder / INDEX, json.dumps(values | {"sha256": hash_json(values)}, indent=1).encode())


def shard_entry(file: str, data: bytes, clips: int, frames: int) -> ShardEntry:
    """Of a shard with this content."""
    return ShardEntry(file, clips, frames, len(data), hash_bytes(data))


def shard_file(number: int) -> str:
    """What shard number so-and-so is called."""
    return f"shard-{number:06d}.safetensors"


def shard_number(file: str) -> int | None:
    """Of a file that is called as a shard is; None for every other name."""
    found = _SHARD.fullmatch(file) if file.isascii() else None
    return int(found[1]) if found else None


def shards_in(folder: Path) -> dict[int, Path]:
    """Files in a folder that are called as shards are, named by the index or not."""
    return {number: path for path in folder.iterdir() if (number := shard_number(path.name)) is not None}


def _with_hash(folder: Path, shard: ShardEntry) -> ShardEntry:
    """A shard of a set that was written before there were hashes gets its own."""
    if shard.sha256:
        return shard
    return replace(shard, bytes=(folder / shard.file).stat().st_size, sha256=hash_file(folder / shard.file))
