import json
from dataclasses import replace
from pathlib import Path

import pytest

from parc.character import Character
from parc.cli.main import main
from parc.dataset.clip import Clip
from parc.dataset.store import Dataset, DatasetWriter


@pytest.fixture
def walks(character: Character, flat_walk: Clip, tmp_path: Path) -> Path:
    with DatasetWriter(tmp_path / "walks", character) as writer:
        writer.append([replace(flat_walk, name="walk", motion=flat_walk.motion.slice(0, 60))])
    return tmp_path / "walks"


def test_label_check_tells_precision_and_recall(walks: Path, capsys) -> None:
    assert main(["dataset", "label-check", str(walks), "--json"]) == 0
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    foot = result["motion alone"]["left_foot"]
    assert result["tolerance"] == 1 and foot["precision"] > 0.9 and foot["recall"] > 0.9 and foot["frames"] > 10
    assert result["on its ground"]["left_hand"]["precision"] is None
    assert main(["dataset", "label-check", str(walks)]) == 0
    assert "left_foot" in capsys.readouterr().out


def test_vary_makes_a_data_set_and_tells_what_it_refused(walks: Path, tmp_path: Path, capsys) -> None:
    words = ["dataset", "vary", str(walks), "-o", str(tmp_path / "out"), "--count", "1", "--iterations", "3", "--workers", "1"]
    assert main([*words, "--device", "cpu", "--json"]) == 0
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert result["kept"] + len(result["refused"]) == 1 and len(Dataset.open(tmp_path / "out")) == result["kept"]


@pytest.mark.parametrize(
    ("words", "said"),
    [(["vary", "--count", "0"], "0 variations"), (["vary", "--skill", "swim"], "skill swim"), (["label-check"], "-1 frames")],
)
def test_bad_input_is_one_sentence(walks: Path, tmp_path: Path, capsys, words: list[str], said: str) -> None:
    more = ["--tolerance", "-1"] if words[0] == "label-check" else ["-o", str(tmp_path / "out"), *words[1:]]
    assert main(["dataset", words[0], str(walks), *more, "--device", "cpu"]) == 2
    error = capsys.readouterr().err.strip()
    assert said in error and len(error.splitlines()) == 1
