"""Files that are either the old one or the new one, whole, whatever kills the process in between.

The bytes go to a temporary file in the same folder and are flushed to the disk; then the name is moved onto it in one step, and
the folder is flushed so that the move survives a power cut.
"""

import errno
import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path

_TEMPORARY = re.compile(r"\.parc-[0-9a-f]{12}-(.+)\.part", re.DOTALL)
"""Names of temporary files: a mark of this program, random digits, and the name the file is to get."""


def write_bytes_atomically(path: Path | str, data: bytes) -> None:
    """Write `data` to `path`, making its folder where needed."""
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "it is a folder, a file was expected", str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".parc-{secrets.token_hex(6)}-{path.name}.part")
    try:
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from None
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _flush_folder(path.parent)


def target_of(file: Path) -> str | None:
    """The name that a temporary file of this program was to get; None for every other file."""
    found = _TEMPORARY.fullmatch(file.name)
    return found[1] if found else None


def leftovers(folder: Path) -> Iterator[Path]:
    """Temporary files that killed writers of this program left below a folder in which nobody else is writing."""
    return (file for file in folder.rglob(".parc-*.part") if target_of(file) and file.is_file())


def remove_leftovers(folder: Path) -> None:
    """Delete them; other people's files, also hidden ones that end alike, stay."""
    for file in list(leftovers(folder)):
        file.unlink(missing_ok=True)


def _flush_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
