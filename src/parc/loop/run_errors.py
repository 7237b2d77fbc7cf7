"""What stops a run from outside, as one sentence: the disk and the GPU."""

import errno
from pathlib import Path

import torch

from parc.loop.ledger import LoopError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NOT_WRITABLE = (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EEXIST, errno.EISDIR)


def disk_sentence(error: OSError, folder: Path) -> LoopError:
    """A disk that is full, or a folder that cannot be written."""
    if error.errno in _FULL:
        return LoopError(
            f"the disk of {folder} is full; nothing finished is lost: free some space and give the same command again"
        )
    if folder.is_file():
        return LoopError(f"{folder} cannot be written to: it is a file, expected a folder for the run")
    what = "cannot be written to" if error.errno in _NOT_WRITABLE else "was left"
    where = f" '{error.filename}'" if error.filename else ""
    return LoopError(f"{folder} {what}:{where} {error.strerror or error}; nothing finished is lost, and the same command goes on")


def gpu_sentence(error: RuntimeError, folder: Path) -> LoopError:
    """A GPU that was lost or has no memory left; this process can no longer use it, a new one may."""
    what = "has too little memory" if isinstance(error, torch.OutOfMemoryError) else "was lost"
    first = str(error).strip().partition("\n")[0].rstrip(".")
    return LoopError(f"the GPU {what} ({first}); nothing finished in {folder} is lost, and the same command goes on")
