"""Long work beside the page: one thread, a progress to look at, a way to stop it.

The work is a function of the job. It reports as it goes; `report` is also where a wish to stop takes effect, so that work
that reports often stops soon. A job ends as done, stopped or failed, and never takes its caller down.
"""

import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Literal

from parc.errors import ParcError
from parc.run.free_memory import give_back_memory

State = Literal["running", "done", "stopped", "failed"]


class Stopped(Exception):
    """Raised inside the work when a person has asked for its end."""


class StudioJob:
    """Work in a thread, with its share done, a text about it, and a way to stop it."""

    def __init__(
        self, label: str, work: Callable[["StudioJob"], None], on_change: Callable[["StudioJob"], None] = lambda job: None
    ) -> None:
        self.label = label
        self.state: State = "running"
        self.share = 0.0
        """of the work that is done, 0 to 1"""
        self.text = ""
        """what is going on, or how it ended"""
        self._work, self._on_change = work, on_change
        self._stop = threading.Event()
        self._began = self._ended = time.monotonic()
        self._thread = threading.Thread(target=self._run, name=f"studio {label}", daemon=True)

    def start(self) -> "StudioJob":
        self._began = time.monotonic()
        self._thread.start()
        return self

    @property
    def is_running(self) -> bool:
        return self.state == "running"

    @property
    def seconds(self) -> float:
        return (time.monotonic() if self.is_running else self._ended) - self._began

    @property
    def is_stopping(self) -> bool:
        return self._stop.is_set()

    def stop(self) -> None:
        """Ask the work to end; it does at its next report."""
        self._stop.set()

    def report(self, share: float, text: str = "") -> None:
        """Called by the work."""
        self.share, self.text = min(max(share, 0.0), 1.0), text
        self._on_change(self)
        if self._stop.is_set():
            raise Stopped

    def wait(self, seconds: float | None = None) -> bool:
        """Whether the job has ended within the time."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        self._do()
        give_back_memory()

    def _do(self) -> None:
        try:
            self._work(self)
            self._end("done", self.text or "done")
        except Stopped:
            self._end("stopped", "stopped")
        except ParcError as error:
            self._end("failed", str(error))
        except OSError as error:
            self._end("failed", f"cannot use '{error.filename or 'the file'}': {error.strerror or error}")
        except Exception as error:
            traceback.print_exc(file=sys.stderr)
            self._end("failed", f"this is a fault of the program: {type(error).__name__}: {error}")

    def _end(self, state: State, text: str) -> None:
        self._ended = time.monotonic()
        self.state, self.text = state, text
        if state == "done":
            self.share = 1.0
        self._on_change(self)
