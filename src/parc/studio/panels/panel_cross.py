"""One button: a simulated character crosses the ground that is shown."""

from typing import TYPE_CHECKING

from viser import Icon

from parc.studio.document import Document
from parc.studio.panels.marked_text import add_markdown, marked, show

if TYPE_CHECKING:
    from parc.studio.studio_page import Page


class CrossPanel:
    """The search of `parc traverse`, from the path's start to its goal, or from corner to corner."""

    def __init__(self, page: "Page") -> None:
        self._page, gui = page, page.gui
        what = marked(
            "A simulated character looks for a way over this ground and crosses it. **Click a cell** to set the goal, or leave "
            "it out to go to the far corner. What it did becomes a clip, and plays."
        )
        add_markdown(gui, what)
        self._ends = add_markdown(gui, marked(""))
        self._start = gui.add_button(
            "Cross this terrain", icon=Icon.RUN, hint="Takes from some seconds to two minutes; Stop is in the bar under the view"
        )
        self._tries = gui.add_number(
            "Tries", 5, min=1, max=20, step=1, hint="After a fall it begins again some metres back, so often at most"
        )
        self._seed = gui.add_number("Seed", 0, min=0, step=1, hint="Another seed tries other motions")
        self._start.on_click(page.act(self.cross))

    def cross(self) -> None:
        """From the start to the goal that were clicked, or corners."""
        pointer, page = self._page.pointer, self._page
        page.session.make.cross(pointer.start, pointer.goal, self._seed.value, self._tries.value)
        page.job.refresh()

    def refresh(self, document: Document) -> None:
        """Where it would begin and end."""
        pointer = self._page.pointer
        start = "a corner" if pointer.start is None else f"cell {pointer.start[0]}, {pointer.start[1]}"
        goal = "the far corner" if pointer.goal is None else f"cell {pointer.goal[0]}, {pointer.goal[1]}"
        show(self._ends, marked("From **{}** to **{}**.", start, goal))
        self._start.disabled = self._page.session.make.is_busy
