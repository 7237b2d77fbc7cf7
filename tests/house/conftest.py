"""The source of the package, parsed once for all tests here."""

import ast
from functools import cache
from pathlib import Path

SRC = Path(__file__).parents[2] / "src" / "parc"


@cache
def tree_of(file: Path) -> ast.Module:
    """Of a file that does not change meanwhile."""
    return ast.parse(file.read_text())
