"""A shard: many clips in one safetensors file, their arrays laid end to end.

    root_pos [F,3] root_rot [F,4] joint_rot [F,B-1,4] contacts [F,B]   F frames of all clips
    heights  [C]   bounds [D,2]                                        cells of all terrains, row by row; bounds where a clip has them
    min_point [N,2]   path [P,3]                                       one per clip; waypoints of all paths

The header's metadata holds `format`, `version` and, as JSON, one entry for each clip; where a clip starts is the sum of the sizes
before it. Opening maps the file into memory; a clip's tensors are views of it, read from disk when first touched and never written to.
A `.motion` file is a shard of one clip.
"""

import json
from itertools import accumulate
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from parc.dataset.clip import Clip
from parc.dataset.entry import ClipEntry
from parc.errors import DatasetError
from parc.motion.motion import Motion
from parc.path.path import TerrainPath
from parc.terrain.terrain import Terrain

FORMAT = "parc clips"
VERSION = 1


def pack(clips: list[Clip]) -> bytes:
    """The shard of these clips, as bytes."""
    if not clips:
        raise DatasetError("a shard needs at least one clip")
    if len({clip.motion.num_bodies for clip in clips}) > 1:
        raise DatasetError("clips of characters with different numbers of bodies cannot share a file")
    motions = [clip.motion for clip in clips]
    bounds = [clip.terrain.bounds.reshape(-1, 2) for clip in clips if clip.terrain.bounds is not None]
    paths = [clip.path.nodes for clip in clips if clip.path is not None]
    tensors = {
        "root_pos": _join([m.root_pos for m in motions]),
        "root_rot": _join([m.root_rot for m in motions]),
        "joint_rot": _join([m.joint_rot for m in motions]),
        "contacts": _join([m.contacts for m in motions]),
        "heights": _join([clip.terrain.heights.reshape(-1) for clip in clips]),
        "bounds": _join(bounds) if bounds else torch.zeros(0, 2),
        "min_point": _join([clip.terrain.min_point.reshape(1, 2) for clip in clips]),
        "path": _join(paths) if paths else torch.zeros(0, 3),
    }
    entries = json.dumps([ClipEntry.of(clip).to_dict() for clip in clips])
    return save(tensors, {"format": FORMAT, "version": str(VERSION), "clips": entries})


def _join(parts: list[Tensor]) -> Tensor:
    return torch.cat([part.detach().to("cpu", torch.float32) for part in parts]).contiguous()


class Shard:
    """A shard file, open for reading."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        try:
            with safe_open(self.path, framework="pt") as file:
                metadata = file.metadata() or {}
                self._tensors: dict[str, Tensor] = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        except FileNotFoundError:
            raise
        except (SafetensorError, OSError) as error:
            raise DatasetError(f"{self.path} is damaged or not a file of clips ({error})") from None
        self.entries = self._read_entries(metadata)
        self._frame = _starts([e.frames for e in self.entries])
        self._cell = _starts([e.cells for e in self.entries])
        self._bound = _starts([e.cells * e.has_bounds for e in self.entries])
        self._node = _starts([e.path_nodes for e in self.entries])
        self._check_sizes()

    def __len__(self) -> int:
        return len(self.entries)

    def clip(self, index: int) -> Clip:
        entry, tensors = self.entries[index], self._tensors
        frames = slice(self._frame[index], self._frame[index + 1])
        cells = slice(self._cell[index], self._cell[index + 1])
        bounds = tensors["bounds"][self._bound[index] : self._bound[index + 1]].view(*entry.size, 2) if entry.has_bounds else None
        nodes = tensors["path"][self._node[index] : self._node[index + 1]]
        motion = Motion(
            tensors["root_pos"][frames],
            tensors["root_rot"][frames],
            tensors["joint_rot"][frames],
            tensors["contacts"][frames],
            entry.fps,
            entry.loops,
        )
        terrain = Terrain(tensors["heights"][cells].view(*entry.size), tensors["min_point"][index], entry.cell, bounds)
        return Clip(entry.name, motion, terrain, TerrainPath(nodes) if len(nodes) else None, entry.character, entry.provenance)

    def _read_entries(self, metadata: dict[str, str]) -> list[ClipEntry]:
        if metadata.get("format") != FORMAT:
            raise DatasetError(f"{self.path} is a safetensors file, but not one of clips")
        if metadata.get("version") != str(VERSION):
            raise DatasetError(f"{self.path} has version {metadata.get('version')}, this program reads {VERSION}")
        try:
            values: Any = json.loads(metadata.get("clips", ""))
            entries = [ClipEntry.from_dict(value) for value in values]
        except (ValueError, TypeError) as error:
            raise DatasetError(f"{self.path}: the entries of its clips cannot be read ({error})") from None
        except DatasetError as error:
            raise DatasetError(f"{self.path}: {error}") from None
        if not entries:
            raise DatasetError(f"{self.path} holds no clips")
        return entries

    def _check_sizes(self) -> None:
        frames, bodies = self._frame[-1], self.entries[0].bodies
        shapes = {
            "root_pos": (frames, 3),
            "root_rot": (frames, 4),
            "joint_rot": (frames, bodies - 1, 4),
            "contacts": (frames, bodies),
            "heights": (self._cell[-1],),
            "bounds": (self._bound[-1], 2),
            "min_point": (len(self.entries), 2),
            "path": (self._node[-1], 3),
        }
        for key, shape in shapes.items():
            have = self._tensors.get(key)
            if have is None or tuple(have.shape) != shape or have.dtype != torch.float32:
                found = "missing" if have is None else f"{list(have.shape)} {have.dtype}"
                raise DatasetError(f"{self.path}: array '{key}' is {found}, its entries say {list(shape)} float32")


def _starts(sizes: list[int]) -> list[int]:
    return list(accumulate(sizes, initial=0))
