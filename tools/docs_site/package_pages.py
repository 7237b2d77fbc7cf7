"""The reference of the package: a page for each room, which mkdocstrings fills from the source without importing it."""

import ast
from pathlib import Path

PROGRAMS = ("cli", "models", "studio", "web")
"""rooms that are used as commands or hold data"""


def package_pages(source: Path) -> dict[str, str]:
    """Page: text."""
    package = source / "parc"
    rooms = [init.parent for init in sorted(package.glob("*/__init__.py")) if init.parent.name not in PROGRAMS]
    rows = [f"| [parc.{room.name}]({room.name}.md) | {sign_of(room)} |" for room in rooms]
    index = ["# Python\n", "All public names of `parc`, room by room; [architecture](../architecture.md) is the map.\n"]
    pages = {"api/index.md": "\n".join([*index, "| room | |\n|---|---|", *rows, ""])}
    return pages | {f"api/{room.name}.md": room_page(room) for room in rooms}


def room_page(room: Path) -> str:
    """What a room shows in its `__all__`; a room without one shows its modules."""
    parts = [f"# parc.{room.name}\n"]
    if public_names(room):
        parts += [f"::: parc.{room.name}\n"]
    else:
        parts += [f"{sign_of(room)}\n"]
        parts += modules_of(room, f"parc.{room.name}")
    for inner in sorted(init.parent for init in room.glob("*/__init__.py")):
        parts += modules_of(inner, f"parc.{room.name}.{inner.name}")
    return "\n".join(parts)


def modules_of(room: Path, name: str) -> list[str]:
    """All modules of a folder."""
    names = [file.stem for file in sorted(room.glob("*.py")) if not file.stem.startswith("_")]
    return [f"## {name}.{module}\n\n::: {name}.{module}\n    options:\n      heading_level: 3\n" for module in names]


def sign_of(room: Path) -> str:
    """The first sentence of a folder."""
    return (ast.get_docstring(ast.parse((room / "__init__.py").read_text())) or "").split("\n\n")[0].replace("\n", " ")


def public_names(room: Path) -> bool:
    """Whether a folder says what it shows."""
    tree = ast.parse((room / "__init__.py").read_text())
    return any("__all__" in ast.unparse(node).split("=")[0] for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign))
