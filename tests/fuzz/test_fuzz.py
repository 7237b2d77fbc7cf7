"""A thousand damaged files and part of the hostile ones, the same at every run.

`python tests/fuzz/run.py --minutes 60` tries more damage, `python tests/fuzz/hostile_run.py` all hostile files.
"""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest


def load_neighbour(name: str) -> ModuleType:
    """A module of this folder, which is no package; it finds those beside it as if it had been started."""
    sys.path.insert(0, str(Path(__file__).parent))
    spec = importlib.util.spec_from_file_location(f"fuzz_{name}", Path(__file__).with_name(f"{name}.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[f"fuzz_{name}"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(os.name != "posix", reason="limits of memory and time are POSIX's")
def test_every_reader_ends_with_success_or_a_sentence(tmp_path: Path) -> None:
    tried, faults = load_neighbour("run").fuzz(seed=0, first=0, cases=1000, keep=tmp_path)
    assert tried == 1000
    assert not faults, "\n".join(map(str, faults))


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are watched through /proc")
def test_hostile_files_run_nothing_reach_nothing_and_cost_little() -> None:
    """In a process of their own, since reading them forks."""
    script = Path(__file__).with_name("hostile_run.py")
    done = subprocess.run([sys.executable, str(script), "--every", "6"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    assert json.loads(done.stdout.splitlines()[-1])["files"] > 100
