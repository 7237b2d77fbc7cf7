"""One undisturbed tiny run, made once, through the command line in a process of its own."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from parc.run.hashing import hash_file


def _loop_command(folder: Path, *options: str) -> list[str]:
    """Of a tiny run, unless another preset is among the options."""
    size = [] if "--preset" in options else ["--preset", "tiny"]
    return [sys.executable, "-m", "parc.cli.main", "loop", str(folder), *size, "--device", "cpu", *options]


def _dataset_hashes(folder: Path, iteration: int = 1) -> dict[str, str]:
    """Of index and shards of D_i."""
    place = folder / f"iteration-{iteration:02d}" / "dataset" / "dataset"
    files = [place / "index.json", *sorted(place.glob("shard-*"))]
    return {file.name: hash_file(file) for file in files}


def _began(folder: Path) -> dict[str, float]:
    """When each stage was last begun."""
    return {name: entry["began"] for name, entry in json.loads((folder / "ledger.json").read_text())["stages"].items()}


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Not to be changed: copy it."""
    folder = tmp_path_factory.mktemp("loop") / "run"
    done = subprocess.run(_loop_command(folder, "--json"), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (folder / "result.json").write_text(done.stdout.splitlines()[-1])
    return folder


@pytest.fixture(scope="session")
def loop_command() -> Callable[..., list[str]]:
    """Command line of a tiny run in a folder."""
    return _loop_command


@pytest.fixture(scope="session")
def dataset_hashes() -> Callable[..., dict[str, str]]:
    return _dataset_hashes


@pytest.fixture(scope="session")
def began() -> Callable[[Path], dict[str, float]]:
    return _began
