"""Where a run is, read from its files."""

import json
import shutil
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from parc.cli.main import main
from parc.loop import LoopError
from parc.loop.run_progress import read_progress

ITERATION = "iteration-01"


def test_finished(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    progress = read_progress(finished)
    assert progress.state == "finished" and progress.seconds_left == 0 and progress.clips_joined >= 1
    assert main(["status", str(finished)]) == 0
    assert capsys.readouterr().out.startswith("finished after")


def test_stopped_in_a_stage(finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """12 iterations of the tracker were wanted; the log says 3."""
    folder = Path(shutil.copytree(finished, tmp_path / "run"))
    ledger = json.loads((folder / "ledger.json").read_text())
    for stage in ("recording", "dataset"):
        del ledger["stages"][f"{ITERATION}/{stage}"]
    ledger["stages"][f"{ITERATION}/tracker"] |= {"seconds": None, "outputs": {}, "spent": 6.0, "began": 4e9}
    (folder / "ledger.json").write_text(json.dumps(ledger))
    log = folder / ITERATION / "tracker" / "metrics.jsonl"
    log.write_text('{"event": "train", "iteration": 3}\n{"event": "evaluation", "samples": 1}\n{"event": "tr')
    progress = read_progress(folder)
    assert (progress.state, progress.stage, progress.iteration, progress.share) == ("stopped", "tracker", 1, 0.25)
    expected = json.loads((folder / "run.json").read_text())["settings"]["plans"][0]["expected"]
    assert progress.seconds_left == pytest.approx(6.0 * 3 + expected["recording"] + expected["dataset"])
    assert main(["status", str(folder)]) == 0
    shown = capsys.readouterr().out
    assert "stage tracker (25 %)" in shown and "goes on" in shown


def test_no_run_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(LoopError, match="holds no run"):
        read_progress(tmp_path)
    assert main(["status", str(tmp_path)]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


@pytest.mark.parametrize("content", ["junk", "[1]", "{}", '{"settings": {}, "sources": {}}'])
@pytest.mark.parametrize("command", ["status", "loop", "evaluate"])
def test_a_damaged_run_is_one_sentence(command: str, content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run.json").write_text(content)
    assert main([command, str(tmp_path)]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1 and "run.json cannot be read" in lines[0]


def test_the_figure_shows_what_the_stages_made(finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", str(finished), "--figure", str(tmp_path / "loop.svg")]) == 0
    drawn = ElementTree.parse(tmp_path / "loop.svg")
    words = [element.text or "" for element in drawn.iter("{http://www.w3.org/2000/svg}text")]
    report = json.loads((finished / "report.json").read_text())
    assert any(f"{report['recorded']} recordings" in text for text in words)
    assert any(text.startswith(f"+ {report['joined']}, ") for text in words)
    assert main(["status", str(finished), "--figure", str(tmp_path / "loop.gif")]) == 2
    assert "drawn as .svg" in capsys.readouterr().err
