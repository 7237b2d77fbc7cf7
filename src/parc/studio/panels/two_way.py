"""A control that both the person and the program set.

What a person does waits in the page's queue. By its turn the control may show something else: an earlier action has put it back
to zero, or the person has gone on. So each value travels with its action, `value` is the one whose turn it is, and the program
leaves the control alone while a value of the person's is still waiting: that one comes later and counts.
"""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from parc.studio.studio_page import Page


class TwoWay:
    """A control that shows a value and sets it, without an echo of its own changes."""

    def __init__(self, page: "Page", control: Any, action: Callable[[], object]) -> None:
        self.control, self.value = control, control.value
        self._lock = threading.Lock()
        self._waiting = 0

        async def callback(event: Any) -> None:
            if event.client is not None:
                value = event.target.value
                with self._lock:
                    self._waiting += 1
                page.later(lambda: self._take(value, action))

        control.on_update(callback)

    def put(self, value: Any) -> None:
        """Set it from the program; no action comes of it."""
        with self._lock:
            self.value = value
            self._show()

    def _take(self, value: Any, action: Callable[[], object]) -> None:
        with self._lock:
            self._waiting -= 1
            self.value = value
            self._show()
        action()

    def _show(self) -> None:
        if not self._waiting:
            self.control.value = self.value
