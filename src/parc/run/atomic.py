"""Files that are either the old one or the new one, whole, whatever kills the process in between.

The bytes go to a temporary file in the same folder and are flushed to the disk; then the name is moved onto it in one step, and
the folder is flushed so that the move survives a power cut.
"""

import errno
import os
import secrets
from pathlib import Path

TEMPORARY_SUFFIX = ".part"
"""How the names of temporary files end; a killed process may leave one behind (`remove_leftovers`)."""


def write_bytes_atomically(path: Path | str, data: bytes) -> None:
    """Write `data` to `path`, making its folder where needed."""
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "it is a folder, a file was expected", str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}{TEMPORARY_SUFFIX}")
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


def remove_leftovers(folder: Path) -> None:
    """Delete what killed writers left below a folder in which nobody else is writing."""
    for file in folder.rglob(f".*{TEMPORARY_SUFFIX}"):
        file.unlink(missing_ok=True)


def _flush_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
