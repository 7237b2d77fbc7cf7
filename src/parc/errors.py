"""What a user can get wrong. Every message names the wrong value and what was expected.

The command line prints the message of a `ParcError` as one sentence and exits with code 2; anything
else that escapes is a bug of ours and keeps its traceback.
"""

LONGEST = 2000
"""characters of a message; names out of a file may have millions"""


def printable(text: str) -> str:
    """A text out of a file as one line that a terminal only shows.

    Signs that it would obey (escape sequences, line ends, marks that turn the direction of writing) and halves of characters
    become their codes: `\\x1b`.
    """
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


class ParcError(Exception):
    """Base of every error that is the input's fault, not the program's."""

    def __str__(self) -> str:
        """What a file says of itself may be long, and may hold signs that a terminal obeys."""
        text = super().__str__()
        told = "\n".join(map(printable, text[:LONGEST].split("\n")))
        return told if len(text) <= LONGEST and len(told) <= LONGEST else f"{told[: LONGEST - 3]}..."


class CharacterError(ParcError):
    """A character description that cannot be built, or that does not fit the data given with it."""


class MotionError(ParcError):
    """Motion arrays of wrong shape, wrong content or zero length."""


class TerrainError(ParcError):
    """A terrain that is empty, not finite, or cannot be made from what was given."""


class PathError(ParcError):
    """A cell off the map, or a goal that cannot be reached."""


class FormatError(ParcError):
    """A file that is not what its extension says, is damaged, or would run code."""


class DatasetError(ParcError):
    """A data set folder that is missing, incomplete or inconsistent."""


class SettingsError(ParcError):
    """A setting with an unknown name, a wrong type or an impossible value."""
