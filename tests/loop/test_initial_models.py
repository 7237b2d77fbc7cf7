"""A wrong first call is one sentence, says nothing else, and leaves the folder as it was, so that the right one works."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from parc.character import humanoid
from parc.cli.main import main
from parc.dataset import DatasetWriter, save_clip
from parc.dataset.clip import Clip
from parc.dataset.clip_edits import cut
from parc.loop import RunSources, preset
from parc.loop.initial_dataset import walks
from parc.loop.initial_models import prepare
from parc.models import shipped_generator, shipped_tracker


@pytest.fixture(scope="module")
def walk() -> Clip:
    return walks(replace(preset("tiny").start, clips=1), 5, humanoid())[0]


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(f.relative_to(folder)): f.read_bytes() for f in sorted(folder.rglob("*")) if f.is_file()}


@pytest.fixture
def wrong(tmp_path: Path, walk: Clip) -> dict[str, Path]:
    """Things that are no start of a run, by what is wrong with them."""
    places = {name: tmp_path / name for name in ("missing", "file", "none", "unreadable", "empty", "short", "fast", "damaged")}
    places["file"].write_text("a data set?")
    places["none"].mkdir()
    (places["none"] / "notes.md").write_text("nothing to read")
    places["unreadable"].mkdir()
    (places["unreadable"] / "walk.bvh").write_text("HIERARCHY")
    clips = {
        "empty": [],
        "short": [cut(walk, 0, 9)],
        "fast": [replace(walk, motion=replace(walk.motion, fps=60.0))],
        "damaged": [walk],
    }
    for name, content in clips.items():
        with DatasetWriter(places[name], humanoid()) as writer:
            if content:
                writer.append(content)
    next(places["damaged"].glob("shard-*")).unlink()
    return places


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("missing", "neither a data set nor a folder"),
        ("file", "neither a data set nor a folder"),
        ("none", "no files ending in"),
        ("unreadable", "none of the files in"),
        ("empty", "has no clips to start from"),
        ("short", "no clip of .* has the 15 frames"),
        ("fast", "60 frames a second, expected 30"),
        ("damaged", "file that is missing"),
    ],
)
def test_a_wrong_start(tmp_path: Path, wrong, capsys: pytest.CaptureFixture[str], kind: str, sentence: str) -> None:
    run = tmp_path / "run"
    assert main(["loop", str(run), "--preset", "tiny", "--dataset", str(wrong[kind])]) == 2
    assert_one_sentence(capsys, sentence)
    assert not run.exists()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--launch", "no-such-launcher -n 2"], "no command 'no-such-launcher'"),
        (["--launch", "torchrun 'x"], "cannot be read"),
        (["--processes", "0"], "0 training processes"),
        (["--cluster", "nowhere"], "no Ray cluster at 'nowhere'"),
        (["--generator", "nothing.safetensors"], "nothing.safetensors"),
        (["--generator", str(shipped_tracker())], "expected a "),
        (["--tracker", str(shipped_generator())], "expected a tracker"),
        (["--iterations", "0"], "0 iterations"),
    ],
)
def test_a_wrong_option(tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], sentence: str) -> None:
    run = tmp_path / "run"
    assert main(["loop", str(run), "--preset", "tiny", *options]) == 2
    assert_one_sentence(capsys, sentence)
    assert not run.exists()


def assert_one_sentence(capsys: pytest.CaptureFixture[str], sentence: str) -> None:
    said = capsys.readouterr()
    assert said.out == ""
    assert len(said.err.strip().splitlines()) == 1 and re.search(sentence, said.err), said.err


def test_a_wrong_call_to_a_run_that_is_there_changes_nothing(finished: Path, tmp_path: Path) -> None:
    """What it was begun with is still what it remembers."""
    before = files_of(finished)
    for options in (["--dataset", str(tmp_path / "missing")], ["--launch", "no-such-launcher"], ["--tracker", "nothing"]):
        assert main(["loop", str(finished), *options]) == 2
    assert files_of(finished) == before
    assert json.loads(before["run.json"])["sources"]["dataset"] is None


def test_one_readable_file_is_a_start(tmp_path: Path, walk: Clip) -> None:
    (tmp_path / "a.bvh").write_text("HIERARCHY")
    save_clip(walk, tmp_path / "b.motion", humanoid())
    settings, sources = prepare(preset("tiny"), RunSources(dataset=tmp_path), humanoid())
    assert settings == preset("tiny") and sources.dataset == tmp_path
