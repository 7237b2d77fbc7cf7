"""A run is never done over by mistake: other settings are refused, and what is done over moves aside."""

import json
import shutil
from pathlib import Path

import pytest

from parc.cli.main import main

ITERATION = "iteration-01"


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    folder = Path(shutil.copytree(finished, tmp_path / "run"))
    (folder / ITERATION / "tracker" / "my_notes.txt").write_text("a finding")
    return folder


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(f.relative_to(folder)): f.read_bytes() for f in folder.rglob("*") if f.is_file() and f.name != "lock"}


@pytest.mark.parametrize(
    ("options", "told"), [(["--seed", "1"], "settings differ"), (["--preset", "scratch"], "settings differ")]
)
def test_other_settings_are_refused_and_change_nothing(
    run: Path, options: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = files_of(run)
    assert main(["loop", str(run), "--device", "cpu", *options]) == 2
    said = capsys.readouterr().err
    assert told in said and "--over-again" in said and "old-1" in said and len(said.strip().splitlines()) == 1
    assert files_of(run) == before


def test_a_lost_run_json_does_not_let_another_preset_begin_on_top(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run / "run.json").unlink()
    before = files_of(run)
    assert main(["loop", str(run), "--device", "cpu"]) == 2
    assert "--over-again" in capsys.readouterr().err
    assert files_of(run) == before


def test_a_dry_run_tells_what_would_move(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = files_of(run)
    assert main(["loop", str(run), "--device", "cpu", "--seed", "1", "--dry-run", "--json"]) == 0
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    stages = ["start", *(f"{ITERATION}/{s}" for s in ("generator", "synthesis", "tracker", "recording", "dataset"))]
    assert told["moves"] == stages and told["to"] == str(run / "old-1")
    assert main(["loop", str(run), "--device", "cpu", "--seed", "1", "--dry-run"]) == 0
    assert f"  {ITERATION}/tracker\n" in capsys.readouterr().out
    assert main(["loop", str(run), "--device", "cpu", "--dry-run", "--json"]) == 0
    assert "moves" not in json.loads(capsys.readouterr().out.splitlines()[-1])
    assert files_of(run) == before


def test_over_again_moves_the_old_run_whole(run: Path) -> None:
    before = files_of(run)
    assert main(["loop", str(run), "--device", "cpu", "--seed", "1", "--over-again"]) == 0
    old = files_of(run / "old-1")
    moved = {name: data for name, data in before.items() if name.startswith((ITERATION, "start/")) or name == "run.json"}
    assert {name: old[name] for name in moved} == moved
    assert json.loads((run / "run.json").read_text())["settings"]["seed"] == 1
