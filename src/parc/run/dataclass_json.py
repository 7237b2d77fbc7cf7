"""Dataclasses from JSON, and back: settings, notes and headers come in through here.

A file may be anybody's. So every value is checked against the type that the class names for it, nothing is called but the
dataclasses that these types name, and one sentence says what does not fit. What older files leave unsaid, a class says in a
static method `completed`, which gets the values of the file.
"""

import dataclasses
import functools
import math
import types
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from parc.errors import ParcError, SettingsError

T = TypeVar("T")


def to_json(value: Any) -> dict[str, Any]:
    """A dataclass as plain values: paths as text, frozen sets as sorted lists."""
    return _plain(dataclasses.asdict(value))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(v) for name, v in value.items()}
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return str(value) if isinstance(value, Path) else value


def from_json(kind: type[T], values: Any, error: type[ParcError] = SettingsError) -> T:
    """A dataclass from what `to_json` and JSON made of it; unknown names, missing ones and wrong types raise `error`."""
    if not isinstance(values, dict):
        raise error(f"{kind.__name__} is {str(values)[:40]}, expected an object of its fields")
    values = getattr(kind, "completed", dict)(values)
    hints, needed = _fields(typing.cast(Any, kind))
    if unknown := sorted(str(name)[:40] for name in values.keys() - hints.keys()):
        raise error(f"{kind.__name__} has no field {', '.join(unknown)}; it has {', '.join(sorted(hints))}")
    if missing := sorted(needed - values.keys()):
        raise error(f"{kind.__name__} lacks {', '.join(missing)}")
    return kind(**{name: _value(hints[name], value, f"{kind.__name__}.{name}", error) for name, value in values.items()})


def tidy(value: Any, digits: int | None = None) -> Any:
    """Plain values for JSON, which has no NaN and no infinity: null instead; floats keep so many significant digits."""
    if isinstance(value, dict):
        return {str(k): tidy(v, digits) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [tidy(v, digits) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return float(f"{value:.{digits}g}") if isinstance(value, float) and digits else value


def reader(kind: type[T], error: type[ParcError] = SettingsError) -> Callable[[Any], T]:
    """`from_json` of one class."""
    return functools.partial(from_json, kind, error=error)


@functools.cache
def _fields(kind: Any) -> tuple[dict[str, Any], frozenset[str]]:
    """Types by name, and the names that have no default."""
    hints = typing.get_type_hints(kind)
    fields = dataclasses.fields(kind)
    empty = dataclasses.MISSING
    return (
        {field.name: hints[field.name] for field in fields},
        frozenset(f.name for f in fields if f.default is empty and f.default_factory is empty),
    )


def _value(hint: Any, value: Any, name: str, error: type[ParcError]) -> Any:
    """`value` as the type `hint` has it."""
    origin, arms = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return _value(_arm(arms, value), value, name, error)
    if hint is Any or (dataclasses.is_dataclass(hint) and type(value) is hint):
        return value
    if dataclasses.is_dataclass(hint):
        return from_json(hint, value, error)  # type: ignore[arg-type]
    if origin in (tuple, frozenset, list) and isinstance(value, list | tuple):
        inner = arms if origin is tuple and arms[1:] != (...,) else arms[:1] * len(value)
        if len(inner) == len(value):
            return origin(_value(arm, part, name, error) for arm, part in zip(inner, value, strict=True))
    if origin is dict and isinstance(value, dict):
        return {_value(arms[0], k, name, error): _value(arms[1], v, f"{name}.{str(k)[:40]}", error) for k, v in value.items()}
    if hint is Path and isinstance(value, str):
        return Path(value)
    if (origin is typing.Literal and value in arms) or type(value) is hint or (hint is float and type(value) is int):
        return value
    expected = getattr(hint, "__name__", hint) if origin is None else hint
    raise error(f"{name} is {str(value)[:40]!r}, expected {expected}")


def _arm(arms: tuple[Any, ...], value: Any) -> Any:
    """The type of a union that a value is of: its own class, the class with its names, or what is no dataclass."""
    classes = [arm for arm in arms if dataclasses.is_dataclass(arm)]
    if type(value) in classes:
        return type(value)
    if isinstance(value, dict) and classes:
        return min(classes, key=lambda arm: len(_fields(typing.cast(Any, arm))[0].keys() ^ value.keys()))
    if value is None and types.NoneType in arms:
        return types.NoneType
    return next((arm for arm in arms if arm is not types.NoneType and arm not in classes), arms[0])
