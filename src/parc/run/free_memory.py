"""Memory that was freed goes back to the system. The C library of Linux keeps it, each thread's apart, and so a program that is
used for hours would look as if it grew."""

import ctypes
import gc
from typing import Any

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""names of glibc's malloc.h"""
_LARGE = 2**20
"""bytes; larger blocks are asked of the system one by one"""


def keep_memory_together() -> None:
    """For a program that serves for hours with a thread for each job, before it begins threads: two pools of memory, not one for
    each thread, and large blocks outside of them, which leave when they are freed.

    Left alone, the library raises its limits by itself, and what is free at the end of a pool stays with it for ever.
    """
    library = _c_library()
    for option, value in ((_ARENA_MAX, 2), (_MMAP_THRESHOLD, _LARGE), (_TRIM_THRESHOLD, _LARGE)):
        if hasattr(library, "mallopt"):
            library.mallopt(option, value)


def give_back_memory() -> None:
    """Takes a fraction of a second; on systems whose library does it by itself, nothing happens."""
    gc.collect()
    library = _c_library()
    if hasattr(library, "malloc_trim"):
        library.malloc_trim(0)


def _c_library() -> Any:
    try:
        return ctypes.CDLL(None)
    except (OSError, TypeError):
        return None
