"""Progress where there is no terminal: a line now and then, so that a log of a long run tells how far it is.

Has what commands use of a progress bar: `total`, `n`, `update`, `set_postfix_str`, `close`, and `with`. Lines come by the clock,
from a thread of their own: also while nothing is reported.
"""

import sys
import threading
import time
from types import TracebackType
from typing import Self

from parc.errors import printable


class ProgressLines:
    """Stands in for a progress bar."""

    def __init__(self, total: int | None, what: str, every: float = 30.0, unit: str = "", first: float = 2.0) -> None:
        """A line after `first` seconds, the next ones ever later up to `every` seconds apart; shorter work says nothing."""
        self.total, self.what, self.unit = total, printable(what), unit and f" {unit}"
        self.n = 0
        self._note = ""
        self._start = time.monotonic()
        self._is_over = threading.Event()
        self._clock = threading.Thread(target=self._tell_by_the_clock, args=(first, every), daemon=True)
        self._clock.start()

    def update(self, n: int = 1) -> None:
        """So much more is done."""
        self.n += n

    def set_postfix_str(self, note: str, refresh: bool = True) -> None:
        """What is told beside the numbers, with the next line."""
        self._note = note

    def line(self) -> str:
        """How far it is."""
        spent, done, total = time.monotonic() - self._start, self.n, self.total
        of = f"{done} of {total}{self.unit} " if total else f"{done}{self.unit} " if done else ""
        left = f", about {spent * (total - done) / done:.0f} s left" if total and 0 < done < total else ""
        note = f", {self._note}" if self._note else ""
        return f"{self.what}: {of}after {spent:.0f} s{left}{note}"

    def close(self) -> None:
        """No more lines."""
        self._is_over.set()
        if threading.current_thread() is not self._clock:
            self._clock.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _tell_by_the_clock(self, wait: float, every: float) -> None:
        while not self._is_over.wait(min(wait, every)):
            print(self.line(), file=sys.stderr, flush=True)
            wait *= 3
