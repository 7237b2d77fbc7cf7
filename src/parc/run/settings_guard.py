"""A folder is made in one way: that of the first call, which is written down beside what was made."""

import json
from pathlib import Path
from typing import Any

from parc.errors import FormatError, SettingsError
from parc.run.atomic_files import write_bytes_atomically
from parc.run.file_reading import read_json


def agree(file: Path, wanted: dict[str, Any], folder: Path | None = None) -> None:
    """Write `wanted` down at the first call; at later ones refuse what differs. `folder`: what is made, if not the file's own."""
    folder = folder or file.parent
    text = json.dumps(wanted, indent=1, sort_keys=True, default=str)
    if not file.is_file():
        write_bytes_atomically(file, text.encode())
        return
    try:
        other = _differing(json.loads(text), read_json(file))
    except (FormatError, KeyError, TypeError, IndexError, AttributeError):
        raise FormatError(f"{file} does not say how what is beside it was made") from None
    if other:
        raise SettingsError(f"{folder} was begun otherwise ({' and '.join(other)}); choose another folder")


def _differing(wanted: dict[str, Any], found: dict[str, Any], above: str = "") -> list[str]:
    """Names of the entries that are not the same, those of settings within settings as `settings.name`."""
    names = []
    for name, value in wanted.items():
        other = found[name] if not above else found.get(name)
        if isinstance(value, dict) and isinstance(other, dict):
            names += _differing(value, other, f"{above}{name}.")
        elif other != value:
            names.append(f"{above}{name}")
    return names
