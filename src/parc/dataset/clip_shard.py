"""A shard: many clips in one safetensors file, their arrays laid end to end.

    root_pos [F,3]  root_rot [F,4]  joint_rot [F,B-1,4]  contacts [F,B]    F frames of all clips
    heights [C]  bounds [D,2]     cells of all terrains, row by row; bounds of those clips that have them
    min_point [N,2]  path [P,3]   one for each clip; waypoints of all paths

The header's metadata is one key, `parc.clips`, holding as JSON the version and one entry for each clip (one key, because
safetensors writes several in any order, and equal clips shall be equal files); where a clip starts is the sum of the sizes
before it. Opening maps the file into memory and reads the header; a clip's arrays are read when it is asked for, into memory of
its own. Before that the file's size is looked at, because the system ends a process that touches a map beyond the end of a file
that was cut. A `.motion` file is a shard of one clip.
"""

import json
import math
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict
from itertools import accumulate
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from parc.dataset.clip import Clip
from parc.dataset.clip_entry import ClipEntry
from parc.errors import DatasetError, FormatError, ParcError
from parc.motion.motion import MOST_CONTACT, Motion
from parc.path.terrain_path import TerrainPath
from parc.run.dataclass_json import from_json
from parc.run.file_reading import check_plain_file, reading
from parc.terrain.terrain import Terrain

FORMAT = "parc.clips"
VERSION = 1
Make = Callable[..., Any]
_FINITE = ("root_pos", "root_rot", "joint_rot", "contacts", "heights", "min_point", "path")
_ARRAYS = (*_FINITE, "bounds")
_TOGETHER = 2**28
"""bytes of a shard up to which all of it is read at once"""


def pack(clips: list[Clip], held: dict[str, Any] | None = None) -> bytes:
    """The shard of these clips, as bytes; `held`: their character, for a file that is to say it (`.motion`)."""
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
    header: dict[str, Any] = {"version": VERSION, "clips": [asdict(ClipEntry.of(clip)) for clip in clips]}
    if held is not None:
        header["held"] = held
    return save(tensors, {FORMAT: json.dumps(header)})


def _join(parts: list[Tensor]) -> Tensor:
    return torch.cat([part.detach().to("cpu", torch.float32) for part in parts]).contiguous()


