"""Results in parts that are never measured twice: a part is named by the hash of all it was made from.

    OUT/parts/
      generator-3f2a91c04b7d8e65.json    {"schema", "inputs": {"generator": sha256, "settings": hash, ...}, "seconds", "result"}
      generator-3f2a91c04b7d8e65.clips   motions that belong to it, a shard of clips, where there are any

An evaluation that was stopped finds the parts it has done; another model, setting, device, test set or version of the code
gives other names. The file of numbers is written last and whole, so a part is there or it is not.
"""

import functools
import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parc.dataset.clip import Clip
from parc.dataset.clip_shard import Shard, pack
from parc.errors import DatasetError
from parc.loop.ledger import hash_file, hash_settings, hash_text
from parc.run.atomic_files import write_bytes_atomically

SCHEMA = 1
_FOLDER = "parts"
_STAGES = ("character", "motion", "terrain", "path", "metrics", "generate", "correct", "physics", "track", "record", "evaluate")


@dataclass(frozen=True)
class Part:
    result: dict[str, Any]
    seconds: float
    """it took to make, whenever that was"""
    clips_file: Path

    def clips(self) -> list[Clip]:
        shard = Shard(self.clips_file)
        return [shard.clip(k) for k in range(len(shard))]


class PartStore:
    def __init__(self, folder: Path) -> None:
        self.folder = folder / _FOLDER
        self.made, self.found = 0, 0

    def has(self, kind: str, inputs: dict[str, str]) -> bool:
        name = f"{kind}-{part_key(inputs)}"
        return _read(self.folder / f"{name}.json", inputs, self.folder / f"{name}.clips") is not None

    def part(self, kind: str, inputs: dict[str, str], make: Callable[[], tuple[dict[str, Any], list[Clip]]]) -> Part:
        """The part made from these inputs, read or made; `make` returns numbers and clips."""
        name = f"{kind}-{part_key(inputs)}"
        file, clips_file = self.folder / f"{name}.json", self.folder / f"{name}.clips"
        known = _read(file, inputs, clips_file)
        if known is not None:
            self.found += 1
            return known
        began = time.monotonic()
        result, clips = make()
        seconds = round(time.monotonic() - began, 2)
        if clips:
            write_bytes_atomically(clips_file, pack(clips))
        values = {"schema": SCHEMA, "inputs": inputs, "seconds": seconds, "has_clips": bool(clips), "result": tidy(result)}
        write_bytes_atomically(file, json.dumps(values).encode())
        self.made += 1
        return Part(_with_nan(values["result"]), seconds, clips_file)


@functools.cache
def code_fingerprint() -> str:
    """Of the source of every stage that a measurement runs through: numbers of other code are not ours."""
    package = Path(__file__).parents[1]
    files = [file for stage in _STAGES for file in sorted((package / stage).rglob("*.py"))]
    files += sorted((package / "metrics").glob("*.safetensors"))
    return hash_text("\n".join(f"{file.relative_to(package)} {hash_file(file)}" for file in files))


def part_key(inputs: dict[str, str]) -> str:
    return hash_settings(SCHEMA, sorted(inputs.items()))[:16]


def _read(file: Path, inputs: dict[str, str], clips_file: Path) -> Part | None:
    """None for a part that is missing or damaged: it is then made again."""
    try:
        values = json.loads(file.read_bytes())
        if values["schema"] != SCHEMA or values["inputs"] != inputs:
            return None
        if values["has_clips"]:
            Shard(clips_file)
        return Part(_with_nan(values["result"]), values["seconds"], clips_file)
    except (OSError, ValueError, KeyError, TypeError, DatasetError):
        return None


def tidy(value: Any) -> Any:
    """For JSON: seven significant digits, null for what has no value."""
    if isinstance(value, dict):
        return {str(k): tidy(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [tidy(v) for v in value]
    if isinstance(value, float):
        return float(f"{value:.7g}") if math.isfinite(value) else None
    return value


def _with_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _with_nan(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_with_nan(v) for v in value]
    return math.nan if value is None else value
