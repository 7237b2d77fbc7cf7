"""A path on disk: a small JSON file.

{"format": "parc path", "version": 1, "nodes": [[x, y, z], ...], "pace": [1.4, null, ...]}        metres, m/s

The pace wanted from each waypoint on may be missing, in all or (null) of some.
"""

import json
from pathlib import Path

import torch

from parc.errors import FormatError, PathError
from parc.path.terrain_path import TerrainPath
from parc.run.atomic_files import write_bytes_atomically
from parc.run.file_reading import read_json

FORMAT = "parc path"
VERSION = 1


def save_path(path: TerrainPath, file: Path | str) -> None:
    """Write a path; the file is there whole or not at all."""
    content = {"format": FORMAT, "version": VERSION, "nodes": path.nodes.detach().cpu().tolist()}
    if path.pace is not None:
        content["pace"] = [None if speed != speed else speed for speed in path.pace.tolist()]  # NaN is no JSON
    write_bytes_atomically(Path(file), json.dumps(content).encode())


def load_path(file: Path | str) -> TerrainPath:
    """The path in a JSON file."""
    content = read_json(file)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise FormatError(f'{file} is not a path file, expected a JSON object with "format": "{FORMAT}"')
    if content.get("version") != VERSION:
        raise FormatError(f"{file} has version {content.get('version')}, expected {VERSION}")
    try:
        speeds = content.get("pace")
        pace = None if speeds is None else torch.tensor([torch.nan if v is None else v for v in speeds], dtype=torch.float32)
        return TerrainPath(torch.tensor(content.get("nodes"), dtype=torch.float32), pace)
    except (TypeError, ValueError, RuntimeError, OverflowError, MemoryError):
        raise FormatError(f"the nodes of {file} are not a list of [x, y, z] numbers, or its paces no list of numbers") from None
    except PathError as error:
        raise FormatError(f"{file}: {error}") from None
