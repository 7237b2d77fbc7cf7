from pathlib import Path

from parc.run.metrics_log import MetricsLog, read_metrics


def test_lines_come_back_and_survive_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "run" / "metrics.jsonl"
    MetricsLog(path).write(step=1, loss=float("nan"), parts=[0.1, float("inf")])
    with path.open("a") as file:
        file.write('{"step": 2, "lo')
    MetricsLog(path).write(step=3, loss=0.123456789)
    assert read_metrics(path) == [{"step": 1, "loss": None, "parts": [0.1, None]}, {"step": 3, "loss": 0.123457}]


def test_damaged_lines_are_left_out_and_the_others_are_read(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(
        b'{"step": 1}\n{"step": \xff2}\n' + b"[" * 100_000 + b'\n7\n[]\n{"step": ' + b"9" * 5000 + b'}\n{"step": 3}\n'
    )
    assert read_metrics(path) == [{"step": 1}, {"step": 3}]
