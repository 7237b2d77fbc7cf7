"""One browser tab: the session behind it, the scene in it, and the panels around the scene.

Everything a person does arrives as a callback and is put into a queue; one thread of the page takes it out in order. So events
of a drag never overtake each other, a slow action delays only this page, and an action that fails becomes a message in the
page. Long work is a `Job` of the session, and goes on when the tab is closed; the next tab of that browser finds it again.
"""

import queue
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from viser import ClientHandle

from parc.errors import ParcError
from parc.studio.actions.clip_analysis import Analysis, Analyst
from parc.studio.document import sendable
from parc.studio.panels.control_hints import give_hints
from parc.studio.panels.controls import BRAND
from parc.studio.panels.panel_clips import ClipsPanel
from parc.studio.panels.panel_correct import CorrectPanel
from parc.studio.panels.panel_cross import CrossPanel
from parc.studio.panels.panel_edit import EditPanel
from parc.studio.panels.panel_gallery import GalleryPanel
from parc.studio.panels.panel_generate import GeneratePanel
from parc.studio.panels.panel_live import LivePanel
from parc.studio.panels.panel_measure import MeasurePanel
from parc.studio.panels.panel_path import PathPanel
from parc.studio.panels.panel_physics import PhysicsPanel
from parc.studio.panels.panel_play import PlayPanel
from parc.studio.panels.panel_save import SavePanel
from parc.studio.panels.panel_terrain import TerrainPanel
from parc.studio.panels.panel_top import TopPanel
from parc.studio.scene.figures_on_stage import Cast, Casting
from parc.studio.scene.page_script import PageScript
from parc.studio.scene.playback import Playback
from parc.studio.scene.pointer import Pointer
from parc.studio.scene.stage3d import PageScene
from parc.studio.studio_session import Change, Session

_CLOSE = object()
_WIDEST = 8000.0
"""px"""
_LOADING = 4.0
"""s after which the camera is the person's alone"""


