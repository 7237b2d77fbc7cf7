"""Play, scrub, step: the bar and the time line under the view."""

import threading
from typing import TYPE_CHECKING

from viser import Icon

from parc.studio.document import Document
from parc.studio.panels.marked_text import add_html, show
from parc.studio.panels.panel_job import JobPanel
from parc.studio.panels.timeline import timeline, transport_bar

if TYPE_CHECKING:
    from parc.studio.studio_page import Page

_FPS = 30.0
"""frames of the bar a second"""
_NARROWEST, _MARGIN = 300, 24
"""px of the bar, and beside it"""


class PlayPanel:
    """The bar is as wide as the view; the script of the page moves its head and tells what is pressed."""

    def __init__(self, page: "Page") -> None:
        self._page, gui = page, page.gui
        self._lock = threading.Lock()
        self._panel = gui.add_panel()
        with self._panel.add_tab("Time", Icon.MOVIE):
            self.job = JobPanel(page)
            add_html(gui, transport_bar())
            self._line = add_html(gui, timeline(page.session.document, page.session.character, 0.0, None))
        self._panel.float(x=12, y=-12, width=500)
        clock, script = page.playback.clock, page.script

        def later(action):
            return lambda *values: page.later(lambda: action(*values))

        script.on("toggle", later(lambda *_: self.toggle()))
        script.on("step", later(lambda frames: page.playback.step(int(_number(frames)), _FPS)))
        script.on("go", later(lambda where: self.seek(0.0 if where == "start" else clock.end)))
        script.on("seek", later(lambda seconds: self.seek(_number(seconds))))
        script.on("frame", later(lambda frame: self.seek(_number(frame) / _FPS)))
        script.on("speed", later(lambda speed: setattr(clock, "speed", min(max(_number(speed), 0.05), 8.0))))
        script.on("loop", later(lambda loops: setattr(clock, "loops", bool(loops))))
        gui.add_command("Play or pause", hotkey="K").on_trigger(page.act(self.toggle))
        gui.add_command("First frame", hotkey="home").on_trigger(page.act(lambda: self.seek(0.0)))
        gui.add_command("Last frame", hotkey="end").on_trigger(page.act(lambda: self.seek(clock.end)))

    def fit(self, width: float) -> None:
        """The view is so wide, px."""
        self._panel.set_width(max(width - _MARGIN, _NARROWEST))

    def toggle(self) -> None:
        """Play, or pause."""
        self._page.playback.toggle()
        self.show_time()

    def play_from_start(self) -> None:
        """Show a motion that was just made."""
        self._page.playback.seek(0.0)
        self._page.playback.play()
        self.show_time()

    def seek(self, seconds: float) -> None:
        """Pause, and show this moment."""
        self._page.playback.pause()
        self._page.playback.seek(seconds)

    def refresh(self, document: Document) -> None:
        """The line as the clip is now."""
        page = self._page
        chosen = None if document.clip is None else page.edit.frames()
        line = timeline(document, page.session.character, page.playback.clock.end, chosen)
        if line != self._line.content:
            show(self._line, line)
        self.show_time()
        self.job.refresh()

    def show_time(self) -> None:
        """The head of the line and the button as the clock says."""
        clock = self._page.playback.clock
        with self._lock:  # the thread of the playback comes here too: what was read last is sent last
            self._page.script.set(time=round(clock.time, 4), end=clock.end, playing=clock.is_playing)


def _number(value: object) -> float:
    """Of a message of the page; 0 for what is none."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return 0.0
    return number if abs(number) < 1e6 else 0.0
