"""Reading one field of a foreign file: the right type and shape, or one sentence that says what is wrong."""

from collections.abc import Collection
from typing import Any

import numpy as np
import torch
from torch import Tensor

from parc.dataset.convert.safe_unpickle import PickledObject
from parc.errors import FormatError

MOST_FRAMES = 200_000
"""of one take: 28 minutes at 120 frames a second; what is made of a frame is many times what the file holds of it"""
_LOOP_MODES = {"clamp": False, "none": False, "wrap": True}


def block(value: Any, field: str, name: str) -> dict:
    """A dict of fields."""
    if not isinstance(value, dict):
        raise FormatError(f"{name}: {field} is a {type(value).__name__}, expected a dict")
    return value


def check_frames(frames: int, name: str) -> None:
    """Refuse a take that is longer than anything that is read in one piece."""
    if frames > MOST_FRAMES:
        raise FormatError(f"{name} has {str(frames)[:20]} frames or rows, {MOST_FRAMES} are the most; cut it into pieces")


def check_keys(fields: dict, required: Collection[str], known: Collection[str], where: str, name: str) -> None:
    """Refuse fields that nobody knows, and the lack of those that are required."""
    for key in fields:
        if key not in known:
            raise FormatError(f"{name}: {where} has an unknown field {short(key)}; known are {', '.join(known)}")
    for key in required:
        if key not in fields:
            raise FormatError(f"{name}: {where} has no field '{key}'")


def numbers(value: Any, shape: tuple[int | None, ...], field: str, name: str) -> Tensor:
    """A float32 tensor; None in `shape` is any length."""
    if isinstance(value, PickledObject):
        raise FormatError(f"{name}: {field} is an object of '{value.kind}', expected a numpy array")
    if shape[:1] == (None,) and isinstance(value, list | tuple):
        check_frames(len(value), name)
    if not _is_numeric(value, len(shape)):
        raise FormatError(f"{name}: {field} is {short(value)}, expected numbers in {len(shape)} levels of lists")
    try:
        array = np.asarray(value)
    except ValueError:
        raise FormatError(f"{name}: {field} is a ragged list, expected a numeric array") from None
    if array.dtype.kind not in "biuf":
        raise FormatError(f"{name}: {field} holds {array.dtype}, expected numbers")
    if array.ndim != len(shape) or any(want is not None and want != have for want, have in zip(shape, array.shape, strict=True)):
        wanted = ", ".join("*" if n is None else str(n) for n in shape)
        raise FormatError(f"{name}: {field} has shape {list(array.shape)}, expected [{wanted}]")
    with np.errstate(over="ignore"):  # too large for float32 becomes infinite, which the motion or terrain refuses by name
        return torch.from_numpy(np.array(array, dtype=np.float32, order="C"))


def number(value: Any, field: str, name: str) -> float:
    """A field of a file as a number."""
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise FormatError(f"{name}: {field} is {short(value)}, expected a number")
    try:
        return float(value)
    except OverflowError:
        raise FormatError(f"{name}: {field} is too large a number") from None


def loops(value: Any, name: str) -> bool:
    """Loop mode as a name (CLAMP, WRAP, any case), a number (0, 1) or a stored member of the enum LoopMode."""
    if isinstance(value, PickledObject) and value.arguments:
        value = value.arguments[0]
    if isinstance(value, str) and value.lower() in _LOOP_MODES:
        return _LOOP_MODES[value.lower()]
    if isinstance(value, (bool, int, float)) and value in (0, 1):
        return bool(value)
    raise FormatError(f"{name}: loop_mode is {short(value)}, expected CLAMP (0) or WRAP (1)")


def short(value: Any) -> str:
    """For a sentence: plain values as they are, of others the type; a nest is never written out, as that may have no end."""
    if value is None or isinstance(value, bool | float) or (isinstance(value, int) and abs(value) < 10**18):
        return repr(value)
    if isinstance(value, str | bytes) and len(value) <= 40:
        return repr(value)
    return f"a {type(value).__name__}"


def _is_numeric(value: Any, levels: int) -> bool:
    """Numbers in lists, or an array: what numpy makes of texts may be a million times larger than they are."""
    if isinstance(value, list | tuple) and levels > 0:
        return all(_is_numeric(item, levels - 1) for item in value)
    return isinstance(value, int | float | np.ndarray)
