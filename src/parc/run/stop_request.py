"""Work that is asked to stop (Ctrl-C, SIGTERM) comes to a point where it can be saved, and stops there.

The first signal is only remembered; a second one stops at once. Signals reach the main thread alone: in any other, work is
stopped with its process.
"""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopRequest:
    """`asked` becomes True with the first signal."""

    def __init__(self) -> None:
        self.asked = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True


@contextlib.contextmanager
def stop_request() -> Iterator[StopRequest]:
    """Within it a first interrupt or termination asks to stop, and a second one stops at once."""
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    before = {number: signal.signal(number, request) for number in _SIGNALS}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
