"""A hostile file: its name, what reads it, and how it is put in its place."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

Make = Callable[[Path], None]


@dataclass(frozen=True)
class Hostile:
    name: str
    kind: str
    """name of the `Kind` that reads it"""
    make: Make
    """puts it at a path"""


def content(data: bytes) -> Make:
    def make(path: Path) -> None:
        path.write_bytes(data)
        if path.name.startswith("shard-"):
            _forge_index(path.parent)

    return make


def _forge_index(folder: Path) -> None:
    """Whoever makes a shard makes its index too: one that says nothing of size and content."""
    values = json.loads((folder / "index.json").read_bytes())
    del values["sha256"]
    for shard in values["shards"]:
        shard |= {"bytes": 0, "sha256": ""}
    digest = hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
    (folder / "index.json").write_text(json.dumps(values | {"sha256": digest}))
