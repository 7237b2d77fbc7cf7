"""Writing pickles that old and new numpy both can read.

numpy 2 writes its own new module name, `numpy._core`, which numpy 1 does not know; numpy 2 still reads the old one. A pickle
names each function by module and name, so writing the old module name is all it takes. In the same way `Disguised` objects are
written under the name of a class that need not exist here.
"""

import io
import pickle
from typing import Any, ClassVar


class Disguised:
    """An object that will be read back as one of class `written_as`, with the same attributes."""

    written_as: ClassVar[tuple[str, str]]


def portable_dumps(value: Any) -> bytes:
    """A pickle of plain values and numpy arrays that old and new versions of numpy read."""
    buffer = io.BytesIO()
    _PortablePickler(buffer, protocol=4).dump(value)
    return buffer.getvalue()


_PythonPickler: Any = pickle._Pickler  # type: ignore[attr-defined, unused-ignore]
"""The pickler written in Python: the one in C offers no way to rename a global."""


class _PortablePickler(_PythonPickler):
    def save_global(self, obj: Any, name: str | None = None) -> None:
        module = getattr(obj, "__module__", None) or ""
        if module.startswith("numpy._core"):
            self._write_global(obj, module.replace("numpy._core", "numpy.core", 1), name or obj.__qualname__)
        elif isinstance(obj, type) and issubclass(obj, Disguised):
            self._write_global(obj, *obj.written_as)
        else:
            super().save_global(obj, name)

    def _write_global(self, obj: Any, module: str, name: str) -> None:
        self.save(module)
        self.save(name)
        self.write(pickle.STACK_GLOBAL)
        self.memoize(obj)
