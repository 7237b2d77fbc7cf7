"""Workers end with the process they work for, however it ends."""

import os
import signal
import subprocess
import sys
import time

import pytest

from parc.run.process_pool import WorkerError, worker_pool

PARENT = """
import os, time
from parc.run.process_pool import worker_pool

if __name__ == "__main__":
    with worker_pool(2) as pool:
        print(*{pool.submit(os.getpid).result() for _ in range(2)}, *pool._processes, flush=True)
        time.sleep(600)
"""


def alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_workers_of_a_killed_parent_are_gone(tmp_path):
    (tmp_path / "parent.py").write_text(PARENT)
    with subprocess.Popen([sys.executable, tmp_path / "parent.py"], stdout=subprocess.PIPE, text=True) as parent:
        workers = {int(pid) for pid in parent.stdout.readline().split()}
        assert workers and all(map(alive, workers)) and parent.pid not in workers
        parent.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 60
    while any(map(alive, workers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    left = [pid for pid in workers if alive(pid)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left


def test_a_pool_does_its_work():
    with worker_pool(1) as pool:
        assert list(pool.map(abs, [-1, 2])) == [1, 2]


def test_a_killed_worker_is_one_sentence():
    with pytest.raises(WorkerError, match="worker process was killed"), worker_pool(1) as pool:
        pool.submit(os._exit, 9).result()
