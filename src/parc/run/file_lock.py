"""A lock on a folder that the system releases when the process ends, however it ends: `fcntl`, or `msvcrt` where there is none.

The lock is a file whose first line is the id of the process that holds it; a holder may note more below that line. A note is
added to the end of the file, so a process that is killed while it writes one leaves those before it whole. What is locked is one
byte far beyond the text, because Windows lets nobody read a byte that is locked.
"""

import os
from pathlib import Path
from typing import IO

from parc.errors import ParcError

try:
    import fcntl
except ModuleNotFoundError:  # Windows
    fcntl = None  # type: ignore[assignment]

_FAR = 2**30
"""the byte that is locked"""
_LONGEST = 2**20
"""bytes of a lock file; a larger one is somebody else's"""


class LockHeldError(ParcError):
    """A folder that another process works in."""

    def __init__(self, holder: str) -> None:
        super().__init__(f"locked by process {holder}")
        self.holder = holder


class ForeignLockError(ParcError):
    """A file of the lock's name that is no lock."""


class FolderLock:
    """Held from the moment it is made until `close`.

    `found` is what earlier holders noted, if they did not close the lock: a line for each note, the newest last. The last line
    may be cut, and process ids stand between the lines of different holders.
    """

    def __init__(self, path: Path) -> None:
        _check_is_lock(path)
        self._file: IO[bytes] = open(path, "a+b")  # noqa: SIM115
        if not _try_lock(self._file):
            holder = _holder(_text(self._file))
            self._file.close()
            raise LockHeldError(holder)
        held = _text(self._file)
        self.found = held.partition("\n")[2].splitlines()
        if self.found:
            self._add(str(os.getpid()))
        else:
            self._replace(str(os.getpid()))

    def note(self, text: str) -> None:
        """Add a line to what is noted, and flush it to the disk."""
        self._add(text)
        os.fsync(self._file.fileno())

    def note_alone(self, text: str) -> None:
        """Put a line in place of all that is noted. A kill in between loses both: only where no note is needed any more."""
        self._replace(f"{os.getpid()}\n{text}")
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Nothing is noted any more: the work is whole."""
        if not self._file.closed:
            self._replace("")
            self._file.close()

    def release(self) -> None:
        """Without a word: what is noted stays for the next holder."""
        self._file.close()

    def _add(self, line: str) -> None:
        self._file.write(f"\n{line}".encode())
        self._file.flush()

    def _replace(self, text: str) -> None:
        self._file.truncate(0)
        self._file.write(text.encode())
        self._file.flush()


def lock_holder(path: Path) -> str | None:
    """Id of the process that holds a lock, if one does."""
    try:
        with open(path, "r+b") as file:
            return None if _try_lock(file) else _holder(_text(file))
    except OSError:
        return None


def _check_is_lock(path: Path) -> None:
    """A lock of ours is empty or begins with a number; anything else is left alone, and a link leads out of the folder."""
    if not os.path.lexists(path):
        return
    if path.is_symlink() or not path.is_file() or path.stat().st_size > _LONGEST:
        raise ForeignLockError(f"'{path}' is not a lock of this program; choose another folder, or move it away")
    first = path.read_bytes().partition(b"\n")[0].strip()
    if first and not first.isdigit():
        raise ForeignLockError(f"'{path}' is not a lock of this program; choose another folder, or move it away")


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(_LONGEST).decode(errors="replace").strip()


def _holder(text: str) -> str:
    """The last line that is a process id."""
    return next((line for line in reversed(text.splitlines()) if line.isdigit()), "unknown")


def _try_lock(file: IO[bytes]) -> bool:
    try:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            import msvcrt

            file.seek(_FAR)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined, unused-ignore]
    except OSError:
        return False
    return True
