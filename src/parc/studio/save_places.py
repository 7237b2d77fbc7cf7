"""Where the page may write: below folders that were named when the studio was started, and nowhere else.

A place is judged by where it really is, with `..` and links followed, so a link inside a named folder leads out of it
as little as a path does.
"""

from collections.abc import Sequence
from pathlib import Path

from parc.errors import DatasetError

DEFAULT = Path("out")
"""in the working directory, if no folder is named"""


class SavePlaces:
    """`folders` are data sets or folders of them; the first is offered. With `dataset` that one is, and belongs to them."""

    def __init__(self, folders: Sequence[Path | str] = (), dataset: Path | str | None = None) -> None:
        named = [Path(folder) for folder in folders] or [DEFAULT]
        self.offered = str(dataset if dataset is not None else named[0] / "studio")
        """what the page proposes"""
        self._folders = [folder.expanduser() for folder in (named if dataset is None else [Path(dataset), *named])]
        self._real = [folder.resolve() for folder in self._folders]

    def __str__(self) -> str:
        return " or ".join(str(folder) for folder in self._folders)

    def admit(self, typed: Path | str) -> Path:
        """The place that was typed, or a sentence that says where saving is allowed."""
        if not str(typed).strip():
            raise DatasetError("name the folder of a data set to save to")
        try:
            path = Path(typed).expanduser()
            real = path.resolve()
        except (OSError, RuntimeError, ValueError):
            raise DatasetError("this folder cannot be found; type a path without strange letters") from None
        if not any(real.is_relative_to(folder) for folder in self._real):
            raise DatasetError(f"'{typed}' is not below {self}; the studio saves there only, or where --save-below allows it")
        return real
