"""The gallery: pictures of all motions that can be opened, over the view until one is chosen."""

import time
from typing import TYPE_CHECKING

from viser import Icon

from parc.studio.clip_library import Listed
from parc.studio.panels.marked_text import Marked, add_html, joined, marked, show

if TYPE_CHECKING:
    from parc.studio.studio_page import Page

_SHOWN = 24
"""pictures at first, and more each time"""
_EVERY = 0.4
"""s between updates while pictures are being drawn"""
_MARGIN = 12
"""px around it"""
_BUTTON = marked(
    "background:var(--mantine-color-default);color:var(--mantine-color-text);"
    "border:1px solid var(--mantine-color-default-border);border-radius:4px;padding:3px 12px;cursor:pointer;font:inherit;"
)


class GalleryPanel:
    """A press on a picture opens that motion and puts the gallery away."""

    def __init__(self, page: "Page", is_open: bool) -> None:
        self._page, gui = page, page.gui
        self._names: list[str] = []
        self._count, self._words, self._updated = _SHOWN, "", 0.0
        self._size = (500.0, 300.0)
        self._panel = gui.add_panel(visible=False)
        with self._panel.add_tab("Gallery", Icon.LAYOUT_GRID):
            add_html(gui, _head())
            self._cards = add_html(gui, marked(""))
        self._panel.float(x=_MARGIN, y=_MARGIN, width=self._size[0])
        script = page.script
        script.on("open", lambda number: page.later(lambda: self._open(number)))
        script.on("more", lambda *_: page.later(lambda: self._show_more()))
        script.on("find", lambda words: page.later(lambda: self._find(words)))
        script.on("close-gallery", lambda *_: page.later(self.hide))
        if is_open:
            self.show()

    @property
    def is_shown(self) -> bool:
        return self._panel.visible

    def show(self) -> None:
        """Over the view."""
        self._panel.visible = True
        self._place()
        self._update()

    def hide(self) -> None:
        """The view is free again."""
        self._panel.visible = False

    def fit(self, width: float, height: float) -> None:
        """The view has this size, px."""
        self._size = max(width - 2 * _MARGIN, 240.0), max(height - 2 * _MARGIN, 200.0)
        if self.is_shown:
            self._place()

    def _place(self) -> None:
        self._panel.set_width(self._size[0])
        self._panel.set_height(self._size[1])

    def _find(self, words: str | float) -> None:
        self._words, self._count = str(words), _SHOWN
        self._update()

    def _show_more(self) -> None:
        self._count += _SHOWN
        self._update()

    def _update(self) -> None:
        library = self._page.session.library
        found = library.search(self._words)
        shown = found[: self._count]
        self._names = [item.name for item in shown]
        self._draw(shown, len(found))
        library.thumbnails.ask(self._names, self._on_picture)

    def _on_picture(self) -> None:
        """In the thread that draws them."""
        library = self._page.session.library
        is_last = all(library.thumbnails.get(name) is not None for name in self._names)
        if self.is_shown and (is_last or time.monotonic() - self._updated > _EVERY):
            self._updated = time.monotonic()
            found = library.search(self._words)
            self._draw(found[: self._count], len(found))

    def _draw(self, shown: list[Listed], found: int) -> None:
        get = self._page.session.library.thumbnails.get
        cards = joined(_card(k, item, get(item.name)) for k, item in enumerate(shown))
        more = marked("") if found <= len(shown) else marked(
            "<div style='text-align:center;padding:4px 0 12px'><button type='button' data-parc-do='more' style='{}'>"
            "Show more ({} of {} are shown)</button></div>", _BUTTON, len(shown), found,
        )  # fmt: skip
        none = marked("") if shown else marked("<p style='padding:0 12px'>No motion has these words in its name.</p>")
        show(
            self._cards,
            marked(
                "<div style='display:grid;grid-template-columns:repeat(auto-fill,minmax(150px,1fr));gap:10px;"
                "padding:6px 12px 12px'>{}</div>{}{}", cards, none, more,
            ),
        )  # fmt: skip

    def _open(self, number: str | float) -> None:
        try:
            name = self._names[int(number)]
        except (ValueError, IndexError, OverflowError):
            return
        self._page.session.open(name)
        self.hide()
        self._page.refresh()
        self._page.later(lambda: self._page.stage.look_at(self._page.cast))


def _head() -> Marked:
    return marked(
        "<div style='display:flex;gap:10px;align-items:center;padding:6px 12px;font-size:14px;flex-wrap:wrap'>"
        "<b>Choose a motion</b><input data-parc-change='find' placeholder='Search: climb, run, stairs ...' aria-label='Find' "
        "title='Words of the name or the skill; press Enter' style='{}flex:1;cursor:text;min-width:120px'>"
        "<button type='button' data-parc-do='close-gallery' title='Back to the view' style='{}'>Close</button></div>",
        _BUTTON,
        _BUTTON,
    )


def _card(number: int, item: Listed, picture: str | None) -> Marked:
    image = (
        marked("<div style='aspect-ratio:176/124;background:rgba(128,128,128,.15)'></div>")
        if not picture
        else marked("<img src='{}' alt='' style='width:100%;aspect-ratio:176/124;object-fit:cover;display:block'>", picture)
    )
    seconds = "" if item.seconds is None else f" · {item.seconds:.1f} s"
    skill = (item.skill or item.name).replace("_", " ")
    return marked(
        "<button type='button' data-parc-do='open' data-parc-value='{}' title='{}' style='text-align:left;padding:0;"
        "cursor:pointer;border:1px solid var(--mantine-color-default-border);border-radius:6px;overflow:hidden;"
        "background:var(--mantine-color-default);color:var(--mantine-color-text);font:inherit;font-size:12px'>{}"
        "<div style='padding:4px 8px'>"
        "<div style='white-space:nowrap;overflow:hidden;text-overflow:ellipsis'><b>{}</b>{}</div>"
        "<div style='opacity:.6;font-size:10px;white-space:nowrap;overflow:hidden;text-overflow:ellipsis'>{}</div>"
        "</div></button>",
        number,
        item.name,
        image,
        skill,
        seconds,
        item.name,
    )
