"""Does another process hang? Told by the CPU time it uses, not by the clock on the wall: the machine may be busy with others."""

import os
import time
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


class ProcessClock:
    """Looked at again and again, from the moment it is made."""

    def __init__(self, process: int) -> None:
        self._file = Path(f"/proc/{process}/stat")
        self._used, _ = self._look()
        self._seen, self._moved = self._used, time.monotonic()

    def restart(self) -> None:
        """It has given a sign of life."""
        self._used, _ = self._look()
        self._seen, self._moved = self._used, time.monotonic()

    def look(self) -> tuple[float, float]:
        """CPU seconds since the start, and seconds for which it has used none and wanted none."""
        used, wants = self._look()
        if wants or used != self._seen:
            self._seen, self._moved = used, time.monotonic()
        return used - self._used, time.monotonic() - self._moved

    def _look(self) -> tuple[float, bool]:
        """CPU seconds, and whether it runs, could run if there were a free processor, or reads from a disk."""
        try:
            words = self._file.read_text().rpartition(")")[2].split()
        except OSError:  # gone, or a system that does not tell
            return 0.0, False
        return (int(words[11]) + int(words[12])) / _TICKS, words[0] in "RD"