class Shard:
    """A shard file, open for reading."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        try:
            if self.path.exists():
                check_plain_file(self.path)
            with safe_open(self.path, framework="pt") as file:
                metadata = file.metadata() or {}
                self._mapped: dict[str, Tensor] = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
            self._opened = os.stat(self.path)
        except (SafetensorError, OSError, RuntimeError, FormatError, ValueError, MemoryError) as error:
            if not self.path.exists():  # or no longer: the file is opened twice, and may go in between
                raise FileNotFoundError(2, "no such file", str(self.path)) from None
            raise DatasetError(f"{self.path} is damaged or not a file of clips ({error})") from None
        self.entries = self._read_entries(metadata)
        self._frame = _starts([e.frames for e in self.entries])
        self._cell = _starts([e.cells for e in self.entries])
        self._bound = _starts([e.cells * e.has_bounds for e in self.entries])
        self._node = _starts([e.path_nodes for e in self.entries])
        with reading(str(self.path), "file of clips", DatasetError):
            self._check_sizes()

    def __len__(self) -> int:
        return len(self.entries)

    def clip(self, index: int) -> Clip:
        """One clip, its values checked."""
        self._check_uncut()
        return self._checked_clip(index, {key: part.clone() for key, part in self._parts(index, self._mapped).items()})

    def clips(self) -> Iterator[Clip]:
        """All clips. Their values are checked together first, which is many times faster than one clip after another."""
        self._check_uncut()
        if self._opened.st_size > _TOGETHER:
            return (self.clip(i) for i in range(len(self)))
        arrays = {key: self._mapped[key].clone() for key in _ARRAYS}
        parts = ((i, self._parts(i, arrays)) for i in range(len(self)))
        if _values_are_sound(arrays):
            return (_build(self.entries[i], part, _unchecked) for i, part in parts)
        return (self._checked_clip(i, part) for i, part in parts)

    def _check_uncut(self) -> None:
        """Another file of this name, or none, says nothing of the one that is mapped."""
        try:
            now = os.stat(self.path)
        except OSError:
            return
        is_same = (now.st_dev, now.st_ino) == (self._opened.st_dev, self._opened.st_ino)
        if is_same and now.st_size < self._opened.st_size:
            raise DatasetError(f"{self.path} was cut while it was open: from {self._opened.st_size} to {now.st_size} bytes")

    def _checked_clip(self, index: int, parts: dict[str, Tensor]) -> Clip:
        try:
            return _build(self.entries[index], parts, _checked)
        except ParcError as error:
            raise DatasetError(f"{self.path}: clip '{self.entries[index].name}' is damaged: {error}") from None

    def _parts(self, index: int, arrays: dict[str, Tensor]) -> dict[str, Tensor]:
        """What is a clip's own of each array."""
        starts = {"heights": self._cell, "bounds": self._bound, "path": self._node}
        parts = {key: arrays[key][s[index] : s[index + 1]] for key in _ARRAYS for s in [starts.get(key, self._frame)]}
        return parts | {"min_point": arrays["min_point"][index]}

    def _read_entries(self, metadata: dict[str, str]) -> list[ClipEntry]:
        if FORMAT not in metadata:
            raise DatasetError(f"{self.path} is a safetensors file, but not one of clips")
        try:
            with reading("the list of its clips", "list", DatasetError):
                header: Any = json.loads(metadata[FORMAT])
                if header["version"] != VERSION:
                    raise DatasetError(f"it has version {str(header['version'])[:20]}, this program reads {VERSION}")
                entries = [from_json(ClipEntry, value, DatasetError) for value in header["clips"]]
                self.held: dict[str, Any] | None = header.get("held")
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
            have = self._mapped.get(key)
            if have is None or tuple(have.shape) != shape or have.dtype != torch.float32:
                found = "missing" if have is None else f"{list(have.shape)} {have.dtype}"
                raise DatasetError(f"{self.path}: array '{key}' is {found}, its entries say {list(shape)} float32")


def _build(entry: ClipEntry, parts: dict[str, Tensor], make: Make) -> Clip:
    """A clip of its own parts of the arrays."""
    moving = {key: parts[key] for key in ("root_pos", "root_rot", "joint_rot", "contacts")}
    motion = make(Motion, **moving, fps=entry.fps, loops=entry.loops)
    heights, bounds = parts["heights"].view(entry.size), parts["bounds"].view(*entry.size, 2) if entry.has_bounds else None
    terrain = make(Terrain, heights=heights, min_point=parts["min_point"], cell=entry.cell, bounds=bounds)
    path = make(TerrainPath, nodes=parts["path"]) if entry.path_nodes else None
    return Clip(entry.name, motion, terrain, path, entry.character, entry.provenance)


def _values_are_sound(arrays: dict[str, Tensor]) -> bool:
    """What `Motion`, `Terrain` and `TerrainPath` would check of every clip, on the arrays of all."""
    finite = all(math.isfinite(arrays[key].sum(dtype=torch.float64)) for key in _FINITE)
    contacts = arrays["contacts"]
    bounded = not contacts.numel() or float(contacts.abs().amax()) <= MOST_CONTACT
    turns = (arrays[key] for key in ("root_rot", "joint_rot"))
    return finite and bounded and all(float((q.norm(dim=-1) - 1).abs().amax()) <= 1e-2 for q in turns if q.numel())


def _checked(cls: type, **values: Any) -> Any:
    return cls(**values)


def _unchecked(cls: type, **values: Any) -> Any:
    """An object of a frozen dataclass without the run of its `__post_init__`."""
    made: Any = object.__new__(cls)
    made.__dict__.update(values)
    return made


def _starts(sizes: list[int]) -> list[int]:
    return list(accumulate(sizes, initial=0))
