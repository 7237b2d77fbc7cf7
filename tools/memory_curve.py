"""Memory of a process over hours."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

FLAT = 64
"""MB by which memory may grow"""


def memory() -> int:
    """Bytes of this process that are in memory now, or its peak where the system does not say."""
    pages = Path("/proc/self/statm")
    if pages.exists():
        return int(pages.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


class MemoryCurve:
    """Memory over a soak, a sample for each hundredth of it."""

    def __init__(self, look: Callable[[], int] = memory) -> None:
        self._look = look
        self._samples: dict[int, float] = {}

    def note(self, share: float) -> None:
        """`share` of the soak is done."""
        place = min(int(100 * share), 100)
        if place not in self._samples:
            self._samples[place] = self._look() / 2**20

    def told(self) -> dict[str, Any]:
        """Growth from the second fifth to the last, MB; 20 samples of the curve."""
        values = list(self._samples.values())
        if not values:
            return {}
        fifth = max(len(values) // 5, 1)
        grown = float(np.median(values[-fifth:]) - np.median(values[fifth : 2 * fifth] or values[-1:]))
        curve = [round(values[round(k)]) for k in np.linspace(0, len(values) - 1, 21)]
        return {"memory_mb": curve, "grown_mb": round(grown, 1), "peak_mb": round(max(values))}
