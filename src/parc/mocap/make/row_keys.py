"""What a row's clip is made from, as a hash: the row as it stands on the list, its naming table, and the content of its source.

A file that was repaired, a frame that was moved and a joint that was renamed change it; notes on the list and the time of a file
do not.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from parc.mocap.make.take_shortlist import ShortlistRow
from parc.run.hashing import hash_file, hash_parts, hash_text


def row_keys(rows: Sequence[ShortlistRow], shortlist: Path) -> dict[str, str]:
    """By the rows' names; a source that many rows cut from is read once."""
    content: Mapping[str, str] = {source: _content(shortlist.parent / source) for source in {row.source for row in rows}}
    return {row.name: _key(row, content[row.source]) for row in rows}


def _key(row: ShortlistRow, content: str) -> str:
    values = json.dumps(asdict(row) | {"content": content}, sort_keys=True, default=dict)
    return hash_text(values)[:32]


def _content(path: Path) -> str:
    """Hash of a file or of all files in a folder; the same for all that cannot be read."""
    files = sorted(f for f in path.rglob("*") if f.is_file()) if path.is_dir() else [path]
    try:
        return hash_parts(
            part for file in files for part in (f"{file.relative_to(path).as_posix()}\0".encode(), bytes.fromhex(hash_file(file)))
        )
    except OSError:
        return ""
