"""Progress where there is no terminal: a line now and then, so that a log of a long run tells how far it is.

Has what commands use of a progress bar: `total`, `n`, `update`, `set_postfix_str`, `close`, and `with`.
"""

import sys
import time
from types import TracebackType
from typing import Self

from parc.errors import printable


class ProgressLines:
    """Stands in for a progress bar."""

    def __init__(self, total: int | None, what: str, every: float = 30.0, unit: str = "") -> None:
        """At most one line in `every` seconds, and none before."""
        self.total, self.what, self.every, self.unit = total, printable(what), every, unit and f" {unit}"
        self.n = 0
        self._note = ""
        self._start = self._told = time.monotonic()

    def update(self, n: int = 1) -> None:
        """So much more is done; says so if it is time."""
        self.n += n
        now = time.monotonic()
        if now - self._told >= self.every:
            self._told = now
            of = f" of {self.total}" if self.total else ""
            note = f", {self._note}" if self._note else ""
            spent = now - self._start
            left = (
                f", about {spent * (self.total - self.n) / self.n:.0f} s left" if self.total and 0 < self.n < self.total else ""
            )
            print(f"{self.what}: {self.n}{of}{self.unit} after {spent:.0f} s{left}{note}", file=sys.stderr, flush=True)

    def set_postfix_str(self, note: str, refresh: bool = True) -> None:
        """What is told beside the numbers, with the next line."""
        self._note = note

    def close(self) -> None:
        """Nothing is left to draw."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
