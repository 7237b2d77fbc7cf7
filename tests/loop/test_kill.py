"""Killed at random moments and started again, a run ends with the same data set, to the byte, as one never stopped."""

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

ITERATION = "iteration-01"


def stage_begun(folder: Path, stage: str) -> bool:
    file = folder / "ledger.json"
    return file.exists() and f"{ITERATION}/{stage}" in json.loads(file.read_text())["stages"]


def run_and_kill(command: list[str], folder: Path, stage: str, after: float) -> None:
    """Start, wait until a stage has begun, wait a little longer, kill without warning."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not stage_begun(folder, stage) and process.poll() is None:
        time.sleep(0.02)
    time.sleep(after)
    process.send_signal(signal.SIGKILL)
    process.wait()


def finish(command: list[str]) -> dict:
    done = subprocess.run([*command, "--json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_killed_in_every_stage(finished: Path, tmp_path: Path, loop_command, dataset_hashes) -> None:
    moments = random.Random(8)
    folder = tmp_path / "run"
    for stage, longest in (("generator", 1.5), ("synthesis", 0.5), ("tracker", 1.2), ("recording", 0.3)):
        run_and_kill(loop_command(folder), folder, stage, moments.uniform(0.0, longest))
    finish(loop_command(folder))
    assert dataset_hashes(folder) == dataset_hashes(finished)
    names = {f.name for f in (folder / ITERATION / "generator").iterdir()}
    assert names == {f.name for f in (finished / ITERATION / "generator").iterdir()}


@pytest.mark.skipif(not os.environ.get("PARC_SLOW_TESTS"), reason="minutes; set PARC_SLOW_TESTS=1")
@pytest.mark.parametrize("preset", ["tiny", "quick"])
def test_killed_ten_times_at_any_time(tmp_path: Path, loop_command, dataset_hashes, preset: str) -> None:
    """Each time after a part of an undisturbed run's working time: so small that ten of them are less than the whole, and
    growing, so that later stages are reached though the work since the last completed piece is lost each time."""
    usual = finish(loop_command(tmp_path / "whole", "--preset", preset))["seconds"]
    moments = random.Random(1)
    folder = tmp_path / "run"
    kills: list[int] = []
    for k in range(10):
        process = subprocess.Popen(loop_command(folder, "--preset", preset), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and not is_working(folder, process.pid):
            time.sleep(0.02)
        try:
            process.wait(moments.uniform(0.0, 0.08 + 0.03 * k) * usual)
            break
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            kills.append(stages_begun(folder))
    finish(loop_command(folder, "--preset", preset))
    assert dataset_hashes(folder) == dataset_hashes(tmp_path / "whole")
    assert len(kills) == 10 and len(set(kills)) >= 2, f"stages begun at each kill: {kills}"


def is_working(folder: Path, process: int) -> bool:
    lock = folder / "lock"
    return lock.is_file() and lock.read_text() == str(process)


def stages_begun(folder: Path) -> int:
    file = folder / "ledger.json"
    return len(json.loads(file.read_text())["stages"]) if file.exists() else 0
