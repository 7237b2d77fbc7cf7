"""Training in several processes: one result, one sentence when it fails, and nothing left behind when the loop is killed."""

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from parc.character import humanoid
from parc.errors import SettingsError
from parc.generate.generator import Generator
from parc.loop import LoopError, Machines, preset
from parc.loop.training import GeneratorTraining, TrackerTraining, run_training
from parc.run.checkpoint import read_description
from parc.run.log import read_metrics
from parc.run.workers import ClusterError

TINY = preset("tiny").plans[0]
TWO = Machines(processes=2)


def generator_training(finished: Path, **changes) -> GeneratorTraining:
    settings = replace(TINY.generator, **({"steps": 10} | changes))
    return GeneratorTraining(settings, finished / "start", None, humanoid(), "cpu")


def test_a_training_may_go_on_with_more_processes(finished: Path, tmp_path: Path) -> None:
    assert run_training(generator_training(finished), tmp_path) == {"clips": 2}
    assert run_training(generator_training(finished, steps=20), tmp_path, TWO) == {"clips": 2}
    assert read_description(tmp_path / "checkpoint.safetensors")["steps"] == 20
    assert [row["step"] for row in read_metrics(tmp_path / "metrics.jsonl")] == [5, 10, 15, 20]
    names = {file.name for file in tmp_path.iterdir()}
    assert names == {"generator.safetensors", "checkpoint.safetensors", "metrics.jsonl"}
    Generator.load(tmp_path / "generator.safetensors", humanoid())


def test_a_tracker_learns_in_two_processes(finished: Path, tmp_path: Path) -> None:
    plan = replace(TINY.tracker.training, iterations=2, milestone_iterations=2)
    training = TrackerTraining(TINY.tracker.settings, plan, (finished / "start",), None, humanoid(), "cpu")
    result = run_training(training, tmp_path, TWO)
    assert result["clips"] == 2 and 0 <= result["tracked"] <= 1
    (row,) = [r for r in read_metrics(tmp_path / "metrics.jsonl") if r["event"] == "evaluation"]
    assert row["samples"] == 2 * 2 * plan.worlds * TINY.tracker.settings.ppo.steps, "both processes count"


def test_what_is_wrong_comes_back_as_one_sentence(finished: Path, tmp_path: Path) -> None:
    training = replace(generator_training(finished), first=finished / "iteration-01" / "tracker" / "actor.safetensors")
    with pytest.raises(LoopError, match=r"^[^\n]*actor\.safetensors[^\n]*$"):
        run_training(training, tmp_path, TWO)
    with pytest.raises(LoopError, match="ended with code 3; nothing finished is lost"):
        run_training(generator_training(finished), tmp_path, Machines(launch=f"{sys.executable} -c 'raise SystemExit(3)'"))
    assert not any(tmp_path.glob("training.*"))
    with pytest.raises(SettingsError, match="0 training processes"):
        Machines(processes=0)
    with pytest.raises(SettingsError, match="launch command is empty"):
        Machines(launch=" ")
    with pytest.raises(SettingsError, match="no command 'no-such-launcher'"):
        Machines(launch="no-such-launcher --nnodes 2")
    with pytest.raises(SettingsError, match="No closing quotation"):
        Machines(launch="torchrun 'x")
    with pytest.raises(ClusterError, match="no Ray cluster at 'nowhere'"):
        Machines(cluster="nowhere")


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc")
def test_no_process_outlives_a_killed_loop(finished: Path, tmp_path: Path) -> None:
    training = generator_training(finished, steps=10**9)
    (tmp_path / "job").write_bytes(pickle.dumps(training))
    out = tmp_path / "out"
    out.mkdir()
    script = (
        "import pickle; from pathlib import Path; from parc.loop import Machines; from parc.loop.training import run_training; "
        f"run_training(pickle.loads(Path('{tmp_path}/job').read_bytes()), Path('{out}'), Machines(processes=2))"
    )
    loop = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _wait(lambda: (out / "metrics.jsonl").is_file() and (out / "metrics.jsonl").stat().st_size > 0, 180)
    assert len(_working_on(out)) >= 3, "torchrun and two processes"
    loop.send_signal(signal.SIGKILL)
    loop.wait()
    _wait(lambda: not _working_on(out), 60)
    assert json.loads((out / "metrics.jsonl").read_text().splitlines()[0])["step"] == 5


def _working_on(out: Path) -> list[int]:
    """Processes whose command names the training's file."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and int(process.name) != os.getpid():
            try:
                words = (process / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if str(out / "training.pickle").encode() in words:
                found.append(int(process.name))
    return found


def _wait(is_so, seconds: float) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.1)
