"""What is in the files is in TensorBoard: every number once, under its stage, at its step."""

from pathlib import Path

import pytest

from parc.cli.main import main
from parc.run.metrics_export import Mirror, MirrorError
from parc.run.metrics_log import MetricsLog


class Kept:
    def __init__(self) -> None:
        self.rows: list[tuple[str, int, dict[str, float]]] = []

    def write(self, series: str, step: int, values: dict[str, float]) -> None:
        self.rows.append((series, step, values))

    def close(self) -> None: ...


def test_every_line_is_copied_once_and_a_stage_done_over_again(tmp_path: Path) -> None:
    file = tmp_path / "iteration-01" / "tracker" / "metrics.jsonl"
    log = MetricsLog(file)
    log.write(event="train", samples=64, reward=0.5, name="x", broken=float("nan"))
    kept = Kept()
    mirror = Mirror(tmp_path, [kept])
    assert mirror.copy() == 1 and mirror.copy() == 0
    log.write(event="evaluation", samples=128, success=0.25)
    MetricsLog(tmp_path / "metrics.jsonl").write(step=3, total=1.0)
    assert mirror.copy() == 2
    assert kept.rows == [
        ("iteration-01/tracker/train", 64, {"reward": 0.5}),
        ("iteration-01/tracker/evaluation", 128, {"success": 0.25}),
        ("train", 3, {"total": 1.0}),
    ]
    file.unlink()
    MetricsLog(file).write(event="train", samples=1, reward=0.75)
    assert mirror.copy() == 1 and kept.rows[-1] == ("iteration-01/tracker/train", 1, {"reward": 0.75})


def test_tensorboard_reads_what_was_logged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tensorboard", reason="TensorBoard is not installed ([logs])")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    log = MetricsLog(tmp_path / "run" / "generator" / "metrics.jsonl")
    for step in (10, 20):
        log.write(step=step, total=1.0 / step)
    assert main(["status", str(tmp_path / "run"), "--tensorboard", str(tmp_path / "board"), "--json"]) == 0
    found = EventAccumulator(str(tmp_path / "board"))
    found.Reload()
    events = found.Scalars("generator/train/total")
    assert [event.step for event in events] == [10, 20]
    assert [event.value for event in events] == pytest.approx([0.1, 0.05])


def test_wandb_gets_the_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb", reason="wandb is not installed ([logs])")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    MetricsLog(tmp_path / "generator" / "metrics.jsonl").write(step=10, total=0.5)
    assert main(["status", str(tmp_path), "--wandb", "parc-test"]) == 0
    assert list((tmp_path / "wandb").rglob("*.wandb"))


def test_nothing_to_copy_from_or_to_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(MirrorError, match="there is no folder"):
        Mirror(tmp_path / "none", [])
    assert main(["status", str(tmp_path), "--follow"]) == 2
    assert "expected --tensorboard FOLDER" in capsys.readouterr().err
