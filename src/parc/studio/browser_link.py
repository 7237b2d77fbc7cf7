"""Opening the studio in the person's own browser, without other users of the machine seeing the token."""

import html
import os
import sys
import webbrowser
from pathlib import Path
from tempfile import TemporaryDirectory


def has_display() -> bool:
    """Whether a browser window would be seen: not in a shell on another machine, nor on one without a desktop."""
    if "SSH_CONNECTION" in os.environ:
        return False
    return sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


class BrowserLink:
    """A file that only this user can read and that leads to the address.

    A browser's command line is seen by all users of the machine, so it gets the file's name and not the address.
    """

    def __init__(self, url: str) -> None:
        self._folder = TemporaryDirectory(prefix="parc-studio-")  # made with rights for this user only
        self.file = Path(self._folder.name) / "open.html"
        refresh = f'<meta http-equiv="refresh" content="0;url={html.escape(url)}">'
        page = f'<!doctype html><meta name="referrer" content="no-referrer">{refresh}<title>parc studio</title>'
        self.file.write_bytes(page.encode())

    def open(self) -> bool:
        """Whether a browser was found."""
        try:
            return webbrowser.open(self.file.as_uri())
        except (OSError, webbrowser.Error):
            return False

    def close(self) -> None:
        self._folder.cleanup()
