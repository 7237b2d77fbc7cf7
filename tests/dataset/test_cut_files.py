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
from parc.run.checkpoint import load_checkpoint
from parc.terrain.terrain_file import load_terrain

folder, shard, flat, model = sys.argv[1:]
dataset, terrain, weights = Dataset.open(folder), load_terrain(flat), load_checkpoint(model)[0]["weights"]
kept = dataset[0].motion.joint_rot
before = float(kept.sum())
for file in (flat, model):
    os.truncate(file, 0)
for size in (4096, 0):
    os.truncate(shard, size)
    for read in (lambda: dataset[1], lambda: list(dataset)):
        try:
            read()
            print("read")
        except DatasetError as error:
            print(error)
print(float(kept.sum()) == before, float(terrain.heights.sum()), float(weights.sum()))
"""


def test_files_that_are_cut_while_they_are_open(tmp_path: Path, make_clip: Callable[..., Clip]) -> None:
    """A shard is told; a terrain, a model and clips that were read before stay whole. In a process that may be ended."""
    with DatasetWriter(tmp_path / "set", humanoid()) as writer:
        writer.append([make_clip(str(k), seed=k, frames=400) for k in range(3)])
    (shard,) = (tmp_path / "set").glob("shard-*")
    save_terrain(Terrain.flat((60, 60), 1.0), tmp_path / "flat.terrain")
    save_checkpoint(tmp_path / "model.safetensors", {"weights": torch.ones(5000)}, {})
    files = [tmp_path / "set", shard, tmp_path / "flat.terrain", tmp_path / "model.safetensors"]
    done = subprocess.run([sys.executable, "-c", _READER, *map(str, files)], capture_output=True, text=True)
    assert done.returncode == 0, (done.returncode, done.stderr)
    *told, last = done.stdout.splitlines()
    sizes = (4096, 4096, 0, 0)
    assert all(
        "was cut while it was open" in line and line.endswith(f"to {n} bytes") for line, n in zip(told, sizes, strict=True)
    )
    assert last == "True 3600.0 5000.0"


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
