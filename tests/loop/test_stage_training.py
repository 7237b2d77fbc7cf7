"""Training in several processes: one result, one sentence when it fails, and nothing left behind when the loop is killed."""

import json
import os
import pickle
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from parc.character import humanoid
from parc.character.mjcf import character_from_mjcf
from parc.errors import FormatError, SettingsError
from parc.generate.model.motion_generator import Generator
from parc.generate.training.generator_training import TrainSettings
from parc.loop import LoopError, Machines, preset
from parc.loop.stage_training import (
    TASK_FILE,
    GeneratorTraining,
    TrackerTraining,
    Training,
    read_training,
    run_training,
    write_training,
)
from parc.run.checkpoint import read_description
from parc.run.metrics_log import read_metrics
from parc.run.work_items import ClusterError
from parc.track.tracker_settings import TrackerSettings

TINY = preset("tiny").plans[0]
TWO = Machines(processes=2)
MJCF = Path(__file__).parents[1] / "character" / "robot_walker.xml"


def generator_training(finished: Path, **changes) -> GeneratorTraining:
    settings = replace(TINY.generator, **({"steps": 10} | changes))
    return GeneratorTraining(settings, finished / "start", None, humanoid(), "cpu")


def test_a_training_may_go_on_with_more_processes(finished: Path, tmp_path: Path) -> None:
    write_training(tmp_path / TASK_FILE, generator_training(finished, steps=99), 1)
    assert run_training(generator_training(finished), tmp_path) == {"clips": 2}
    assert not (tmp_path / TASK_FILE).exists(), "what a killed loop left"
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
    assert not any(tmp_path.glob("training_*.json"))
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


@pytest.mark.parametrize("paper", [False, True])
def test_a_training_is_the_same_after_its_file(paper: bool, tmp_path: Path) -> None:
    settings = TrackerSettings.paper() if paper else TrackerSettings.small()
    character = character_from_mjcf(MJCF) if paper else humanoid()
    generator = TrainSettings.paper(steps=3) if paper else replace(TrainSettings(), steps=None, made_share=0.25)
    plan, files = TINY.tracker.training, (Path("a"), Path("/b c/d"))
    trainings: list[Training] = [
        GeneratorTraining(generator, Path("a"), Path("w.safetensors"), character, "cuda:1"),
        TrackerTraining(settings, plan, files, None, character, "cpu", frozenset({"y", "x"})),
    ]
    for training in trainings:
        write_training(tmp_path / TASK_FILE, training, 3)
        assert read_training(tmp_path / TASK_FILE) == (training, 3)


class _Hostile:
    def __init__(self, witness: Path) -> None:
        self.witness = witness

    def __reduce__(self) -> tuple:
        return os.mkdir, (str(self.witness),)


def test_the_file_of_a_training_runs_no_code_and_is_refused_in_one_sentence(finished: Path, tmp_path: Path) -> None:
    task = tmp_path / TASK_FILE
    write_training(task, generator_training(finished), 1)
    good = json.loads(task.read_bytes())
    values = good["values"]
    hostile = pickle.dumps((_Hostile(tmp_path / "ran"), 1))
    bad = {
        "is not JSON": hostile,
        "not a readable training": [1],
        "no training this version knows": good | {"training": "os.system"},
        "no training this version knows$": good | {"threads": "2"},
        "has no field run": good | {"values": values | {"run": "ls"}},
        "steps is 'ten', expected int": good | {"values": values | {"settings": values["settings"] | {"steps": "ten"}}},
        "dataset is '7', expected": good | {"values": values | {"dataset": 7}},
        "lacks device": good | {"values": {k: v for k, v in values.items() if k != "device"}},
        "expected an object of its fields": good | {"values": values | {"character": "humanoid"}},
    }
    for words, content in bad.items():
        task.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        with pytest.raises(FormatError, match=rf"^[^\n]*{TASK_FILE}[^\n]*$") as caught:
            read_training(task)
        assert re.search(words, str(caught.value)), (words, str(caught.value))
    assert not (tmp_path / "ran").exists()
    pickle.loads(hostile)
    assert (tmp_path / "ran").is_dir(), "the hostile pickle does no harm, and the test proves nothing"


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc")
def test_no_process_outlives_a_killed_loop(finished: Path, tmp_path: Path) -> None:
    training = generator_training(finished, steps=10**9)
    write_training(tmp_path / "job", training, 1)
    out = tmp_path / "out"
    out.mkdir()
    script = (
        "from pathlib import Path; from parc.loop import Machines; "
        "from parc.loop.stage_training import read_training, run_training; "
        f"run_training(read_training(Path('{tmp_path}/job'))[0], Path('{out}'), Machines(processes=2))"
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
            if str(out / TASK_FILE).encode() in words:
                found.append(int(process.name))
    return found


def _wait(is_so, seconds: float) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.1)
