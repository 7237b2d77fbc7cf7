"""torchrun with two processes: equal parameters on both, and the loss curve of one process with the same global batch.

Tolerance of the curve: 1e-3 of each value (float32 sums in another order, through 20 steps of Adam or 24 of PPO).
"""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from parc.run.checkpoint import load_checkpoint

SCRIPT = str(Path(__file__).with_name("two_trainings.py"))
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
TOLERANCE = {"rtol": 1e-3, "atol": 1e-5}


def run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.parametrize("what", ["generator", "tracker"])
def test_two_ranks_learn_what_one_process_learns(what: str, tmp_path: Path) -> None:
    run([*TORCHRUN, SCRIPT, what, str(tmp_path)])
    run([sys.executable, SCRIPT, what, str(tmp_path)])
    first, second, alone = (load_checkpoint(tmp_path / f"{what}-{name}.safetensors")[0] for name in ("2-0", "2-1", "1-0"))
    for name in first:
        torch.testing.assert_close(first[name], second[name], rtol=0, atol=0, msg=f"{name} differs between ranks")
    assert len(first["curve"]) >= 12 and first["curve"][0, 0] != first["curve"][-1, 0]
    torch.testing.assert_close(first["curve"], alone["curve"], **TOLERANCE)
    for name in ("mean", "std") if what == "generator" else ("normalizer.mean", "normalizer.variance", "failures", "visits"):
        torch.testing.assert_close(first[name], alone[name], **TOLERANCE)
