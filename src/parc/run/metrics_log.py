"""Numbers of a run, one JSON object a line, appended as they come: readable while the run goes on and after it was killed."""

import json
import os
from pathlib import Path
from typing import Any

from parc.run.dataclass_json import tidy


class MetricsLog:
    """Appends to `path`; a line cut short by a kill is ended first, so that the next one stays readable."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self.path.exists() and self.path.stat().st_size and not self._ends_with_newline():
            with self.path.open("ab") as file:
                file.write(b"\n")

    def write(self, **values: Any) -> None:
        """Add a line."""
        line = json.dumps({key: tidy(value, digits=6) for key, value in values.items()})
        with self.path.open("ab") as file:
            file.write(line.encode() + b"\n")

    def _ends_with_newline(self) -> bool:
        with self.path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) == b"\n"


def read_metrics(path: Path | str) -> list[dict[str, Any]]:
    """Lines of a log; the ones cut short by a kill or damaged are left out."""
    rows = []
    for line in Path(path).read_bytes().splitlines():
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict):
            rows.append(row)
    return rows
