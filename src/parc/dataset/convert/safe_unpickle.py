"""Reading other people's pickles without running anything in them.

A pickle is a program: it names functions ("globals") and calls them. It is run here by a machine of our own
(`parc.dataset.convert.pickle_machine`), never by Python's. This module says what its names mean: only those that numpy arrays and
plain containers are made of, and even those are bound to the inert stand-ins below, which copy bytes into an array after checking
their type and size; numpy's own reconstruction code is never reached. Objects of a few known foreign classes (the paper's old
terrain class, torch tensors) become a `PickledObject`, which holds the values stored with the object and can do nothing; nothing
is imported for them. Any other name raises a `FormatError` that says it, before the call that uses it.

    c os\nsystem          -> FormatError: ... would call 'os.system' ...
    c util.terrain_util\nSubTerrain   -> Record('util.terrain_util.SubTerrain'), state {'hf': array, ...}
"""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from parc.dataset.convert.pickle_machine import Inert, Sealed, check_key, run_pickle
from parc.errors import FormatError
from parc.run.file_reading import reading

INERT_CLASSES = frozenset({"SubTerrain", "BodyConstraint", "LoopMode", "Motion"})
"""Class names of the paper's code and of MimicKit that appear in motion files; any module may hold them."""

_NUMPY_MODULES = ("numpy.core", "numpy._core", "numpy")
_SCALAR_KINDS = "biufSU"
_LONGEST_TYPE = 32
"""characters of a numpy type's name"""
_MOST_AXES = 32
_MOST_VALUES = 2**25
"""that a pickle may unfold to: one list named twice in another counts twice, as everything that reads it does"""


class PickledObject(Inert):
    """What was stored with an object of a foreign class."""

    def __init__(self, kind: str, arguments: tuple = ()) -> None:
        self.kind = kind
        self.arguments = arguments
        self.state: dict[str, Any] = {}

    def __setstate__(self, state: Any) -> None:
        parts = state if isinstance(state, tuple) else (state,)
        for part in parts:
            if isinstance(part, dict):
                self.state.update(part)

    def __repr__(self) -> str:
        return f"Record({self.kind!r})"


def safe_loads(data: bytes, name: str) -> Any:
    """The object in a pickle made of numbers, strings, containers and numpy arrays; `name` is the file's, for messages."""
    with reading(name, "pickle"):
        value = _thaw(run_pickle(data, name, lambda module, attribute: _stand_in(module, attribute, name)), {})
        _check_spread(value, name)
        return value


def _stand_in(module: str, attribute: str, name: str) -> Callable:
    """What a global of a pickle means here."""
    parent, _, child = module.rpartition(".")
    if module in _NUMPY_MODULES and attribute in _NUMPY_NAMES:
        return _NUMPY_NAMES[attribute]
    if parent in _NUMPY_MODULES and child in ("multiarray", "numeric", "_multiarray_umath") and attribute in _NUMPY_NAMES:
        return _NUMPY_NAMES[attribute]
    plain = (_PYTHON_2_MODULES.get(module, module), attribute)
    if plain in _PLAIN_NAMES:
        return _PLAIN_NAMES[plain]
    if attribute in INERT_CLASSES or module.split(".")[0] == "torch":
        return _record_class(f"{module}.{attribute}")
    told = f"{module}.{attribute}"[:100]
    raise FormatError(f"{name} is refused: it would call '{told}', only arrays and plain values are read")


def _record_class(kind: str) -> type[PickledObject]:
    """A class of its own, since a pickle may make the object by `cls.__new__(cls)` as well as by a call."""

    class Foreign(PickledObject):
        def __new__(cls, *arguments: Any, **_: Any) -> "Foreign":
            self = object.__new__(cls)
            PickledObject.__init__(self, kind, arguments)
            return self

        def __init__(self, *_: Any, **__: Any) -> None:
            pass

    return Foreign


class _Dtype(Inert):
    """A numpy dtype by name only; structured and object types keep their name and are refused where an array is made of them."""

    def __init__(self, name: Any, *_: Any) -> None:
        if not isinstance(name, str) or len(name) > _LONGEST_TYPE:
            raise ValueError("the type of an array is no short text")
        self.name = name
        self.order: Literal["<", ">", "|", "="] = "="

    def __setstate__(self, state: tuple) -> None:
        if len(state) > 1 and state[1] in ("<", ">", "|", "="):
            self.order = state[1]

    def resolve(self) -> np.dtype:
        dtype = np.dtype(self.name)
        if dtype.kind not in _SCALAR_KINDS:
            raise ValueError(f"an array of type {self.name!r} is not numeric")
        return dtype.newbyteorder(self.order) if self.order in ("<", ">") else dtype


