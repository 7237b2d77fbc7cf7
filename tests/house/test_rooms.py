"""Names are unique, every room has a sign, and what is public says in a sentence what it is."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from .conftest import SRC, tree_of

FLAT = 21
"""modules in a room; `cli`, one file a command, and `models`, which hold data, are not rooms to read through"""

Public = ast.ClassDef | ast.FunctionDef


def public(file: Path) -> Iterator[Public]:
    """Classes and functions of a module that others may use."""
    for node in tree_of(file).body:
        if isinstance(node, Public) and not node.name.startswith("_"):
            yield node


def twice(root: Path) -> list[str]:
    """File names and public class names that more than one place uses."""
    places = defaultdict(list)
    for file in sorted(root.rglob("*.py")):
        if file.stem not in ("__init__", "__main__"):
            places[file.name].append(str(file.relative_to(root)))
        for node in public(file):
            if isinstance(node, ast.ClassDef):
                places[f"class {node.name}"].append(str(file.relative_to(root)))
    return [f"{name}: {', '.join(files)}" for name, files in places.items() if len(files) > 1]


def without_sign(root: Path) -> list[str]:
    """Folders with modules whose `__init__.py` does not say what they are for."""
    folders = {file.parent for file in root.rglob("*.py")}
    signs = {folder: folder / "__init__.py" for folder in folders}
    return [
        str(folder.relative_to(root))
        for folder, sign in sorted(signs.items())
        if not sign.is_file() or not ast.get_docstring(tree_of(sign))
    ]


def without_sentence(root: Path) -> list[str]:
    """Public classes and functions without a docstring."""
    return [f"{f.relative_to(root)} {n.name}" for f in sorted(root.rglob("*.py")) for n in public(f) if not ast.get_docstring(n)]


def test_no_file_and_no_public_class_has_the_name_of_another() -> None:
    assert not twice(SRC), "\n".join(twice(SRC))


def test_every_folder_says_what_it_is_for() -> None:
    assert not without_sign(SRC), without_sign(SRC)


def test_rooms_are_small_enough_to_be_read_through() -> None:
    rooms = {folder: len(list(folder.glob("*.py"))) - 1 for folder in {file.parent for file in SRC.rglob("*.py")}}
    crowded = {str(room.relative_to(SRC)): n for room, n in rooms.items() if n > FLAT and room.name != "cli"}
    assert not crowded, crowded


def test_what_is_public_has_a_sentence() -> None:
    assert not without_sentence(SRC), without_sentence(SRC)


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A house of two rooms in which every law is broken."""
    for room, text in (("hall", '"""Where one enters."""\n'), ("attic", "")):
        (tmp_path / room).mkdir()
        (tmp_path / room / "__init__.py").write_text(text)
        (tmp_path / room / "box.py").write_text('class Box:\n    """It holds things."""\n\n\ndef open_it(): ...\n')
    (tmp_path / "__init__.py").write_text('"""A house."""\n')
    return tmp_path


def test_broken_laws_are_seen(house: Path) -> None:
    assert twice(house) == ["box.py: attic/box.py, hall/box.py", "class Box: attic/box.py, hall/box.py"]
    assert without_sign(house) == ["attic"]
    assert without_sentence(house) == ["attic/box.py open_it", "hall/box.py open_it"]
