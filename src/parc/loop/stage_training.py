"""The two trainings of an iteration, in this process or in several at once (see `parc.loop.machines`)."""

import contextlib
import errno
import json
import os
import shutil
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from parc.character.character import Character
from parc.dataset.dataset_store import Dataset
from parc.errors import FormatError, ParcError
from parc.generate.training.generator_training import TrainSettings, train_generator
from parc.loop.ledger import LoopError
from parc.loop.machines import Machines
from parc.run.atomic_files import write_bytes_atomically
from parc.run.dataclass_json import from_json, to_json
from parc.run.file_reading import read_json, reading
from parc.track.learn.tracker_training import TrainingPlan, train_tracker
from parc.track.tracker_settings import TrackerSettings

TASK_FILE, RESULT_FILE = "training_task.json", "training_result.json"
_SCRATCH = 2**20
"""bytes; a disk with less room is full"""


@dataclass(frozen=True)
class GeneratorTraining:
    """A generator's training in a process of its own."""

    settings: TrainSettings
    dataset: Path
    first: Path | None
    """weights to start from"""
    character: Character
    device: str

    def run(self, out: Path) -> dict[str, Any]:
        """Train, or go on where it was stopped."""
        clips = list(Dataset.open(self.dataset, self.character))
        train_generator(self.settings, clips, out, self.character, self.device, init=self.first)
        return {"clips": len(clips)}


@dataclass(frozen=True)
class TrackerTraining:
    """A tracker's training in processes of its own."""

    settings: TrackerSettings
    plan: TrainingPlan
    datasets: tuple[Path, ...]
    first: Path | None
    character: Character
    device: str
    left_out: frozenset[str] = frozenset()
    """names of clips that are not trained on"""

    def run(self, out: Path) -> dict[str, Any]:
        """Train, or go on where it was stopped."""
        clips = [clip for folder in self.datasets for clip in Dataset.open(folder, self.character)]
        clips = [clip for clip in clips if clip.name not in self.left_out]
        reached = train_tracker(self.character, clips, out, self.settings, self.plan, self.device, init=self.first)
        return {
            "clips": len(reached.clips),
            "success": reached.success,
            "tracked": reached.tracked,
            "joint_error": reached.joint_error,
        }


Training = GeneratorTraining | TrackerTraining
_KINDS: dict[str, type[Training]] = {"generator": GeneratorTraining, "tracker": TrackerTraining}


def write_training(task: Path, training: Training, threads: int) -> None:
    """A training as JSON: its settings, and the names of the files and folders it reads."""
    kind = next(name for name, kind in _KINDS.items() if isinstance(training, kind))
    content = {"training": kind, "threads": threads, "values": to_json(training)}
    write_bytes_atomically(task, json.dumps(content, indent=1).encode())


def read_training(task: Path) -> tuple[Training, int]:
    """A training and the threads of each process. Numbers and names only: whoever wrote the file, none of its code is run."""
    content = read_json(task)
    with reading(str(task), "training"):
        kind, threads = _KINDS.get(content["training"]), content["threads"]
        if kind is None or type(threads) is not int or threads < 1:
            raise FormatError(f"{task} holds no training this version knows")
        try:
            return from_json(kind, content["values"]), threads
        except ParcError as error:
            raise FormatError(f"{task} holds no training this version knows: {error}") from None


def run_training(training: Training, out: Path, machines: Machines = Machines()) -> dict[str, Any]:
    """Train in `out`, going on with what lies there; returns numbers for the report."""
    launcher = machines.launcher()
    task, result = out / TASK_FILE, out / RESULT_FILE
    for file in (task, result):  # of a loop that was killed
        file.unlink(missing_ok=True)
    if launcher is None:
        return training.run(out)
    write_training(task, training, torch.get_num_threads())
    command = [*launcher, "-m", "parc.loop.stage_training", str(task)]
    environment = {"OMP_NUM_THREADS": str(torch.get_num_threads())} | dict(os.environ)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=sys.stderr.fileno(), env=environment) as process:
        code = process.wait()
    answer = json.loads(result.read_bytes()) if result.is_file() else {}
    for file in (task, result):
        file.unlink(missing_ok=True)
    if "error" in answer:
        raise LoopError(answer["error"])
    if code or "result" not in answer:
        if shutil.disk_usage(out).free < _SCRATCH:
            raise OSError(errno.ENOSPC, "no space is left", str(out))
        raise LoopError(
            f"the training processes of {out} ended with code {code}; nothing finished is lost, and the same command goes on"
        )
    return answer["result"]


def main(task: Path) -> int:
    """One of the processes."""
    threading.Thread(target=_end_with_the_loop, daemon=True).start()
    is_first = os.environ.get("RANK", "0") == "0"
    try:
        training, threads = read_training(task)
        torch.set_num_threads(threads)
        answer = {"result": training.run(task.parent)}
    except ParcError as error:
        with contextlib.suppress(OSError):
            write_bytes_atomically(task.with_name(RESULT_FILE), json.dumps({"error": str(error)}).encode())
        return 1
    if torch.distributed.is_initialized():
        torch.distributed.barrier()
        torch.distributed.destroy_process_group()
    if is_first:
        write_bytes_atomically(task.with_name(RESULT_FILE), json.dumps(answer).encode())
    return 0


def _end_with_the_loop() -> None:
    while os.read(0, 1):
        pass
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
