"""Many files as one, small: what `parc loop pack` writes and `parc loop unpack` reads.

    magic, length of the manifest (8 bytes, big-endian), manifest (JSON), the files' contents one after the other as one xz stream

    manifest   {"schema": 1, "rounded": false, "sources": {..}, "files": {"iteration-01/..": {"bytes": 91, "sha256": ".."}}}

One stream, whose window holds all of it: the clips of D_0 are in D_4 again and cost nothing there. A pack may lie in parts,
FILE.001, FILE.002, .., which are its bytes cut at a size.
"""

import json
import lzma
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from parc.errors import FormatError
from parc.loop.ledger import LoopError, check_place
from parc.run.atomic_files import write_bytes_atomically
from parc.run.file_reading import MOST_TEXT, parse_json, reading
from parc.run.hashing import hash_bytes

_MAGIC = b"parc run, packed\n"
SCHEMA = 1
_PIECE = 2**20
_WINDOW = 2**28
"""bytes that the compression looks back at most"""
_MOST = 2**36
"""bytes of one file"""


@dataclass(frozen=True)
class PackedFile:
    """A file of a pack."""

    bytes: int
    sha256: str


def write_pack(out: Path, contents: Mapping[str, Callable[[], bytes]], facts: Mapping[str, Any]) -> int:
    """Write a pack whole or not at all; `contents` give each file's bytes, twice the same. Returns its size in bytes."""
    files: dict[str, dict[str, Any]] = {}
    for name, content in contents.items():
        data = content()
        files[name] = {"bytes": len(data), "sha256": hash_bytes(data)}
    manifest = json.dumps({"schema": SCHEMA, **facts, "files": files}).encode()
    window = min(_WINDOW, max(2**16, sum(file["bytes"] for file in files.values())))
    squeeze = lzma.LZMACompressor(filters=[{"id": lzma.FILTER_LZMA2, "preset": 1, "dict_size": window}])
    packed = bytearray(_MAGIC + len(manifest).to_bytes(8, "big") + manifest)
    for name, content in contents.items():
        data = content()
        if hash_bytes(data) != files[name]["sha256"]:
            raise LoopError(f"{name} was changed while it was packed; pack again when nothing works on the run")
        packed += squeeze.compress(data)
    packed += squeeze.flush()
    write_bytes_atomically(out, bytes(packed))
    return len(packed)


def cut_pack(file: Path, most: int) -> list[Path]:
    """A pack in parts of at most so many bytes, in its place."""
    data = file.read_bytes()
    parts = [file.with_name(f"{file.name}.{k // most + 1:03d}") for k in range(0, len(data), most)]
    for k, part in enumerate(parts):
        write_bytes_atomically(part, data[k * most : (k + 1) * most])
    file.unlink()
    return parts


def parts_of(file: Path) -> list[Path]:
    """The parts of a pack in order; the pack itself if it is whole."""
    if file.suffix == ".001" and file.is_file():
        file = file.with_suffix("")
    if file.is_file():
        return [file]
    found = sorted(file.parent.glob(f"{file.name}.[0-9][0-9][0-9]"))
    if not found:
        raise FormatError(f"there is no pack {file}, and no {file.name}.001")
    for k, part in enumerate(found, 1):
        if int(part.suffix[1:]) != k:
            raise FormatError(f"the pack {file} lies in parts, and {file.name}.{k:03d} is missing")
    return found


class PackReader:
    """A pack that is open: what it holds, then its files in order, each compared with its hash."""

    def __init__(self, file: Path) -> None:
        self.name = str(file)
        self._stream: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        for part in parts_of(file):
            with open(part, "rb") as handle:
                shutil.copyfileobj(handle, self._stream, _PIECE)
        self._stream.seek(0)
        self.facts, self.files = self._manifest()

    def _manifest(self) -> tuple[dict[str, Any], dict[str, PackedFile]]:
        with reading(self.name, "pack"):
            if self._stream.read(len(_MAGIC)) != _MAGIC:
                raise FormatError(f"{self.name} is no pack of `parc loop pack`")
            length = int.from_bytes(self._stream.read(8), "big")
            if length > MOST_TEXT:
                raise FormatError(f"{self.name} is damaged: its list of files is too long")
            facts = parse_json(self._stream.read(length), f"the list of files of {self.name}")
            if facts["schema"] != SCHEMA:
                raise FormatError(f"{self.name} has schema {facts['schema']!r}, this program reads {SCHEMA}")
            files = {}
            for name, told in facts["files"].items():
                check_place(name)
                size, known = told["bytes"], told["sha256"]
                if type(size) is not int or not 0 <= size <= _MOST or not isinstance(known, str):
                    raise FormatError(f"{self.name} is damaged: {name} has no size or no hash")
                files[name] = PackedFile(size, known)
            return facts, files

    def contents(self) -> Iterator[tuple[str, bytes]]:
        """Every file's name and bytes; a wrong hash, and too few bytes, end it with a sentence."""
        with lzma.LZMAFile(self._stream) as stream:
            for name, file in self.files.items():
                try:
                    data = stream.read(file.bytes)
                except (lzma.LZMAError, EOFError, OSError):
                    data = b""
                if len(data) != file.bytes or hash_bytes(data) != file.sha256:
                    raise FormatError(f"{self.name} is damaged: {name} is not what was packed; copy it again")
                yield name, data

    def close(self) -> None:
        """Give the space back."""
        self._stream.close()