class _Array(Inert):
    """An array being read: made empty, then filled by `__setstate__`."""

    value: Any = None

    def __setstate__(self, state: tuple) -> None:
        _, shape, dtype, fortran, data = state
        if dtype.name in ("O", "O8", "object"):
            self.value = data  # a list of other values of this pickle; the reader of a field decides whether it takes that
            return
        self.value = _as_array(data, dtype.resolve(), shape, "F" if fortran else "C")


def _as_array(data: Any, dtype: np.dtype, shape: tuple, order: Literal["C", "F"]) -> np.ndarray:
    if len(shape) > _MOST_AXES:
        raise ValueError(f"an array of {len(shape)} axes")
    raw = _bytes_of(data)
    flat = np.frombuffer(raw, dtype) if raw else np.zeros(0, dtype)
    return flat.reshape(shape, order=order)


def _reconstruct(*_: Any) -> _Array:
    return _Array()


def _from_buffer(data: Any, dtype: _Dtype, shape: tuple, order: str, *_: Any) -> np.ndarray:
    return _as_array(data, dtype.resolve(), shape, "F" if order == "F" else "C")


def _scalar(dtype: _Dtype, data: Any = None) -> Any:
    return _as_array(data, dtype.resolve(), (), "C").item()


def _bytes_of(data: Any = b"", codec: str = "latin1") -> bytes:
    """Bytes, also where an old protocol stored them as text."""
    if isinstance(data, str) and codec in ("latin1", "latin-1"):
        return data.encode("latin1")
    if isinstance(data, (bytes, bytearray)):
        return bytes(data)
    raise ValueError(f"{type(data).__name__} where bytes were expected")


def _nothing(*_: Any) -> Any:
    raise ValueError("an object of no class")


def _object_of(cls: Any, *_: Any) -> Any:
    """Stand-in of copyreg's helper of old protocols; only records may be made through it."""
    if isinstance(cls, type) and issubclass(cls, PickledObject):
        return cls.__new__(cls)
    raise ValueError("an object of an unexpected class")


def _set_of(items: Any = ()) -> set:
    return {check_key(item) for item in items}


def _ordered(pairs: Any = ()) -> dict:
    return {check_key(key): value for key, value in pairs}


_NUMPY_NAMES: dict[str, Callable] = {
    "_reconstruct": Sealed(_reconstruct),
    "scalar": Sealed(_scalar),
    "_frombuffer": Sealed(_from_buffer),
    "dtype": _Dtype,
    "ndarray": _Array,
}
_PYTHON_2_MODULES = {"__builtin__": "builtins", "copy_reg": "copyreg"}
"""Protocols 0 to 2 write these names, whatever Python wrote them."""
_PLAIN_NAMES: dict[tuple[str, str], Callable] = {
    ("_codecs", "encode"): Sealed(_bytes_of),
    ("builtins", "bytes"): Sealed(_bytes_of),
    ("builtins", "bytearray"): Sealed(_bytes_of),
    ("collections", "OrderedDict"): Sealed(_ordered),
    ("copyreg", "_reconstructor"): Sealed(_object_of),
    ("builtins", "object"): Sealed(_nothing),
    ("builtins", "set"): Sealed(_set_of),
    ("builtins", "frozenset"): Sealed(_set_of),
}


def _thaw(value: Any, done: dict[int, Any]) -> Any:
    """Arrays in place of the half-made ones, at any depth; shared objects are visited once."""
    if isinstance(value, _Array):
        return _thaw(value.value, done)
    if not isinstance(value, (dict, list, tuple, PickledObject)):
        return value
    if id(value) in done:
        return done[id(value)]
    done[id(value)] = value
    if isinstance(value, dict):
        for key in list(value):
            value[key] = _thaw(value[key], done)
    elif isinstance(value, list):
        value[:] = [_thaw(item, done) for item in value]
    elif isinstance(value, PickledObject):
        value.state = _thaw(value.state, done)
        value.arguments = tuple(_thaw(item, done) for item in value.arguments)
    else:
        done[id(value)] = tuple(_thaw(item, done) for item in value)
    return done[id(value)]


def _check_spread(value: Any, name: str) -> None:
    """Refuse nests that are small in the file and huge when walked through, and those that hold themselves."""
    sizes: dict[int, int] = {}

    def size(part: Any) -> int:
        if not isinstance(part, dict | list | tuple | PickledObject):
            return 1
        if id(part) in sizes:
            if not sizes[id(part)]:
                raise FormatError(f"{name} is refused: a list in it holds itself")
            return sizes[id(part)]
        inner = (
            part.values()
            if isinstance(part, dict)
            else [part.state, *part.arguments]
            if isinstance(part, PickledObject)
            else part
        )
        sizes[id(part)] = 0
        total = 1 + sum(map(size, inner))
        if total > _MOST_VALUES:
            raise FormatError(f"{name} is refused: it unfolds to more than {_MOST_VALUES} values")
        sizes[id(part)] = total
        return total

    size(value)
