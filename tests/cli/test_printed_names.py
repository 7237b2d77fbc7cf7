"""Names come out of anybody's files: whatever a command prints, a terminal only shows it, and a name never begins a line."""

import json
import logging
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from parc.author.procedural_walk import stroll
from parc.character import humanoid
from parc.cli.base_command import log_to_stderr
from parc.cli.main import main
from parc.dataset import DatasetWriter, save_clip
from parc.dataset.clip import Clip
from parc.errors import ParcError, printable
from parc.path.terrain_path import TerrainPath
from parc.terrain.terrain import Terrain

SIGNS = {
    "a\x1b[2Jb": r"a\x1b[2Jb",
    "a\x1b]0;owned\x07b": r"a\x1b]0;owned\x07b",
    "a\x9b2Jb": r"a\x9b2Jb",
    "a\u202egnp.b\u2066c": r"a\u202egnp.b\u2066c",
    "a\nparc: all is well\r\u2028\x85b": r"a\nparc: all is well\r\u2028\x85b",
    "a\0b": r"a\x00b",
    "größer 走": "größer 走",
}
"""names and what is shown of them"""


@pytest.fixture(scope="module")
def walk() -> Clip:
    return stroll(Terrain.flat((14, 8)), TerrainPath(torch.tensor([[0.4, 1.2, 0.0], [2.0, 1.2, 0.0]])))


def named(walk: Clip, name: str) -> Clip:
    return replace(walk, name=name, provenance=replace(walk.provenance, skill=name, source=name, edits=(name,)))


@pytest.fixture(scope="module")
def hostile(walk: Clip, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data set whose clips, skills and sources are called so."""
    folder = tmp_path_factory.mktemp("hostile") / "set"
    with DatasetWriter(folder, humanoid()) as writer:
        writer.append([named(walk, name) for name in SIGNS])
    return folder


def printed(words: list[str], capsys: pytest.CaptureFixture[str], code: int = 0) -> str:
    """What a command says, of which every line may be shown."""
    assert main(words) == code
    told = capsys.readouterr()
    lines = (told.out + told.err).split("\n")
    assert all(map(str.isprintable, lines)), lines
    assert not any(line.startswith("parc: all") for line in lines)
    return told.out + told.err


def test_lists_and_tables(hostile: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    listed = printed(["dataset", "show", str(hostile)], capsys)
    assert len(listed.splitlines()) == len(SIGNS) + 1 and all(shown in listed for shown in SIGNS.values())
    printed(["dataset", "show", str(hostile), "--card", str(tmp_path / "card.md")], capsys)
    assert r"a\x1b[2Jb" in printed(["metrics", str(hostile)], capsys)
    refused = printed(["dataset", "show", str(hostile), "--skill", "none"], capsys, 2)
    assert r"a\u202egnp.b\u2066c" in refused and len(refused.splitlines()) == 1


def test_json_is_left_as_it_is(hostile: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dataset", "show", str(hostile), "--json"]) == 0
    assert [row["name"] for row in json.loads(capsys.readouterr().out)["each"]] == list(SIGNS)


def test_faults_that_are_told(walk: Clip, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a\x1b[2J\nparc: all.motion"
    save_clip(named(walk, "a\x1b[2Jb"), file, humanoid())
    assert r"a\x1b[2J\nparc: all.motion" in printed(["verify", str(file)], capsys)
    damage(file)
    assert r"a\x1b[2Jb" in printed(["verify", str(file)], capsys, 2)


def damage(file: Path) -> None:
    from safetensors import safe_open

    with safe_open(file, "pt") as opened:
        header = opened.metadata()
    tensors = {name: tensor.clone() for name, tensor in load_file(file).items()}
    tensors["root_pos"][0, 0] = torch.nan
    save_file(tensors, file, header)


def test_status_of_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run\x1b[2J"
    run.mkdir()
    settings = {"name": "\x1b[2J", "plans": [{}], "iterations": 1, "physics_correction": True, "seed": 0}
    (run / "run.json").write_text(json.dumps({"settings": settings, "sources": {"\x1b[2J": "\u202e"}}))
    stages = {"\x1b[2J\nparc: all is well": {"inputs": {}, "began": 0.0}}
    (run / "ledger.json").write_text(json.dumps({"schema": 1, "stages": stages}))
    printed(["status", str(run)], capsys, 2)


def test_log_lines(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging.root, "handlers", [])
    monkeypatch.setattr(logging.root, "level", logging.WARNING)
    log_to_stderr()
    logging.getLogger("parc.test").info("clip %s", "a\x1b[2Jb\u202e")
    assert capsys.readouterr().err.endswith("clip a\\x1b[2Jb\\u202e\n")


def test_what_is_shown_of_a_name() -> None:
    assert {name: printable(name) for name in SIGNS} == SIGNS
    assert printable("a\ud800b") == r"a\ud800b"
    assert str(ParcError("\x1b" * 2000)).isprintable() and len(str(ParcError("\x1b" * 2000))) == 2000
