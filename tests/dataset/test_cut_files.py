"""A file that is cut while it is open: a sentence, where a mapped read would end the process (SIGBUS)."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from parc.character import humanoid
from parc.dataset import Clip, Dataset, DatasetWriter
from parc.run.checkpoint import save_checkpoint
from parc.terrain.terrain import Terrain
from parc.terrain.terrain_file import save_terrain

_READER = """
import os, sys
from parc.dataset import Dataset
from parc.errors import DatasetError

dataset = Dataset.open(sys.argv[1])
kept = dataset[0]
sum_before = float(kept.motion.joint_rot.sum())
shard = [file for file in os.listdir(sys.argv[1]) if file.startswith("shard-")][0]
os.truncate(os.path.join(sys.argv[1], shard), int(sys.argv[2]))
for read in (lambda: dataset[1], lambda: list(dataset)):
    try:
        read()
        print("read")
    except DatasetError as error:
        print(error)
assert float(kept.motion.joint_rot.sum()) == sum_before
"""


@pytest.mark.parametrize("left", [0, 4096])
def test_a_shard_that_is_cut_while_it_is_open(tmp_path: Path, make_clip: Callable[..., Clip], left: int) -> None:
    with DatasetWriter(tmp_path / "set", humanoid()) as writer:
        writer.append([make_clip(str(k), seed=k, frames=400) for k in range(3)])
    command = [sys.executable, "-c", _READER, str(tmp_path / "set"), str(left)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, (done.returncode, done.stderr)
    lines = done.stdout.splitlines()
    assert len(lines) == 2 and all("was cut while it was open" in line and f"to {left} bytes" in line for line in lines)


def test_what_takes_the_place_of_a_shard_does_not_matter(
    tmp_path: Path, make_clip: Callable[..., Clip], same: Callable[[Clip, Clip], bool]
) -> None:
    clips = [make_clip(str(k), seed=k) for k in range(3)]
    with DatasetWriter(tmp_path / "set", humanoid()) as writer:
        writer.append(clips)
    dataset = Dataset.open(tmp_path / "set")
    (shard,) = (tmp_path / "set").glob("shard-*")
    shard.unlink()
    shard.write_bytes(b"")
    assert all(same(a, b) for a, b in zip(dataset, clips, strict=True)) and same(dataset[1], clips[1])


def test_a_large_shard_is_read_clip_by_clip(
    tmp_path: Path, make_clip: Callable[..., Clip], same: Callable[[Clip, Clip], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    clips = [make_clip(str(k), seed=k) for k in range(3)]
    with DatasetWriter(tmp_path / "set", humanoid()) as writer:
        writer.append(clips)
    monkeypatch.setattr("parc.dataset.clip_shard._TOGETHER", 100)
    assert all(same(a, b) for a, b in zip(Dataset.open(tmp_path / "set"), clips, strict=True))


_MAPPED_READER = """
import os, sys
from parc.run.checkpoint import load_checkpoint
from parc.terrain.terrain_file import load_terrain

terrain, weights = load_terrain(sys.argv[1]), load_checkpoint(sys.argv[2])[0]["weights"]
for file in sys.argv[1:]:
    os.truncate(file, 0)
print(float(terrain.heights.sum()), float(weights.sum()))
"""


def test_a_terrain_and_a_model_are_not_mapped_once_they_are_read(tmp_path: Path) -> None:
    save_terrain(Terrain.flat((60, 60), 1.0), tmp_path / "flat.terrain")
    save_checkpoint(tmp_path / "model.safetensors", {"weights": torch.ones(5000)}, {})
    command = [sys.executable, "-c", _MAPPED_READER, str(tmp_path / "flat.terrain"), str(tmp_path / "model.safetensors")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.split() == ["3600.0", "5000.0"], (done.returncode, done.stderr)
