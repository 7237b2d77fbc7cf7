"""Play, scrub, step: the bar under the scene."""

from typing import TYPE_CHECKING

from viser import Icon

from parc.studio.document import Document
from parc.studio.panels.panel_job import JobPanel
from parc.studio.panels.two_way import TwoWay

if TYPE_CHECKING:
    from parc.studio.studio_page import Page

_SPEEDS = {"0.1 x": 0.1, "0.25 x": 0.25, "0.5 x": 0.5, "1 x": 1.0, "2 x": 2.0, "4 x": 4.0}
_FPS = 30.0
"""frames of the slider a second"""


class PlayPanel:
    """The bar under the scene."""

    def __init__(self, page: "Page") -> None:
        self._page, gui = page, page.gui
        panel = gui.add_panel()
        with panel.add_tab("Playback", Icon.MOVIE):
            self.job = JobPanel(page)
            self._slider = gui.add_slider("Frame", 0, 1, 1, 0)
            self._play = gui.add_button("Play", icon=Icon.PLAYER_PLAY)
            self._steps = gui.add_button_group("Step", ("start", "-1", "+1", "end"))
            self._speed = gui.add_dropdown("Speed", tuple(_SPEEDS), initial_value="1 x")
            self._loop = gui.add_checkbox("Loop", True)
        panel.float(x=12, y=-12, width=380)
        playback = page.playback
        self._frame = TwoWay(page, self._slider, self._scrub)
        self._play.on_click(page.act(self.toggle))
        self._steps.on_click(page.act(self._step))
        self._speed.on_update(page.act(lambda: setattr(playback.clock, "speed", _SPEEDS[self._speed.value])))
        self._loop.on_update(page.act(lambda: setattr(playback.clock, "loops", self._loop.value)))
        gui.add_command("Play or pause", hotkey="K").on_trigger(page.act(self.toggle))

    def toggle(self) -> None:
        self._page.playback.toggle()
        self.show_time()

    def refresh(self, document: Document) -> None:
        self._slider.max = max(1, round(self._page.playback.clock.end * _FPS))
        self._slider.disabled = self._page.playback.clock.end == 0
        self.show_time()
        self.job.refresh()

    def show_time(self) -> None:
        """The slider and the button as the clock says."""
        clock = self._page.playback.clock
        self._frame.put(min(round(clock.time * _FPS), int(self._slider.max)))
        label = "Pause" if clock.is_playing else "Play"
        if self._play.label != label:
            self._play.label = label
            self._play.icon = Icon.PLAYER_PAUSE if clock.is_playing else Icon.PLAYER_PLAY

    def _scrub(self) -> None:
        self._page.playback.pause()
        self._page.playback.seek(self._frame.value / _FPS)

    def _step(self) -> None:
        playback, step = self._page.playback, self._steps.value
        if step in ("start", "end"):
            playback.pause()
            playback.seek(0.0 if step == "start" else playback.clock.end)
        else:
            playback.step(int(step), _FPS)
