"""The notebook's cells run one after the other, with a smaller search, and its last replay is a page."""

import ast
import json
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parents[2] / "examples" / "traverse.ipynb"
SMALLER = {"candidates=8, beam=3": "candidates=2, beam=1, longest=1.0", "tries=3": "tries=1, threads=1"}


def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert all(sum(old in cell for cell in cells) == 1 for old in SMALLER), "the words that are replaced are there once"
    assert not any(cell.get("outputs") for cell in notebook["cells"]), "it is kept without outputs"
    names: dict[str, object] = {}
    shown = None
    for cell in cells:
        for old, new in SMALLER.items():
            cell = cell.replace(old, new)
        body = ast.parse(cell).body
        last = body.pop() if isinstance(body[-1], ast.Expr) else None
        exec(compile(ast.Module(body, []), "a cell", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "a cell", "eval"), names)
            shown = value if hasattr(value, "_repr_html_") else shown
    assert shown is not None and "replay" in shown._repr_html_() and (tmp_path / "out" / "crossed.glb").stat().st_size > 1000
