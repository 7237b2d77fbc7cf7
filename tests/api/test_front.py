"""`import parc` brings no torch; functions that have the name of a folder can be called, and the folders stay folders."""

import inspect
import subprocess
import sys

import pytest

import parc
from parc import api

CODE = """
import sys
import parc
assert 'torch' not in sys.modules and 'numpy' not in sys.modules, 'importing parc imports numpy or torch'
assert set(parc.__all__) <= set(dir(parc))
import parc.generate.model
assert callable(parc.generate) and parc.generate.model.__name__ == 'parc.generate.model'
assert callable(parc.correct), 'asked for first as a function'
assert 'torch' not in sys.modules and 'numpy' not in sys.modules
"""


def test_folders_are_folders_and_functions() -> None:
    import parc.track.env.reward as reward

    assert parc.track.env.reward is reward and callable(parc.track)  # type: ignore[attr-defined]


def test_importing_parc_imports_nothing_else() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", [name for name in parc.__all__ if name[0].islower()])
def test_functions_are_those_of_the_room_with_a_sentence_and_an_example(name: str) -> None:
    function = getattr(api, name)
    assert inspect.signature(getattr(parc, name)) == inspect.signature(function)
    assert f"parc.{name}(" in function.__doc__
    hints = inspect.signature(function).parameters.values()
    assert all(parameter.annotation is not inspect.Parameter.empty for parameter in hints)


@pytest.mark.parametrize("name", [name for name in parc.__all__ if name[0].isupper()])
def test_types_are_those_of_the_room(name: str) -> None:
    assert getattr(parc, name) is getattr(api, name) and isinstance(getattr(parc, name), type)


def test_what_is_not_there_is_told() -> None:
    with pytest.raises(AttributeError, match="no attribute 'traverze'"):
        _ = parc.traverze  # type: ignore[attr-defined]
