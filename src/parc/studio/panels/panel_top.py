"""Above the tabs: what is worked on, undo and redo, and what a click does."""

from typing import TYPE_CHECKING

from viser import Icon

from parc.studio.document import Document
from parc.studio.panels.controls import QUIET, put
from parc.studio.panels.marked_text import add_markdown, marked, show
from parc.studio.scene.pointer import HINTS, TAB_TOOLS, TOOLS, Tool

if TYPE_CHECKING:
    from parc.studio.studio_page import Page


class TopPanel:
    """What stands above the tabs."""

    def __init__(self, page: "Page") -> None:
        self._page, gui = page, page.gui
        self._title = add_markdown(gui, marked(""))
        self._tool = gui.add_dropdown("Click does", TOOLS, initial_value="look around")
        self._hint = add_markdown(gui, marked("*{}*", HINTS["look around"]))
        self._undo = gui.add_button("Undo", icon=Icon.ARROW_BACK_UP, disabled=True, color=QUIET)
        self._redo = gui.add_button("Redo", icon=Icon.ARROW_FORWARD_UP, visible=False, color=QUIET)
        self._undo.on_click(page.act(page.session.undo))
        self._redo.on_click(page.act(page.session.redo))
        self._tool.on_update(page.act(self._chosen))
        self._tab = "Clips"
        self._of_tab: dict[str, Tool] = {tab: tools[0] for tab, tools in TAB_TOOLS.items()}
        """the tool that each tab was left with"""
        page.script.on("tab", lambda tab: page.later(lambda: self.show_tab(tab)))
        gui.add_command("Undo", hotkey="Z", modifier="cmd/ctrl").on_trigger(page.act(page.session.undo))
        gui.add_command("Redo", hotkey="Z", modifier="cmd/ctrl+shift").on_trigger(page.act(page.session.redo))

    @property
    def tool(self) -> Tool:
        return self._tool.value

    def refresh(self, document: Document) -> None:
        rows, columns = document.terrain.size
        path = marked("") if document.path is None else marked(" · path {:.1f} m", document.path.length)
        clip = document.clip
        name = marked("no clip chosen") if clip is None else marked("**{}** · {} frames", clip.name, len(clip.motion))
        show(self._title, marked("{}  \n{} x {} cells{}", name, rows, columns, path))
        undo, redo = self._page.session.can_undo, self._page.session.can_redo
        self._undo.label = f"Undo: {undo}"[:46] if undo else "Nothing to undo"
        self._undo.disabled = undo is None
        self._redo.visible = redo is not None
        self._redo.label = f"Redo: {redo}"[:46]

    def show_tab(self, tab: str) -> None:
        """A click does what fits the tab that is shown: the tool it was left with."""
        if tab in TAB_TOOLS and tab != self._tab:
            self._tab = tab
            put(self._tool, self._of_tab[tab])
            self._show_hint()

    def _chosen(self) -> None:
        if self.tool in TAB_TOOLS[self._tab]:
            self._of_tab[self._tab] = self.tool
        self._show_hint()

    def _show_hint(self) -> None:
        show(self._hint, marked("*{}*", HINTS[self.tool]))
