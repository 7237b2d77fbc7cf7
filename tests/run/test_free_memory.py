"""Memory that many short threads used and freed is the system's again."""

import subprocess
import sys

import pytest

_USER = """
import threading
import numpy as np
from parc.run.free_memory import give_back_memory, keep_memory_together

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096 / 2**20

def work():
    kept = []
    for _ in range(4):
        large = [np.ones(2**17 + i * 7919 % 2**17) for i in range(12)]
        kept.append(np.ones(1000))
        del large

keep_memory_together()
before = resident()
for _ in range(2):
    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    give_back_memory()
print(resident() - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at the memory of a process through /proc")
def test_what_threads_freed_is_given_back() -> None:
    """Left alone, glibc keeps about 200 MB of it."""
    done = subprocess.run([sys.executable, "-c", _USER], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 20.0