class Page:
    """One open page: its panels, its scene, and the thread that does what is clicked, in order."""

    def __init__(self, client: ClientHandle, session: Session, gallery: bool = False) -> None:
        self.client, self.session, self.gui = client, session, client.gui
        self._queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._refresh_queued = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"studio page {client.client_id}", daemon=True)
        self.script = PageScript(client)
        self.stage = PageScene(client, session.character)
        self._casting = Casting(session.character)
        self.cast = Cast((), ())
        self.analyst = Analyst(session.character, lambda: self.later(self._show_analysis))
        self.playback = Playback(self._tick)
        self.answer_seconds: list[float] = []
        """s from the arrival of each action to its end"""
        self._ticks = 0
        self._is_live = False
        self._build()
        self.gallery = GalleryPanel(self, gallery and not session.document.clips)
        self.script.on("view", lambda width, height: self.later(lambda: self._fit(width, height)))
        self._unlisten = session.listen(self._on_change)
        self._thread.start()
        self.later(self._refresh)
        self.later(lambda: self.stage.look_at(self.cast))
        self._frame_while_loading()

    def _build(self) -> None:
        gui = self.gui
        self.theme(False)
        gui.main_panel.dock_right()
        gui.main_panel.set_width(430)
        self.top = TopPanel(self)
        tabs = gui.add_tab_group()
        with tabs.add_tab("Clips"):
            self.clips = ClipsPanel(self)
        with tabs.add_tab("Terrain"):
            self.terrain = TerrainPanel(self)
        with tabs.add_tab("Path"):
            self.path = PathPanel(self)
        with tabs.add_tab("Edit"):
            self.edit = EditPanel(self)
        with tabs.add_tab("Measure"):
            self.measure = MeasurePanel(self)
        self.generate: GeneratePanel | None = None
        with tabs.add_tab("Make"):
            if self.session.make.generator is not None:
                with gui.add_folder("Generate along the path"):
                    self.generate = GeneratePanel(self)
            with gui.add_folder("Correct the clip"):
                self.correct = CorrectPanel(self)
        self.cross: CrossPanel | None = None
        if self.session.drive.is_possible:
            with tabs.add_tab("Cross"):
                self.cross = CrossPanel(self)
        self.physics: PhysicsPanel | None = None
        if self.session.make.tracker is not None:
            with tabs.add_tab("Physics"):
                self.physics = PhysicsPanel(self)
        self.live: LivePanel | None = None
        if self.session.drive.is_possible:
            with tabs.add_tab("Live"):
                self.live = LivePanel(self)
        with tabs.add_tab("Save"):
            self.save = SavePanel(self)
        self.play = PlayPanel(self)
        self.job = self.play.job
        self.pointer = Pointer(self)
        self.without_hint = give_hints(gui)
        """labels of controls that have no sentence; a test wants none"""

    def theme(self, dark: bool) -> None:
        """Light, or dark."""
        self.gui.configure_theme(
            show_logo=False, show_share_button=False, brand_color=BRAND, control_width="large", dark_mode=dark
        )

    def _fit(self, width: str | float, height: str | float) -> None:
        """The view has this size, px; what lies over it takes its own from that."""
        if isinstance(width, str) or isinstance(height, str):
            return
        self.play.fit(min(width, _WIDEST))
        self.gallery.fit(min(width, _WIDEST), min(height, _WIDEST))

    def _frame_while_loading(self) -> None:
        """The scene gets its final shape when the panels take their places, a moment after the first look."""
        shape, until = [0.0], time.monotonic() + _LOADING

        @self.client.camera.on_update
        async def _(camera: Any) -> None:
            if time.monotonic() < until and abs(camera.aspect - shape[0]) > 0.03:
                shape[0] = camera.aspect
                self.later(lambda: self.stage.look_at(self.cast))

    def act(self, action: Callable[[], Any]) -> Callable[[Any], Any]:
        """A callback that has the action done in its turn; what the program itself sets in the page is no action."""

        async def callback(event: Any) -> None:
            if getattr(event, "client", self.client) is not None:
                self.later(action)

        return callback

    def later(self, action: Callable[[], Any]) -> None:
        """Have something done by the page's thread."""
        self._queue.put((action, time.monotonic()))

    def complain(self, text: str) -> None:
        """A message in red, for what a person can mend."""
        self.client.add_notification("That did not work", sendable(text), color="red", auto_close_seconds=12.0)

    def tell(self, title: str, text: str) -> None:
        self.client.add_notification(sendable(title), sendable(text), auto_close_seconds=6.0)

    def frame(self) -> int:
        """The frame of the clip that is worked on that is shown now."""
        active = self.cast.active
        return 0 if active is None else active.actor.frame_at(self.playback.clock.time)

    def refresh(self) -> None:
        """Have the page brought up to date, once for all changes until it is its turn."""
        if not self._refresh_queued.is_set():
            self._refresh_queued.set()
            self.later(self._refresh)

    def close(self) -> None:
        """The tab is gone: end the page and the driving, not the session and its jobs."""
        self._unlisten()
        self.session.drive.stop()
        self.playback.close()
        self.analyst.close()
        self._queue.put(_CLOSE)

    def wait(self, seconds: float) -> bool:
        """Whether the page's threads have ended within the time, after `close`."""
        self._thread.join(seconds)
        return self.analyst.wait(seconds) and not self._thread.is_alive()

    def _run(self) -> None:
        while (item := self._queue.get()) is not _CLOSE:
            action, arrived = item
            try:
                action()
            except ParcError as error:
                self.complain(str(error))
            except OSError as error:
                self.complain(f"Cannot use '{error.filename or 'the file'}': {error.strerror or error}")
            except Exception as error:
                traceback.print_exc(file=sys.stderr)
                self.complain(f"This is a fault of the program: {type(error).__name__}: {error}")
            self.answer_seconds.append(time.monotonic() - arrived)
            del self.answer_seconds[:-1000]

    def _on_change(self, change: Change) -> None:
        if change == "live":
            self._show_live()
        elif change == "job":
            self.later(self._show_job)
        else:
            self.refresh()

    def _refresh(self) -> None:
        self._refresh_queued.clear()
        document = self.session.document
        picked = self.generate.picked if self.generate is not None else 0
        self.cast = self._casting.cast(document, self.clips.only_active, self.session.make.preview, picked)
        self.playback.clock.set_end(self.cast.seconds)
        self.stage.show(self.cast, document.path, self.clips.look, self.playback.clock.time, self._depth())
        for panel in (self.top, self.clips, self.terrain, self.path, self.edit, self.measure, self.correct, self.save, self.play):
            panel.refresh(document)
        for optional in (self.generate, self.cross, self.physics, self.live):
            if optional is not None:
                optional.refresh(document)
        self.analyst.look_at(document.clip)

    def _show_job(self) -> None:
        self.job.refresh()
        if self.cross is not None:
            self.cross.refresh(self.session.document)

    def _depth(self) -> NDArray[np.float64] | None:
        analysis: Analysis | None = self.analyst.latest
        active = self.cast.active
        return None if analysis is None or active is None or analysis.clip is not active.clip else analysis.curves.depth

    def _show_analysis(self) -> None:
        self.measure.show(self.analyst.latest)
        if self.clips.look.colouring == "penetration":
            now = self.playback.clock.time
            self.stage.show(self.cast, self.session.document.path, self.clips.look, now, self._depth())

    def _show_live(self) -> None:
        """In the thread of the physics; it ends, and begins, with a look at the whole page."""
        if self.live is not None:
            view = self.session.drive.view
            self.live.show(view)
            if (view is None) is self._is_live:
                self._is_live = view is not None
                self.refresh()

    def _tick(self, shown: float) -> None:
        self.stage.pose(shown)
        self._ticks += 1
        if self._ticks % 4 == 0 or not self.playback.clock.is_playing:
            self.play.show_time()
        if self._ticks % 6 == 0 or not self.playback.clock.is_playing:
            self.measure.show_time()
