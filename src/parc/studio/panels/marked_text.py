"""Text for the page that may hold Markdown or HTML. The markup is ours; every value that is put into it shows as plain text.

The page runs what HTML it is given, so a clip's name, a file's or an error's text must never become markup. All such text passes
here: a control accepts `Marked` only, and `marked` alone makes it, from a template that stands in the source.
"""

from collections.abc import Iterable
from string import Formatter
from typing import Any

from viser import GuiApi, GuiHtmlHandle, GuiMarkdownHandle


class Marked(str):
    """Markup that holds no text of others except as plain text."""


def marked(template: str, *values: object) -> Marked:
    """The template with values in its places, formatted as `str.format` does; `Marked` values stay as they are."""
    return Marked(_PLAIN.vformat(template, values, {}))


def joined(parts: Iterable[Marked]) -> Marked:
    """One after another."""
    return Marked("".join(_checked(part) for part in parts))


def plain(text: str) -> str:
    """Text of others, so that Markdown and HTML show it letter by letter: all but letters, digits and blanks become numbers."""
    return "".join(c if c.isalnum() or c == " " else f"&#{ord(c)};" for c in text)


def add_markdown(gui: GuiApi, text: Marked, visible: bool = True) -> GuiMarkdownHandle:
    """A text in the panel; what came from outside is escaped."""
    return gui.add_markdown(_checked(text), visible=visible)


def add_html(gui: GuiApi, text: Marked) -> GuiHtmlHandle:
    """A piece of HTML in the panel; what came from outside is escaped."""
    return gui.add_html(_checked(text))


def show(control: GuiMarkdownHandle | GuiHtmlHandle, text: Marked) -> None:
    """Put another text into a control."""
    control.content = _checked(text)


class _Plain(Formatter):
    def format_field(self, value: Any, spec: str) -> str:
        return str(value) if isinstance(value, Marked) else plain(format(value, spec))


_PLAIN = _Plain()


def _checked(text: Marked) -> str:
    if not isinstance(text, Marked):
        raise TypeError("text for the page must come from marked()")
    return str(text)
