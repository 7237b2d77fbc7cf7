"""Clips from a data set, a folder or one file."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from parc.author.procedural_walk import stroll
from parc.character import humanoid
from parc.dataset import DatasetWriter, load_clip, save_clip
from parc.dataset.clip_reading import read_clips
from parc.errors import DatasetError, FormatError
from parc.path.terrain_path import TerrainPath
from parc.terrain.terrain import Terrain


def test_every_source_gives_its_clips(tmp_path: Path) -> None:
    walk = stroll(Terrain.flat((10, 6)), TerrainPath(torch.tensor([[0.4, 1.0, 0.0], [3.0, 1.0, 0.0]])))
    (tmp_path / "files" / "deeper").mkdir(parents=True)
    save_clip(walk, tmp_path / "files" / "a.motion")
    save_clip(walk, tmp_path / "files" / "deeper" / "b.pkl")
    with DatasetWriter(tmp_path / "set", humanoid()) as writer:
        writer.append([walk])
    save_clip(replace(walk, provenance=replace(walk.provenance, skill="")), tmp_path / "files" / "gap_jump_12.motion")
    found = read_clips(tmp_path / "files", humanoid())
    assert sorted(c.provenance.skill for c in found) == ["gap_jump", "walk", "walk"]
    assert len(read_clips(tmp_path / "files" / "a.motion", humanoid())) == 1
    assert [c.name for c in read_clips(tmp_path / "set", humanoid())] == ["stroll"]


def test_nothing_to_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="neither a data set nor files"):
        read_clips(tmp_path, humanoid())
    with pytest.raises(FormatError, match="nowhere"):
        read_clips(tmp_path / "nowhere.pkl", humanoid())


def test_a_clip_of_a_data_set_is_read_as_a_file_is(tmp_path: Path) -> None:
    walk = stroll(Terrain.flat((10, 6)), TerrainPath(torch.tensor([[0.4, 1.0, 0.0], [3.0, 1.0, 0.0]])))
    with DatasetWriter(tmp_path / "set", humanoid()) as writer:
        writer.append([replace(walk, name=name) for name in ("climb/take_3", "walk_1.5")])
    for name in ("climb/take_3", "walk_1.5"):
        clip = load_clip(tmp_path / "set" / name, humanoid())
        assert clip.name == name and torch.equal(clip.motion.root_pos, walk.motion.root_pos) and clip.path is not None
    with pytest.raises(DatasetError, match=r"no clip 'walk_1.6'.* did you mean 'walk_1.5'"):
        load_clip(tmp_path / "set" / "walk_1.6", humanoid())
    with pytest.raises(FormatError, match=r"is a folder.* name a clip of this data set as FOLDER/NAME"):
        load_clip(tmp_path / "set", humanoid())
    with pytest.raises(FormatError, match="does not exist"):
        load_clip(tmp_path / "walk_1.pkl", humanoid())
