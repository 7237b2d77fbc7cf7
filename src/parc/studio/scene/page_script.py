"""The studio's own script in the page, and what it tells: keys that drive, the time line, the gallery, the tab that is shown.

viser has no handler for keys that are held, for gamepads, or for a tab that is chosen. The script is this library's file
`page_script.js` and nothing else: what is put into it later are numbers and truth values. It answers through a text control
that is not shown. What comes from there is text of a stranger: a list of a known kind and plain values, or it is passed over.
"""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from viser import ClientHandle
from viser._messages import RunJavascriptMessage

_SCRIPT = Path(__file__).parent.parent / "page_script.js"
_LONGEST = 400
"""letters of a message from the page"""
_MOST_EARLY = 16
"""kinds of messages that are kept until somebody asks for them"""

Heard = Callable[..., object]


class PageScript:
    """Both directions between the studio and its script in one tab."""

    def __init__(self, client: ClientHandle) -> None:
        self._queue = client.gui._websock_interface.queue_message
        self._handlers: dict[str, Heard] = {}
        self._early: dict[str, list[Any]] = {}
        self._sent: dict[str, float] = {}
        control = client.gui.add_text("script", "", visible=False)

        async def heard(event: Any) -> None:
            if event.client is not None:
                self.hear(event.target.value)

        control.on_update(heard)
        self._queue(RunJavascriptMessage(_SCRIPT.read_text(encoding="utf-8")))
        named = json.dumps({"control": control._impl.uuid})  # made up by viser
        self._queue(RunJavascriptMessage(f"window.parcStudio.set({named})"))

    def on(self, kind: str, handler: Heard) -> None:
        """Have `handler` called with the values of each message of a kind, the last one that came too early included."""
        self._handlers[kind] = handler
        early = self._early.pop(kind, None)
        if early is not None:
            handler(*early)

    def set(self, **values: float | bool) -> None:
        """Numbers and truth values that the script works with; those that it has already are not sent again."""
        fresh = {name: value for name, value in values.items() if self._sent.get(name) != value}
        if any(not isinstance(value, bool | int | float) or not math.isfinite(value) for value in fresh.values()):
            raise TypeError("the page's script is sent numbers and truth values only")
        if fresh:
            self._sent.update(fresh)
            self._queue(RunJavascriptMessage(f"window.parcStudio.set({json.dumps(fresh)})"))

    def hear(self, text: str) -> None:
        """A message of the page; one that is none is passed over."""
        try:
            _, kind, *values = json.loads(text[:_LONGEST])
            handler = self._handlers.get(kind)
            known = isinstance(kind, str) and len(self._early) < _MOST_EARLY
        except (ValueError, TypeError, RecursionError):
            return
        if not all(isinstance(v, str) or _is_number(v) for v in values):
            return
        if handler is not None:
            handler(*values)
        elif known:
            self._early[kind] = values


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
