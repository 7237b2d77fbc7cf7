"""A few hundred damaged files, the same at every run; `python tests/fuzz/run.py --minutes 60` tries more."""

import importlib.util
import os
import sys
from pathlib import Path

import pytest


@pytest.mark.skipif(os.name != "posix", reason="limits of memory and time are POSIX's")
def test_every_reader_ends_with_success_or_a_sentence(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("fuzz_run", Path(__file__).with_name("run.py"))
    assert spec is not None and spec.loader is not None
    run = importlib.util.module_from_spec(spec)
    sys.modules["fuzz_run"] = run
    spec.loader.exec_module(run)
    tried, faults = run.fuzz(seed=0, first=0, cases=1000, keep=tmp_path)
    assert tried == 1000
    assert not faults, "\n".join(map(str, faults))
