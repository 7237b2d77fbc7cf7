"""The one callback by which long work says how far it is: to a command's bar, to the studio's job, to your own program."""

from typing import Protocol


class OnProgress(Protocol):
    """Called as work goes on, from the thread that does it. It may raise to end the work."""

    def __call__(self, done: float, total: float, note: str = "") -> object:
        """So much of so much is done; `note` says what is going on."""
        ...
