"""The door through which files come in: plain files of bounded size, and one sentence for whatever is wrong with them.

A reader of any format takes its bytes from `read_bytes`, its JSON from `parse_json`, and does its work inside `reading(name)`:
then a file that no one thought of ends as a `FormatError` that names it, and whatever goes through many files goes on with the
next. Each format bounds in its own reader what it makes of the bytes, so that a small file cannot ask for much time or memory.
"""

import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from parc.errors import FormatError, ParcError

MOST_BYTES = 2**28
"""of a motion file, an image or a mesh; data sets and models are mapped into memory and may be of any size"""
MOST_TEXT = 2**26
"""bytes of JSON: an empty list is two bytes in the file and thirty times that in memory"""


def check_plain_file(path: Path | str, most: int | None = None) -> None:
    """Refuse what is no plain file (a folder, a pipe, a device: reading from those may never end) or is too large."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        raise FormatError(f"{path} does not exist") from None
    except (OSError, ValueError) as error:
        raise FormatError(f"{path} cannot be read ({getattr(error, 'strerror', None) or error})") from None
    if stat.S_ISDIR(status.st_mode):
        raise FormatError(f"{path} is a folder, a file was expected")
    if not stat.S_ISREG(status.st_mode):
        raise FormatError(f"{path} is a pipe or a device, a plain file was expected")
    if most is not None and status.st_size > most:
        raise FormatError(f"{path} has {status.st_size / 2**20:.0f} MB, a file of its kind has {most / 2**20:.0f} MB at most")


def read_bytes(path: Path | str, most: int = MOST_BYTES) -> bytes:
    """The content of a plain file."""
    check_plain_file(path, most)
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            data = file.read(min(size, most) + 1)  # a buffer of what is asked for is taken at once
    except OSError as error:
        raise FormatError(f"{path} cannot be read ({error.strerror})") from None
    if len(data) > size or size > most:
        raise FormatError(f"{path} grew while it was read")
    return data


def parse_json(text: str | bytes, name: str) -> Any:
    """The value of a JSON text; `name` is the file's, for messages."""
    if len(text) > MOST_TEXT:
        raise FormatError(f"{name} holds {len(text) / 2**20:.0f} MB of JSON, {MOST_TEXT / 2**20:.0f} MB are the most")
    try:
        return json.loads(text)
    except RecursionError:
        raise FormatError(f"{name} is not readable JSON: it is nested too deeply") from None
    except ValueError as error:
        raise FormatError(f"{name} is not JSON ({first_line(error)})") from None


def read_json(path: Path | str) -> Any:
    """The value of a JSON file."""
    return parse_json(read_bytes(path, MOST_TEXT), str(path))


@contextmanager
def reading(name: str, kind: str = "file", error: type[ParcError] = FormatError) -> Iterator[None]:
    """What goes wrong inside becomes one sentence about `name`; sentences that were made inside pass."""
    try:
        yield
    except (ParcError, OSError):
        raise
    except MemoryError:
        raise error(f"{name} asks for more memory than there is; it is damaged, or larger than this machine can read") from None
    except RecursionError:
        raise error(f"{name} is nested too deeply to be read") from None
    except Exception as problem:
        raise error(f"{name} is damaged or not a readable {kind} ({type(problem).__name__}: {first_line(problem)})") from problem


def first_line(error: BaseException, longest: int = 120) -> str:
    """Of an error's text, cut to `longest`."""
    lines = str(error).strip().splitlines()
    return (lines[0] if lines else type(error).__name__)[:longest]
