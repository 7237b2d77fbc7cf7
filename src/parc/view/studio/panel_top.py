"""Above the tabs: what is worked on, undo and redo, what a click does, and the long job that is going on."""

from typing import TYPE_CHECKING

from viser import Icon

from parc.view.studio.controls import QUIET, put
from parc.view.studio.document import Document
from parc.view.studio.pointer import HINTS, TOOLS, Tool

if TYPE_CHECKING:
    from parc.view.studio.page import Page


class TopPanel:
    def __init__(self, page: "Page") -> None:
        self._page, gui = page, page.gui
        self._title = gui.add_markdown("")
        self._tool = gui.add_dropdown("Click does", TOOLS, initial_value="look around")
        self._hint = gui.add_markdown(f"*{HINTS['look around']}*")
        self._undo = gui.add_button("Undo", icon=Icon.ARROW_BACK_UP, disabled=True, color=QUIET)
        self._redo = gui.add_button("Redo", icon=Icon.ARROW_FORWARD_UP, visible=False, color=QUIET)
        self._bar = gui.add_progress_bar(0.0, visible=False, animated=True)
        self._job = gui.add_markdown("", visible=False)
        self._stop = gui.add_button("Stop", icon=Icon.PLAYER_STOP, color="red", visible=False)
        self._undo.on_click(page.act(page.session.undo))
        self._redo.on_click(page.act(page.session.redo))
        self._stop.on_click(page.act(page.session.make.stop))
        self._tool.on_update(page.act(self._show_hint))
        gui.add_command("Undo", hotkey="Z", modifier="cmd/ctrl").on_trigger(page.act(page.session.undo))
        gui.add_command("Redo", hotkey="Z", modifier="cmd/ctrl+shift").on_trigger(page.act(page.session.redo))
        self._told: object = None

    @property
    def tool(self) -> Tool:
        return self._tool.value

    def refresh(self, document: Document) -> None:
        rows, columns = document.terrain.size
        ground = f"{rows} x {columns} cells"
        path = "" if document.path is None else f" · path {document.path.length:.1f} m"
        clip = document.clip
        name = "no clip chosen" if clip is None else f"**{clip.name}** · {len(clip.motion)} frames"
        self._title.content = f"{name}  \n{ground}{path}"
        undo, redo = self._page.session.can_undo, self._page.session.can_redo
        self._undo.label = f"Undo: {undo}"[:46] if undo else "Nothing to undo"
        self._undo.disabled = undo is None
        self._redo.visible = redo is not None
        self._redo.label = f"Redo: {redo}"[:46]
        self.refresh_job()

    def refresh_job(self) -> None:
        """Progress while a job runs; how it ended is told once."""
        job = self._page.session.make.job
        running = job is not None and job.is_running
        self._bar.visible = self._job.visible = self._stop.visible = running
        if job is None:
            return
        if running:
            put(self._bar, 100 * job.share)
            self._job.content = f"{job.label}: {job.text}"
            self._stop.label = "Stopping ..." if job.is_stopping else "Stop"
        elif self._told is not job:
            self._told = job
            if job.state == "failed":
                self._page.complain(job.text)
            else:
                self._page.tell(job.label.capitalize(), f"{job.text} ({job.seconds:.1f} s)")
            film = self._page.session.make.take_film()
            if film is not None:
                self._page.client.send_file_download(*film, save_immediately=True)

    def _show_hint(self) -> None:
        self._hint.content = f"*{HINTS[self.tool]}*"
