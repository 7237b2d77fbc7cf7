"""The machine that a pickle is a program for, written so that nothing in the program can leave it.

A pickle pushes values on a stack, stores some in numbered slots, puts them together, and calls what it names. Here the only
things that can be called are what the caller gives for a name: a `Sealed` function, or an `Inert` class. What they are given is
counted, and keys of dicts are plain values, so the work done is bounded by the length of the file.
"""

import pickletools
from collections.abc import Callable
from typing import Any

from parc.errors import FormatError

_KEYS = (str, int, float, bytes, type(None))
_LONGEST_KEY = 16
"""members of a tuple that is a key"""
_FREE_WORK = 2**26


class Inert:
    """Base of the classes whose objects a pickle may make and give a state."""

    def __setstate__(self, state: Any) -> None:
        raise ValueError("an object that takes no state")


class Sealed:
    """A function that a pickle may call and do nothing else with."""

    __slots__ = ("_function",)

    def __init__(self, function: Callable) -> None:
        self._function = function

    def __call__(self, *arguments: Any) -> Any:
        return self._function(*arguments)


def check_key(key: Any) -> Any:
    """A key of a dict or member of a set: a plain value, or a short tuple of them. Hashing nests can take for ever."""
    if isinstance(key, _KEYS):
        return key
    if isinstance(key, tuple) and len(key) <= _LONGEST_KEY and all(isinstance(part, _KEYS) for part in key):
        return key
    raise ValueError(f"a {type(key).__name__} as a key")


def run_pickle(data: bytes, name: str, meaning: Callable[[str, str], Any]) -> Any:
    """The value a pickle describes; `meaning(module, attribute)` gives what it may call by that name, or raises."""
    return _Machine(data, name, meaning).run()


class _Machine:
    def __init__(self, data: bytes, name: str, meaning: Callable[[str, str], Any]) -> None:
        self._data, self._name, self._meaning = data, name, meaning
        self._stack: list[Any] = []
        self._below: list[list[Any]] = []
        """what lies below each mark"""
        self._memo: dict[int, Any] = {}
        self._work = _FREE_WORK + 16 * len(data)

    def run(self) -> Any:
        for operation, argument, _ in pickletools.genops(self._data):
            name = operation.name
            if name in _VALUES:
                self._stack.append(argument)
            elif name == "STOP":
                return self._stack.pop()
            else:
                step = _STEPS.get(name)
                if step is None:
                    raise FormatError(f"{self._name} is refused: it uses '{name}', which no file of plain values needs")
                step(self, argument)
        raise ValueError("it does not end")

    def _pop_mark(self) -> list[Any]:
        items, self._stack = self._stack, self._below.pop()
        return items

    def mark(self, _: Any) -> None:
        self._below.append(self._stack)
        self._stack = []

    def pop(self, _: Any) -> None:
        if self._stack:
            self._stack.pop()
        else:
            self._pop_mark()

    def pop_mark(self, _: Any) -> None:
        self._pop_mark()

    def duplicate(self, _: Any) -> None:
        self._stack.append(self._stack[-1])

    def get(self, slot: Any) -> None:
        self._stack.append(self._memo[int(slot)])

    def put(self, slot: Any) -> None:
        self._memo[int(slot)] = self._stack[-1]

    def memoize(self, _: Any) -> None:
        self._memo[len(self._memo)] = self._stack[-1]

    def list_of(self, _: Any) -> None:
        items = self._pop_mark()
        self._stack.append(items)

    def tuple_of(self, _: Any) -> None:
        items = self._pop_mark()
        self._stack.append(tuple(items))

    def tuple_of_last(self, count: int) -> None:
        items = tuple(self._stack[-count:])
        if len(items) < count:
            raise ValueError("a tuple of values that are not there")
        del self._stack[-count:]
        self._stack.append(items)

    def dict_of(self, _: Any) -> None:
        items = self._pop_mark()
        self._stack.append({})
        self._set(items)

    def frozen_set(self, _: Any) -> None:
        items = self._pop_mark()
        self._stack.append({check_key(item) for item in items})

    def append(self, _: Any) -> None:
        item = self._stack.pop()
        self._extend([item])

    def extend(self, _: Any) -> None:
        self._extend(self._pop_mark())

    def _extend(self, items: list[Any]) -> None:
        target = self._stack[-1]
        if not isinstance(target, list):
            raise ValueError(f"a {type(target).__name__} where a list was expected")
        target.extend(items)

    def set_item(self, _: Any) -> None:
        items = self._stack[-2:]
        del self._stack[-2:]
        self._set(items)

    def set_items(self, _: Any) -> None:
        self._set(self._pop_mark())

    def _set(self, items: list[Any]) -> None:
        target = self._stack[-1]
        if not isinstance(target, dict) or len(items) % 2:
            raise ValueError(f"keys and values for a {type(target).__name__}")
        for key, value in zip(items[::2], items[1::2], strict=True):
            target[check_key(key)] = value

    def add_items(self, _: Any) -> None:
        items, target = self._pop_mark(), self._stack[-1]
        if not isinstance(target, set):
            raise ValueError(f"members for a {type(target).__name__}")
        target.update(check_key(item) for item in items)

    def name(self, argument: Any) -> None:
        module, _, attribute = str(argument).partition(" ")
        self._stack.append(self._meaning(module, attribute))

    def stack_name(self, _: Any) -> None:
        attribute, module = self._stack.pop(), self._stack.pop()
        if not isinstance(module, str) or not isinstance(attribute, str):
            raise ValueError("a name that is no text")
        self._stack.append(self._meaning(module, attribute))

    def call(self, _: Any) -> None:
        arguments, function = self._stack.pop(), self._stack.pop()
        self._stack.append(self._call(function, arguments))

    def instance(self, argument: Any) -> None:
        module, _, attribute = str(argument).partition(" ")
        arguments = self._pop_mark()
        self._stack.append(self._call(self._meaning(module, attribute), tuple(arguments)))

    def instance_of(self, _: Any) -> None:
        function, *arguments = self._pop_mark()
        self._stack.append(self._call(function, tuple(arguments)))

    def new(self, _: Any) -> None:
        arguments, cls = self._stack.pop(), self._stack.pop()
        if isinstance(cls, type) and issubclass(cls, Inert) and isinstance(arguments, tuple):
            self._charge(arguments)
            self._stack.append(cls.__new__(cls, *arguments))
        else:  # a stand-in function for a class
            self._stack.append(self._call(cls, arguments))

    def new_with_names(self, _: Any) -> None:
        names = self._stack.pop()
        if names:
            raise ValueError("arguments by name")
        self.new(None)

    def build(self, _: Any) -> None:
        state, target = self._stack.pop(), self._stack[-1]
        if isinstance(target, Inert):
            target.__setstate__(state)
        elif state is not None:
            raise ValueError(f"a state for a {type(target).__name__}")

    def outside(self, _: Any) -> None:
        raise FormatError(f"{self._name} is refused: it refers to an object outside the file")

    def nothing(self, _: Any) -> None:
        pass

    def _call(self, function: Any, arguments: Any) -> Any:
        is_known = isinstance(function, Sealed) or (isinstance(function, type) and issubclass(function, Inert))
        if not is_known or not isinstance(arguments, tuple):
            raise ValueError(f"a call of a {type(function).__name__}")
        self._charge(arguments)
        return function(*arguments)

    def _charge(self, arguments: tuple) -> None:
        """What is given to a call is copied or walked through there: a long value given again and again is work without end."""
        self._work -= 1 + sum(len(a) for a in arguments if isinstance(a, str | bytes | bytearray | list | tuple | dict | set))
        if self._work < 0:
            raise FormatError(f"{self._name} is refused: it asks for more work than a file of its size needs")


