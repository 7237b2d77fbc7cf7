"""parc: physics-simulated characters that cross difficult ground (PARC, SIGGRAPH 2025).

    import parc

    result = parc.traverse("boxes", seed=3)     # a new terrain, crossed in physics by the models in the box
    parc.save(result, "out/crossed")            # motions, and a page that replays them

Functions: traverse, generate, correct, track, record, load, save. Types: Terrain, Clip, Dataset, Character, Generator, Tracker.
They are imported when they are first used (`parc.api`), so `import parc` takes a moment and brings no torch.
"""

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inspect import Signature

    from parc.api import (
        Character,
        Clip,
        Dataset,
        Generator,
        Models,
        Terrain,
        Tracker,
        correct,
        generate,
        load,
        record,
        save,
        track,
        traverse,
    )

__version__ = "0.3.0"

__all__ = [
    "Character", "Clip", "Dataset", "Generator", "Models", "Terrain", "Tracker",
    "correct", "generate", "load", "record", "save", "track", "traverse",
]  # fmt: skip

_FOLDERS = ("correct", "generate", "record", "track")
"""functions that have the name of a folder"""


class _CalledFolder(ModuleType):
    """A folder that can be called: `parc.track(clip)` is `parc.api.track(clip)`, and `parc.track.env` is a folder still."""

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return _function(self.__name__)(*arguments, **named)

    @property
    def __signature__(self) -> "Signature":
        from inspect import signature

        return signature(_function(self.__name__))


class _Front(ModuleType):
    """This package: whoever imports one of these folders first, it can be called."""

    def __setattr__(self, name: str, value: object) -> None:
        if name in _FOLDERS and type(value) is ModuleType:
            value.__class__ = _CalledFolder
        super().__setattr__(name, value)


def _function(folder: str) -> Any:
    return getattr(importlib.import_module("parc.api"), folder.rpartition(".")[2])


def __getattr__(name: str) -> Any:
    if name in _FOLDERS:
        return importlib.import_module(f"parc.{name}")
    if name in __all__:
        return getattr(importlib.import_module("parc.api"), name)
    raise AttributeError(f"module 'parc' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


sys.modules[__name__].__class__ = _Front
