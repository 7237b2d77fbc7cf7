"""Simulation of the clip that is worked on, beside the clip."""

from typing import TYPE_CHECKING

from viser import Icon

from parc.studio.document import Document
from parc.studio.panels.marked_text import add_markdown, marked, show

if TYPE_CHECKING:
    from parc.studio.studio_page import Page


class PhysicsPanel:
    """The controls of simulation."""

    def __init__(self, page: "Page") -> None:
        self._page, gui = page, page.gui
        file = page.session.make.tracker
        assert file is not None
        what = marked(
            "Tracker: **{}**. A simulated character follows the clip with motors of limited strength. What it "
            "did becomes a new clip on the same ground; both play together. The tab **Save** writes it to a file.",
            file.path.name,
        )
        add_markdown(gui, what)
        self._start = gui.add_button("Simulate the clip", icon=Icon.RUN)
        self._note = add_markdown(gui, marked(""))
        self._start.on_click(page.act(self._track))

    def refresh(self, document: Document) -> None:
        self._start.disabled = document.clip is None
        losses = {} if document.clip is None else document.clip.provenance.losses
        if "tracked" in losses:
            fate = "to its end" if losses.get("success") else f"for {100 * losses['tracked']:.0f} % of its frames"
            error = 100 * losses["joint_error"]
            show(self._note, marked("This clip was simulated: followed {}, joint error {:.1f} cm.", fate, error))
        else:
            show(self._note, marked("Open a clip to simulate it.") if document.clip is None else marked(""))

    def _track(self) -> None:
        self._page.session.make.track()
        self._page.job.refresh()
