"""Numbers of a run shown elsewhere: its metrics.jsonl files copied, line by line, to TensorBoard or Weights & Biases.

The files are the record; a mirror only reads them. So it can be started late, stopped, and run on another machine, and training
neither knows nor waits for it. What was copied is remembered by the number of lines of each file, here and not in the run.
"""

import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

from parc.errors import ParcError
from parc.run.metrics_log import read_metrics

METRICS_FILE = "metrics.jsonl"
_STEPS = ("samples", "step", "iteration")
"""which number counts a file's steps, the first it has"""


class MirrorError(ParcError):
    """A place for numbers that cannot be used."""


class Target(Protocol):
    """Where rows of metrics are sent."""

    def write(self, series: str, step: int, values: dict[str, float]) -> None: ...

    def close(self) -> None: ...


class TensorBoardTarget:
    """Rows as scalars of TensorBoard."""

    def __init__(self, folder: Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise MirrorError("TensorBoard is not installed; `pip install 'parc-motion[logs]'` brings it") from None
        self._writer = SummaryWriter(str(folder))

    def write(self, series: str, step: int, values: dict[str, float]) -> None:
        for name, value in values.items():
            self._writer.add_scalar(f"{series}/{name}", value, step)

    def close(self) -> None:
        self._writer.close()


class WandbTarget:
    """Rows as metrics of a run of Weights & Biases."""

    def __init__(self, project: str, folder: Path) -> None:
        try:
            import wandb
        except ImportError:
            raise MirrorError("wandb is not installed; `pip install 'parc-motion[logs]'` brings it") from None
        self._run = wandb.init(project=project, name=folder.name, dir=str(folder), resume="allow")
        self._known: set[str] = set()

    def write(self, series: str, step: int, values: dict[str, float]) -> None:
        if series not in self._known:
            self._run.define_metric(f"{series}/*", step_metric=f"{series}/at")
            self._known.add(series)
        self._run.log({f"{series}/at": step, **{f"{series}/{name}": value for name, value in values.items()}})

    def close(self) -> None:
        self._run.finish()


class Mirror:
    """Copies what is new in all metrics files below a folder."""

    def __init__(self, folder: Path, targets: list[Target]) -> None:
        if not folder.is_dir():
            raise MirrorError(f"there is no folder {folder}; expected one with {METRICS_FILE} files below it, such as a run's")
        self.folder, self.targets = folder, targets
        self._copied: dict[Path, int] = {}

    def copy(self) -> int:
        """Returns how many lines were copied."""
        count = 0
        for file in sorted(self.folder.rglob(METRICS_FILE)):
            rows, begin = read_metrics(file), self._copied.get(file, 0)
            if len(rows) < begin:  # the stage was done over
                begin = 0
            for row in rows[begin:]:
                self._write(file, row)
            self._copied[file] = len(rows)
            count += len(rows) - begin
        return count

    def follow(self, is_over: Callable[[], bool], seconds: float = 5.0) -> Iterator[int]:
        """Copy again and again, until it is over."""
        while True:
            over = is_over()
            yield self.copy()
            if over:
                return
            time.sleep(seconds)

    def _write(self, file: Path, row: dict[str, Any]) -> None:
        place = file.parent.relative_to(self.folder).as_posix()
        event = row.get("event", "train")
        series = "/".join(part for part in (place, event) if part != ".")
        step = next((int(row[name]) for name in _STEPS if isinstance(row.get(name), int | float)), 0)
        values = {k: float(v) for k, v in row.items() if isinstance(v, int | float) and math.isfinite(v) and k not in _STEPS}
        for target in self.targets:
            target.write(series, step, values)
