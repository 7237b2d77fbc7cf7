"""The Python in the documentation runs as it stands.

Blocks of a page run one after the other in a folder with the file that pages speak of. A block that takes longer or is a fragment
has a comment before it, `<!-- not run: REASON -->`: of such a block only the imports run.
"""

import ast
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from parc.character import humanoid
from parc.dataset import Dataset, save_clip
from parc.models import shipped_motions

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(
    r"(?:<!-- not run: (?P<reason>[^>]+) -->\n+)?^(?P<indent> *)```(?:python|py)\b.*\n(?P<code>(?:.*\n)*?)(?P=indent)```$",
    re.MULTILINE,
)


class Block(NamedTuple):
    """Code of a page, the line it begins in, and why it is not run, if it is not."""

    code: str
    line: int
    reason: str


def blocks(text: str) -> list[Block]:
    """All blocks of Python in a page."""
    found = []
    for match in BLOCK.finditer(text):
        code = "".join(line.removeprefix(match["indent"]) for line in match["code"].splitlines(keepends=True))
        found.append(Block(code, text[: match.start("code")].count("\n") + 1, (match["reason"] or "").strip()))
    return found


def run(page: Path, text: str) -> None:
    """Blocks in one namespace; their lines are those of the page in a traceback."""
    space: dict[str, object] = {"__name__": "__docs__"}
    for block in blocks(text):
        tree = ast.parse("\n" * (block.line - 1) + block.code, str(page))
        if block.reason:
            tree.body = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
        exec(compile(tree, str(page), "exec"), space)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a reader would be: a recorded clip lies there under the names that pages use."""
    box = shipped_motions()
    assert box is not None
    save_clip(Dataset.open(box)[0], tmp_path / "simulated.motion", humanoid())
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page.read_text())], ids=lambda page: page.stem)
def test_python_in_the_documentation_runs(page: Path, folder: Path) -> None:
    run(page, page.read_text())


def test_a_block_that_does_not_run_is_seen(tmp_path: Path) -> None:
    page = "text\n\n```python\nx = 1\n```\n\n{}```python\nimport json\nassert x == 2\n```\n"
    assert [block.line for block in blocks(page.format(""))] == [4, 8]
    with pytest.raises(AssertionError):
        run(tmp_path / "page.md", page.format(""))
    run(tmp_path / "page.md", page.format("<!-- not run: it is wrong -->\n"))
    with pytest.raises(ImportError):
        run(tmp_path / "page.md", "<!-- not run: long -->\n```python\nfrom parc.terrain import Nowhere\n```\n")
