"""The list of clips to open, those that are open, and how they are drawn."""

from typing import TYPE_CHECKING, Any

from viser import Icon

from parc.dataset.convert.clip_files import READABLE
from parc.studio.clip_library import Listed
from parc.studio.document import Document
from parc.studio.panels.controls import QUIET, put
from parc.studio.panels.marked_text import add_markdown, marked, show
from parc.studio.panels.two_way import TwoWay
from parc.studio.scene.figure3d import Look

if TYPE_CHECKING:
    from parc.studio.studio_page import Page

_MOST = 200
"""lines of the list that the page is sent"""
_NONE = "(none)"


class ClipsPanel:
    """The tab of clips."""

    def __init__(self, page: "Page") -> None:
        self._page, gui = page, page.gui
        self._search = gui.add_text("Search", "", hint="Words of the name or the skill, in any order")
        self._found = add_markdown(gui, marked(""))
        self._names = self._lines(page.session.library.search())
        self._list = gui.add_dropdown("Clip", tuple(self._names) or (_NONE,))
        gallery = gui.add_button(
            "Show the gallery", icon=Icon.LAYOUT_GRID, color=QUIET, hint="Pictures of all motions of the list"
        )
        open_clip = gui.add_button("Open", icon=Icon.FOLDER_OPEN)
        upload = gui.add_upload_button(f"Open a file ({' '.join(READABLE)})", icon=Icon.UPLOAD)
        with gui.add_folder("Open clips"):
            self._choices = gui.add_dropdown("Work on", (_NONE,))
            self._only = gui.add_checkbox("Only this one", False)
            close = gui.add_button("Close it", icon=Icon.X, color=QUIET)
            name = gui.add_text("Name", "")
            rename = gui.add_button("Rename", icon=Icon.PENCIL, color=QUIET)
        with gui.add_folder("Look"):
            self._body = gui.add_dropdown("Figure", ("mannequin", "capsules"), hint="A smooth skin, or the shapes of the physics")
            self._shadows = gui.add_checkbox(
                "Shadows", False, hint="Of the sun; on by themselves in a browser with a graphics card"
            )
            self._dark = gui.add_checkbox("Dark page", False, hint="Light letters on dark ground")
            self._colouring = gui.add_dropdown("Bodies show", ("contacts", "penetration", "plain"))
            self._markers = gui.add_checkbox("Contact dots", True)
            self._trail = gui.add_dropdown("Trails show", ("none", "speed", "acceleration", "jerk"))
            self._trail_of = gui.add_dropdown("Trails of", ("hands and feet", "pelvis", "all bodies"))
            camera = gui.add_button("Show all", icon=Icon.FOCUS_CENTERED, color=QUIET)
        session = page.session
        self._search.on_update(page.act(self.search))
        open_clip.on_click(page.act(self._open_listed))
        gallery.on_click(page.act(lambda: page.gallery.show()))
        upload.on_upload(page.act(lambda: self._opened(session.open_bytes(upload.value.name, upload.value.content).name)))
        self._open = TwoWay(page, self._choices, lambda: self._with_chosen(session.choose))
        close.on_click(page.act(lambda: self._with_chosen(session.close)))
        rename.on_click(page.act(lambda: session.rename(name.value)))
        for control in (self._only, self._body, self._shadows, self._colouring, self._markers, self._trail, self._trail_of):
            control.on_update(page.act(page.refresh))
        camera.on_click(page.act(lambda: page.stage.look_at(page.cast, everything=True)))
        self._dark.on_update(page.act(lambda: page.theme(self._dark.value)))
        page.script.on("renderer", lambda kind: page.later(lambda: self._drawn_by(kind)))
        self.search()

    @property
    def only_active(self) -> bool:
        return self._only.value

    @property
    def look(self) -> Look:
        controls = (self._body, self._shadows, self._colouring, self._markers, self._trail, self._trail_of)
        values: list[Any] = [control.value for control in controls]
        return Look(*values)

    def search(self) -> None:
        library = self._page.session.library
        found = library.search(self._search.value)
        self._names = self._lines(found)
        options = tuple(self._names) or (_NONE,)
        if tuple(self._list.options) != options:
            self._list.options = options
        shown = "" if len(found) <= _MOST else f", the first {_MOST} are listed"
        show(self._found, marked("{} of {} clips{}", len(found), len(library), shown))

    def refresh(self, document: Document) -> None:
        lines = tuple(f"{k + 1}. {clip.name}" for k, clip in enumerate(document.clips))
        options = lines if document.active is not None else (*lines, _NONE)
        if tuple(self._choices.options) != options:
            self._choices.options = options
        self._open.put(lines[document.active] if document.active is not None else _NONE)

    def _drawn_by(self, kind: str | float) -> None:
        """Shadows where a graphics card draws them."""
        if kind == "card" and not self._shadows.value:
            put(self._shadows, True)
            self._page.refresh()

    @staticmethod
    def _lines(found: list[Listed]) -> dict[str, str]:
        return {item.line: item.name for item in found[:_MOST]}

    def _open_listed(self) -> None:
        name = self._names.get(self._list.value)
        if name is None:
            self._page.complain("No clip is listed; clear the search, or open a file")
            return
        self._opened(self._page.session.open(name).name)

    def _opened(self, name: str) -> None:
        self._page.refresh()
        self._page.later(lambda: self._page.stage.look_at(self._page.cast))

    def _with_chosen(self, action) -> None:
        if self._open.value != _NONE:
            action(int(self._open.value.split(".")[0]) - 1)
