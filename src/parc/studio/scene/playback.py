"""The clock of the page: what time it is in the motions, and a thread that shows it thirty times a second while it runs.

Time is kept in seconds of motion, so clips of different rates and lengths play side by side: each shows its nearest frame and
waits on its last one. The clock reads the wall, not its own ticks: a late tick shows a later frame, the speed stays right.
"""

import threading
import time
from collections import deque
from collections.abc import Callable

RATE = 30.0
"""Hz"""


class Clock:
    """Time in the motions; knows nothing of threads."""

    def __init__(self) -> None:
        self.time = 0.0
        """s"""
        self.end = 0.0
        """s, of the longest motion"""
        self.speed = 1.0
        self.loops = True
        self.is_playing = False

    def advance(self, seconds: float) -> None:
        """Let wall time pass; at the end start over, or stop there."""
        if not self.is_playing:
            return
        now = self.time + seconds * self.speed
        if self.end <= 0:
            now = 0.0
        elif self.loops:
            now %= self.end
        elif not 0 <= now <= self.end:
            now = min(max(now, 0.0), self.end)
            self.is_playing = False
        self.time = now

    def set_end(self, seconds: float) -> None:
        self.end = max(seconds, 0.0)
        self.time = min(self.time, self.end)

    def seek(self, seconds: float) -> None:
        self.time = min(max(seconds, 0.0), self.end)

    def play(self) -> None:
        """From the beginning if it stands at the end."""
        if not self.loops and self.time >= self.end:
            self.time = 0.0
        self.is_playing = True


class Playback:
    """A clock and the thread that has its time shown."""

    def __init__(self, show: Callable[[float], None]) -> None:
        self.clock = Clock()
        self._show = show
        self._wake = threading.Condition()
        self._closed = False
        self._ticks: deque[float] = deque(maxlen=90)
        self._thread = threading.Thread(target=self._run, name="studio playback", daemon=True)
        self._thread.start()

    @property
    def rate(self) -> float:
        """Hz at which frames were shown during the last seconds of play; 0 before."""
        if len(self._ticks) < 2 or self._ticks[-1] == self._ticks[0]:
            return 0.0
        return (len(self._ticks) - 1) / (self._ticks[-1] - self._ticks[0])

    def play(self) -> None:
        with self._wake:
            self.clock.play()
            self._ticks.clear()
            self._wake.notify_all()

    def pause(self) -> None:
        with self._wake:
            self.clock.is_playing = False

    def toggle(self) -> None:
        if self.clock.is_playing:
            self.pause()
        else:
            self.play()

    def seek(self, seconds: float) -> None:
        with self._wake:
            self.clock.seek(seconds)
        self._show(self.clock.time)

    def step(self, frames: int, fps: float = 30.0) -> None:
        """Pause and go some frames on or back."""
        self.pause()
        self.seek((round(self.clock.time * fps) + frames) / fps)

    def close(self) -> None:
        with self._wake:
            self._closed = True
            self._wake.notify_all()
        if threading.current_thread() is not self._thread:
            self._thread.join(2.0)

    def _run(self) -> None:
        last = due = time.monotonic()
        while True:
            with self._wake:
                while not self.clock.is_playing and not self._closed:
                    self._wake.wait()
                    last = due = time.monotonic()
                if self._closed:
                    return
                now = time.monotonic()
                self.clock.advance(now - last)
                shown = self.clock.time
            last = now
            self._show(shown)
            self._ticks.append(now)
            due += 1 / RATE
            wait = due - time.monotonic()
            if wait > 0:
                time.sleep(wait)
            else:
                due -= wait
