"""Memory that a long action has freed goes back to the system; the C library of Linux keeps it, each thread's apart, and so a
program that is used for hours would look as if it grew."""

import ctypes
import gc


def give_back_memory() -> None:
    """Takes a fraction of a second; on systems whose library does it by itself, nothing happens."""
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (OSError, AttributeError, TypeError):
        return
