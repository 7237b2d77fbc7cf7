"""A full disk and a folder that cannot be written: one sentence, nothing lost, and the same command goes on.

The kernel's own errors are used: /dev/full for a write that finds no space, a 1 MB tmpfs where mounting is allowed, a read-only
remount of it (root may write to any folder, so permissions would not do), and a file where a folder should be.
"""

import contextlib
import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from parc.character import humanoid
from parc.cli.main import main
from parc.loop import LoopError, preset, run_loop
from parc.loop.ledger import LEDGER

ITERATION = "iteration-01"


def undo(folder: Path, stages: list[str]) -> None:
    """Make the ledger say that stages were begun and not finished."""
    ledger = json.loads((folder / LEDGER).read_text())
    for stage in stages:
        ledger["stages"][f"{ITERATION}/{stage}"] |= {"seconds": None, "outputs": {}, "result": {}}
    (folder / LEDGER).write_text(json.dumps(ledger))


@contextlib.contextmanager
def small_disk(folder: Path, size: str) -> Iterator[None]:
    folder.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(folder)], capture_output=True)
    if made.returncode:
        pytest.skip("a tmpfs cannot be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_full_disk_in_training(finished: Path, tmp_path: Path, dataset_hashes) -> None:
    folder = Path(shutil.copytree(finished, tmp_path / "run"))
    undo(folder, ["tracker", "recording", "dataset"])
    log = folder / ITERATION / "tracker" / "metrics.jsonl"
    log.unlink()
    log.symlink_to("/dev/full")
    with pytest.raises(LoopError, match=r"is full; nothing finished is lost.*same command again"):
        run_loop(folder, preset("tiny"), humanoid())
    log.unlink()
    run_loop(folder, preset("tiny"), humanoid())
    assert dataset_hashes(folder) == dataset_hashes(finished)


def test_full_disk_anywhere(finished: Path, tmp_path: Path, dataset_hashes) -> None:
    """The disk fills up in the middle of the run; with more room it ends as if nothing had been."""
    disk = tmp_path / "disk"
    with small_disk(disk, "900k"):
        with pytest.raises(LoopError, match="is full"):
            run_loop(disk / "run", preset("tiny"), humanoid())
        assert "iteration-01/generator" in (disk / "run" / LEDGER).read_text()
        subprocess.run(["mount", "-o", "remount,size=50m", str(disk)], check=True)
        run_loop(disk / "run", preset("tiny"), humanoid())
        assert dataset_hashes(disk / "run") == dataset_hashes(finished)


def test_read_only(finished: Path, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    with small_disk(disk, "50m"):
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        with pytest.raises(LoopError, match=r"cannot be written to.*Read-only file system"):
            run_loop(disk / "run", preset("tiny"), humanoid())


def test_file_in_place_of_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run").write_text("not a folder")
    assert main(["loop", str(tmp_path / "run"), "--preset", "tiny", "--device", "cpu"]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1 and "cannot be written to" in lines[0] and "run" in lines[0]


def test_a_lost_gpu(finished: Path, tmp_path: Path, dataset_hashes) -> None:
    """torch's own errors, wherever in a run they come up."""
    folder = Path(shutil.copytree(finished, tmp_path / "run"))
    undo(folder, ["recording", "dataset"])
    for error, told in (
        (torch.AcceleratorError("CUDA error: unspecified launch failure\nCompile with"), "was lost (CUDA error: unspecified"),
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB."), "has too little memory (CUDA out of memory"),
    ):

        def fail(iteration: int, error: RuntimeError = error) -> None:
            raise error

        with pytest.raises(LoopError) as caught:
            run_loop(folder, preset("tiny"), humanoid(), after_iteration=fail)
        assert told in str(caught.value) and "\n" not in str(caught.value) and "nothing finished" in str(caught.value)
    run_loop(folder, preset("tiny"), humanoid())
    assert dataset_hashes(folder) == dataset_hashes(finished)
