"""Where the work of a run is done. None of it is part of what results are made from: a run may go on with other machines.

Items (synthesis, recording) go to a Ray cluster, training to several processes that torchrun starts. A training is then a file
with everything it needs (JSON), RUN/iteration-01/tracker/training_task.json, which each process reads:

    torchrun --standalone --nproc-per-node 2 -m parc.loop.stage_training RUN/iteration-01/tracker/training_task.json

Every process reads its standard input, a pipe whose other end only the loop holds, and ends when it is closed: however the
loop ends, nothing goes on working behind its back.
"""

import contextlib
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import torch

from parc.errors import SettingsError
from parc.run.work_items import Workers, WorkersState, check_cluster, workers_at

CACHE = "cache"
"""folder of a run for generated code"""
_ENOUGH_CORES = 4
"""fewer would make both slower"""


@dataclass(frozen=True)
class Machines:
    """On which machines the stages of a run work."""

    cluster: str | None = None
    """Ray cluster for synthesis and recording: local, auto (the one this machine belongs to) or HOST:PORT; None: this process"""
    processes: int = 1
    """that train together on this machine, one for each GPU"""
    beside: bool | None = None
    """do closed-loop training and evaluations beside the other stages, in processes of their own, and let the CPU's cores record
    meanwhile; None: where there is a GPU and at least four cores"""
    launch: str | None = None
    """command that starts a training on several machines, instead of torchrun on this one, e.g. 'srun torchrun --nnodes 4 ..'"""

    def __post_init__(self) -> None:
        if self.processes < 1:
            raise SettingsError(f"{self.processes} training processes were asked for, expected at least 1")
        check_cluster(self.cluster)
        if self.launch is not None:
            _check_command(self.launch)

    def workers(self, device: str, on_state: Callable[[WorkersState], None] | None = None) -> AbstractContextManager[Workers]:
        return workers_at(self.cluster, device, on_state)

    def works_beside(self, device: str) -> bool:
        """Whether stages that nothing waits for are done beside the others."""
        return torch.device(device).type == "cuda" and _cores() >= _ENOUGH_CORES if self.beside is None else self.beside

    def processes_beside(self, device: str) -> int:
        """That share what one core does at a time in such a stage."""
        return max(1, _cores() // 2) if self.works_beside(device) else 1

    def launcher(self) -> list[str] | None:
        """What stands before `-m MODULE FILE` to start a training in several processes; None: train in this one."""
        if self.launch is not None:
            return shlex.split(self.launch)
        if self.processes == 1:
            return None
        single = ["--standalone", "--nproc-per-node", str(self.processes)]
        return [sys.executable, "-m", "torch.distributed.run", *single]


def code_cache(folder: Path) -> None:
    """Keep code that is generated for a GPU in a folder, where the environment names no other: a run takes it along."""
    for name, part in (("WARP_CACHE_PATH", "warp"), ("TORCHINDUCTOR_CACHE_DIR", "inductor"), ("TRITON_CACHE_DIR", "triton")):
        os.environ.setdefault(name, str(folder / part))


def _cores() -> int:
    """That this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _check_command(launch: str) -> None:
    expected = "expected one such as 'srun torchrun --nnodes 4 --nproc-per-node 8'"
    try:
        words = shlex.split(launch)
    except ValueError as error:
        raise SettingsError(f'the launch command "{launch}" cannot be read ({error}); {expected}') from None
    if not words:
        raise SettingsError(f"the launch command is empty; {expected}")
    if shutil.which(words[0]) is None:
        raise SettingsError(f"there is no command '{words[0]}' on this machine to start a training with; {expected}")


@contextlib.contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """So many threads of torch on the CPU for a while; 0: as they are."""
    before = torch.get_num_threads()
    torch.set_num_threads(count or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)
