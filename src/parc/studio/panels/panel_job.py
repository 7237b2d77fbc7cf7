"""The long job that is going on: how far it is, and a way to stop it. In the bar under the scene, where no scrolling hides it."""

from typing import TYPE_CHECKING

from viser import Icon

from parc.studio.actions.long_actions import CROSSING
from parc.studio.panels.controls import put
from parc.studio.panels.marked_text import add_markdown, marked, show

if TYPE_CHECKING:
    from parc.studio.studio_page import Page


class JobPanel:
    """The progress of a long job, and its stop button."""

    def __init__(self, page: "Page") -> None:
        self._page, gui = page, page.gui
        self._bar = gui.add_progress_bar(0.0, visible=False, animated=True)
        self._text = add_markdown(gui, marked(""), visible=False)
        self._stop = gui.add_button("Stop", icon=Icon.PLAYER_STOP, color="red", visible=False)
        self._stop.on_click(page.act(page.session.make.stop))
        self._told: object = None

    def refresh(self) -> None:
        """Progress while a job runs; how it ended is told once."""
        job = self._page.session.make.job
        running = job is not None and job.is_running
        self._bar.visible = self._text.visible = self._stop.visible = running
        if job is None:
            return
        if running:
            put(self._bar, 100 * job.share)
            show(self._text, marked("{}: {}", job.label, job.text))
            self._stop.label = "Stopping ..." if job.is_stopping else "Stop"
        elif self._told is not job:
            self._told = job
            if job.state == "failed":
                self._page.complain(job.text)
            else:
                self._page.tell(job.label.capitalize(), f"{job.text} ({job.seconds:.1f} s)")
            if job.state == "done" and job.label == CROSSING:
                self._page.play.play_from_start()
            film = self._page.session.make.take_film()
            if film is not None:
                self._page.client.send_file_download(*film, save_immediately=True)
