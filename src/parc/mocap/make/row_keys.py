"""What a row's clip is made from, as a hash: the row as it stands on the list, its naming table, and the content of its source.

A file that was repaired, a frame that was moved and a joint that was renamed change it; notes on the list and the time of a file
do not.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from parc.mocap.make.take_shortlist import ShortlistRow


def row_keys(rows: Sequence[ShortlistRow], shortlist: Path) -> dict[str, str]:
    """By the rows' names; a source that many rows cut from is read once."""
    content: Mapping[str, str] = {source: _content(shortlist.parent / source) for source in {row.source for row in rows}}
    return {row.name: _key(row, content[row.source]) for row in rows}


def _key(row: ShortlistRow, content: str) -> str:
    values = json.dumps(asdict(row) | {"content": content}, sort_keys=True, default=dict)
    return hashlib.sha256(values.encode()).hexdigest()[:32]


def _content(path: Path) -> str:
    """Hash of a file or of all files in a folder; the same for all that cannot be read."""
    files = sorted(f for f in path.rglob("*") if f.is_file()) if path.is_dir() else [path]
    total = hashlib.sha256()
    try:
        for file in files:
            total.update(file.relative_to(path).as_posix().encode() + b"\0")
            with open(file, "rb") as opened:
                total.update(hashlib.file_digest(opened, "sha256").digest())
    except OSError:
        return ""
    return total.hexdigest()
