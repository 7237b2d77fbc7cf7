"""Names of clips as names of files: the one place where a name that came from a file or a person becomes part of a path.

Clips may be called anything, "climb/take 3" or "../../etc". A file gets the name if it is harmless on every system, and else a
harmless one that tells the same names apart: what may not stand there becomes '_', and eight digits of a hash follow.
"""

import os
import re

from parc.errors import FormatError
from parc.run.hashing import hash_text

_LONGEST = 120
"""characters; with an extension and a temporary file's mark it stays below the 255 bytes of a name"""
_HARMFUL = re.compile(r"[^\w\-.+=@,() ]")
_RESERVED = re.compile(r"(con|prn|aux|nul|com[\d¹²³]|lpt[\d¹²³])(\..*)?", re.IGNORECASE)
"""what Windows does not let a file be called"""


def file_name(name: str) -> str:
    """A harmless file name, without an extension; different names give different ones."""
    safe = _HARMFUL.sub("_", name).strip(" ").lstrip(".").rstrip(". ")[:_LONGEST]
    if _RESERVED.fullmatch(safe):
        safe = f"_{safe}"
    if name and safe == name and len(name.encode()) <= _LONGEST:
        return name
    while len(safe.encode()) > _LONGEST:
        safe = safe[:-1]
    return f"{safe or '_'}-{hash_text(name, 'surrogatepass')[:8]}"


def upload_name(name: str) -> str:
    """A harmless name for the content of somebody's file: one part, which keeps its extension."""
    stem, extension = os.path.splitext(re.split(r"[/\\]", name)[-1])
    return file_name(stem) + _HARMFUL.sub("_", extension)[:20]


def check_label(text: str, what: str) -> None:
    """Refuse a label that is a path or cannot be printed; `what` begins the sentence."""
    if any(mark in text for mark in ("/", "\\", "..")) or not text.isprintable() or len(text) > _LONGEST:
        raise FormatError(f"{what} is {text[:60]!r}, expected a word or a few, without slashes, '..' and control characters")
