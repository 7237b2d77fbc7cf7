"""Processes beside this one that do not outlive it.

A process that is killed cannot tell its workers to stop, and an idle worker waits for work for ever. So each has a thread that
waits for the parent's end of a pipe to close, which the system does however the parent ends, and then leaves at once.
"""

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait

import torch

from parc.errors import ParcError


class WorkerError(ParcError):
    """A worker process that was killed."""


@contextmanager
def worker_pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """So many processes of one thread each.

    Not forked: a child of a process that runs torch's threads can hang, and would inherit the locks it holds.
    """
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_begin) as pool:
        try:
            yield pool
        except BrokenProcessPool:
            raise WorkerError("a worker process was killed, perhaps for want of memory; run again with fewer workers") from None


def _begin() -> None:
    torch.set_num_threads(1)
    threading.Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    parent = parent_process()
    assert parent is not None, "a worker has a parent"
    wait([parent.sentinel])
    os._exit(1)
