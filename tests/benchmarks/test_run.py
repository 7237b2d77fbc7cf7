"""The programs beside the package: results as JSON on the last line, bad input as one sentence with exit code 2."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import run

FILE = Path(__file__).parents[2] / "benchmarks" / "run.py"


def result_of(words: list[str], capsys: pytest.CaptureFixture[str]) -> dict:
    assert run.main([*words, "--json", "--device", "cpu"]) == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out.splitlines()[-1])


def test_rates(capsys: pytest.CaptureFixture[str]) -> None:
    physics = result_of(["physics", "--worlds", "1", "--seconds", "0.05", "--threads", "1"], capsys)
    assert physics["worlds"]["1"]["control_steps_per_second"] > 0
    words = ["generator", "--batches", "1", "--train-batch", "2", "--seconds", "0.01", "--json", "--device", "cpu"]
    assert run.main(words) == 0
    captured = capsys.readouterr()
    generator = json.loads(captured.out.splitlines()[-1])
    assert generator["batch_1"]["window_ms"] > 0 and generator["training"]["windows_per_s"] > 0
    told = [line.split(": ", 1) for line in captured.err.splitlines()]
    assert [name for name, _ in told] == ["batch_1", "training", "training_own_rollouts"], "each row as it is measured"
    assert all(json.loads(row) == generator[name] for name, row in told)
    correct = result_of(["correct", "--clips", "1", "--seconds", "1", "--iterations", "1"], capsys)
    assert (correct["clips"], correct["frames"]) == (1, 30) and correct["milliseconds_per_iteration"] > 0
    tracker = result_of(["tracker", "--worlds", "4", "--repeats", "1", "--threads", "1"], capsys)
    assert tracker["samples_per_second"] > 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("physics --seconds 0", "0.0 seconds"),
        ("physics --seconds nan", "nan seconds"),
        ("tracker --repeats 0", "0 repeats"),
        ("generator --batches 1 --train-batch -4", "-4 motions or windows at once"),
        ("physics --wolds 3", "did you mean --worlds?"),
        ("dance", "no benchmark 'dance'"),
    ],
)
def test_wrong_input_is_one_sentence(words: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main(words.split()) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1 and told in lines[0]


def test_it_runs_from_anywhere_and_each_has_help(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    called = subprocess.run([sys.executable, str(FILE), "--help"], cwd=tmp_path, capture_output=True, text=True)
    assert called.returncode == 0 and all(f"run.py {name} " in called.stdout for name in run.BENCHMARKS)
    for name in run.BENCHMARKS:
        assert run.main([name, "--help"]) == 0
        assert "--json" in capsys.readouterr().out