_VALUES = frozenset({
    "INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT", "STRING", "BINSTRING",
    "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8",
    "BYTEARRAY8",
})  # fmt: skip
"""operations whose argument is the value"""


def _push(make: Callable[[], Any]) -> Callable[[_Machine, Any], None]:
    return lambda machine, _: machine._stack.append(make())


_STEPS: dict[str, Callable[[_Machine, Any], None]] = {
    "PROTO": _Machine.nothing, "FRAME": _Machine.nothing, "MARK": _Machine.mark, "POP": _Machine.pop,
    "POP_MARK": _Machine.pop_mark, "DUP": _Machine.duplicate, "NONE": _push(lambda: None), "NEWTRUE": _push(lambda: True),
    "NEWFALSE": _push(lambda: False), "EMPTY_LIST": _push(list), "EMPTY_DICT": _push(dict), "EMPTY_SET": _push(set),
    "EMPTY_TUPLE": _push(tuple), "LIST": _Machine.list_of, "TUPLE": _Machine.tuple_of, "DICT": _Machine.dict_of,
    "TUPLE1": lambda m, _: m.tuple_of_last(1), "TUPLE2": lambda m, _: m.tuple_of_last(2),
    "TUPLE3": lambda m, _: m.tuple_of_last(3), "FROZENSET": _Machine.frozen_set, "APPEND": _Machine.append,
    "APPENDS": _Machine.extend, "SETITEM": _Machine.set_item, "SETITEMS": _Machine.set_items, "ADDITEMS": _Machine.add_items,
    "GET": _Machine.get, "BINGET": _Machine.get, "LONG_BINGET": _Machine.get, "PUT": _Machine.put, "BINPUT": _Machine.put,
    "LONG_BINPUT": _Machine.put, "MEMOIZE": _Machine.memoize, "GLOBAL": _Machine.name, "STACK_GLOBAL": _Machine.stack_name,
    "REDUCE": _Machine.call, "BUILD": _Machine.build, "INST": _Machine.instance, "OBJ": _Machine.instance_of,
    "NEWOBJ": _Machine.new, "NEWOBJ_EX": _Machine.new_with_names, "PERSID": _Machine.outside, "BINPERSID": _Machine.outside,
}  # fmt: skip
