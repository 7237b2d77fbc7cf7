"""Metrics and curves of the clip that is worked on, found by a thread of their own; only the latest clip counts."""

import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.metrics.clip_measures import measure_clips
from parc.studio.scene.frame_curves import Curves, clip_curves


@dataclass(frozen=True, eq=False)
class Analysis:
    """What is measured of a clip."""

    clip: Clip
    metrics: dict[str, float]
    curves: Curves


class Analyst:
    """Measures the clip that was named last, in a thread of its own."""

    def __init__(self, character: Character, on_result: Callable[[], None]) -> None:
        self._character, self._on_result = character, on_result
        self.latest: Analysis | None = None
        self._clip: Clip | None = None
        self._wake = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="studio analyst", daemon=True)
        self._thread.start()

    def look_at(self, clip: Clip | None) -> None:
        with self._wake:
            self._clip = clip
            self._wake.notify_all()

    def close(self) -> None:
        with self._wake:
            self._closed = True
            self._wake.notify_all()

    def wait(self, seconds: float) -> bool:
        """Whether the thread has ended within the time, after `close`."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        done: Clip | None = None
        while True:
            with self._wake:
                while self._clip is done and not self._closed:
                    self._wake.wait()
                if self._closed:
                    return
                done = self._clip
            try:
                self.latest = None if done is None else self._analysis(done)
            except Exception:
                traceback.print_exc(file=sys.stderr)
                self.latest = None
            self._on_result()

    def _analysis(self, clip: Clip) -> Analysis:
        return Analysis(clip, measure_clips([clip], self._character)[0], clip_curves(clip, self._character))
