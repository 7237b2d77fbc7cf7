"""A folder is made in one way: that of the first call, which is written down beside what was made."""

import json
from pathlib import Path
from typing import Any

from parc.errors import FormatError, SettingsError
from parc.run.atomic_files import write_bytes_atomically
from parc.run.file_reading import read_json


def agree(file: Path, wanted: dict[str, Any]) -> None:
    """Write `wanted` down at the first call; at later ones refuse what differs."""
    text = json.dumps(wanted, indent=1, sort_keys=True, default=str)
    if not file.is_file():
        write_bytes_atomically(file, text.encode())
        return
    try:
        found, wanted = read_json(file), json.loads(text)
        other = [name for name, value in wanted.items() if found[name] != value]
    except (FormatError, KeyError, TypeError, IndexError):
        raise FormatError(f"{file} does not say how what is beside it was made") from None
    if other:
        raise SettingsError(f"{file.parent} was begun otherwise ({' and '.join(other)}); choose another folder")
