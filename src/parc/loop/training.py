"""The two trainings of an iteration, in this process or in several at once (see `parc.loop.machines`)."""

import contextlib
import errno
import json
import os
import pickle
import shutil
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from parc.character.character import Character
from parc.dataset.store import Dataset
from parc.errors import ParcError
from parc.generate.train import TrainSettings, train_generator
from parc.loop.ledger import LoopError
from parc.loop.machines import Machines
from parc.run.atomic import write_bytes_atomically
from parc.track.settings import TrackerSettings
from parc.track.train import TrainingPlan, train_tracker

_TASK, _RESULT = "training.pickle", "training.json"
_SCRATCH = 2**20
"""bytes; a disk with less room is full"""


@dataclass(frozen=True)
class GeneratorTraining:
    settings: TrainSettings
    dataset: Path
    first: Path | None
    """weights to start from"""
    character: Character
    device: str

    def run(self, out: Path) -> dict[str, Any]:
        clips = list(Dataset.open(self.dataset, self.character))
        train_generator(self.settings, clips, out, self.character, self.device, init=self.first)
        return {"clips": len(clips)}


@dataclass(frozen=True)
class TrackerTraining:
    settings: TrackerSettings
    plan: TrainingPlan
    datasets: tuple[Path, ...]
    first: Path | None
    character: Character
    device: str
    left_out: frozenset[str] = frozenset()
    """names of clips that are not trained on"""

    def run(self, out: Path) -> dict[str, Any]:
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


def run_training(training: Training, out: Path, machines: Machines = Machines()) -> dict[str, Any]:
    """Train in `out`, going on with what lies there; returns numbers for the report."""
    launcher = machines.launcher()
    if launcher is None:
        return training.run(out)
    task, result = out / _TASK, out / _RESULT
    result.unlink(missing_ok=True)
    write_bytes_atomically(task, pickle.dumps((training, torch.get_num_threads())))
    command = [*launcher, "-m", "parc.loop.training", str(task)]
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
    training, threads = pickle.loads(task.read_bytes())
    torch.set_num_threads(threads)
    is_first = os.environ.get("RANK", "0") == "0"
    try:
        answer = {"result": training.run(task.parent)}
    except ParcError as error:
        with contextlib.suppress(OSError):
            write_bytes_atomically(task.with_name(_RESULT), json.dumps({"error": str(error)}).encode())
        return 1
    if torch.distributed.is_initialized():
        torch.distributed.barrier()
        torch.distributed.destroy_process_group()
    if is_first:
        write_bytes_atomically(task.with_name(_RESULT), json.dumps(answer).encode())
    return 0


def _end_with_the_loop() -> None:
    while os.read(0, 1):
        pass
    os._exit(1)


if __name__ == "__main__":
    from parc.loop import training as module  # so that the classes in the pickle are these ones

    sys.exit(module.main(Path(sys.argv[1])))
