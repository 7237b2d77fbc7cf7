"""The blocks of each tutorial run as they stand, or in the smaller form that a comment above the block states.

    <!-- test: OLD => NEW; OLD => NEW -->    the block runs with these words replaced
    <!-- test: only read, WHY -->            the block is only read: commands and options exist, Python compiles

Blocks are ```console (lines with `$ parc ...`) and ```python; those of a page share a folder, and its Python one set of names.
"""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from parc.cli.command_table import COMMANDS
from parc.cli.main import called, main
from parc.cli.read_options import read_options

PAGES = sorted((Path(__file__).parents[2] / "docs" / "tutorials").glob("*.md"))
BLOCK = re.compile(
    r"(?:<!-- test: (?P<note>.*?) -->\n)?^```(?P<kind>console|python)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
PICTURE = re.compile(r"!\[[^]]+\]\(([^)]+)\)")
MOST = 150_000
"""bytes of a picture"""


class Block(NamedTuple):
    """Of a page."""

    kind: str
    text: str
    """as it is run"""
    is_run: bool


def blocks_of(page: str) -> Iterator[Block]:
    """With the words replaced that the comment above a block says; what it replaces must be there."""
    for found in BLOCK.finditer(page):
        note, text = found["note"] or "", found["text"]
        if note.startswith("only read, "):
            yield Block(found["kind"], text, False)
            continue
        for change in note.split("; ") if note else ():
            old, arrow, new = (part.strip() for part in change.partition("=>"))
            assert arrow and old in text, f"'{old}' is not in the block below its comment"
            text = text.replace(old, new)
        yield Block(found["kind"], text, True)


def calls_of(text: str) -> list[list[str]]:
    """The words of each line, without `parc`."""
    lines = [line.removeprefix("$ ").split(" # ")[0] for line in text.splitlines() if line.startswith("$ ")]
    assert lines and all(line.startswith("parc ") for line in lines), text
    return [shlex.split(line)[1:] for line in lines]


def read(words: list[str]) -> None:
    """Refuses what no command knows."""
    name = next(" ".join(words[:n]) for n in (3, 2, 1) if " ".join(words[:n]) in COMMANDS)
    command = called(name)
    read_options(command.load(), words[len(name.split()) :], command.call, command.options)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_tutorial_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": page.stem}
    for k, block in enumerate(blocks_of(page.read_text(encoding="utf-8"))):
        if block.kind == "python":
            code = compile(block.text, f"{page.name}, block {k + 1}", "exec")
            if block.is_run:
                exec(code, names)
            continue
        for words in calls_of(block.text):
            if block.is_run:
                assert main([*words, "--device", "cpu"]) == 0, f"parc {shlex.join(words)}: {capsys.readouterr().err[-1000:]}"
            else:
                read(words)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_tutorial_has_a_small_picture(page: Path) -> None:
    pictures = [page.parent / place for place in PICTURE.findall(page.read_text(encoding="utf-8"))]
    assert pictures or page.stem == "engines", "its pictures would be those of other programs"
    assert all(picture.is_file() and picture.stat().st_size < MOST for picture in pictures), pictures


def test_a_comment_changes_the_block_below_it_and_must_fit() -> None:
    page = "<!-- test: 300 => 2; fast => slow -->\n```console\n$ parc demo --seconds 300 # fast\n```\n"
    (block,) = blocks_of(page)
    assert block == Block("console", "$ parc demo --seconds 2 # slow\n", True) and calls_of(block.text) == [
        ["demo", "--seconds", "2"]
    ]
    (block,) = blocks_of(page.replace("300 => 2; fast => slow", "only read, it is long"))
    assert not block.is_run and "300" in block.text
    with pytest.raises(AssertionError, match="'400' is not in the block"):
        list(blocks_of(page.replace("300 => 2", "400 => 2")))


def test_wrong_lines_are_found() -> None:
    with pytest.raises(StopIteration):
        read(["traverze", "boxes"])
    with pytest.raises(AssertionError):
        calls_of("$ rm -r out\n")
