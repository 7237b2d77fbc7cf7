"""Progress where there is no terminal: a line now and then, so that a log of a long run tells how far it is.

Has what commands use of a progress bar: `total`, `n`, `update`, `set_postfix_str`, `close`, and `with`.
"""

import sys
import time
from types import TracebackType
from typing import Self


class ProgressLines:
    def __init__(self, total: int | None, what: str, every: float = 30.0) -> None:
        """At most one line in `every` seconds, and none before."""
        self.total, self.what, self.every = total, what, every
        self.n = 0
        self._note = ""
        self._start = self._told = time.monotonic()

    def update(self, n: int = 1) -> None:
        self.n += n
        now = time.monotonic()
        if now - self._told >= self.every:
            self._told = now
            of = f" of {self.total}" if self.total else ""
            note = f", {self._note}" if self._note else ""
            print(f"{self.what}: {self.n}{of} after {now - self._start:.0f} s{note}", file=sys.stderr, flush=True)

    def set_postfix_str(self, note: str) -> None:
        self._note = note

    def close(self) -> None:
        """Nothing is left to draw."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
