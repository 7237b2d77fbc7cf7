"""What every command shares: seed, device, JSON output, and errors that are one sentence.

A command is a frozen dataclass; its fields are its options and its docstring its help. `run` does the work and returns the
result as plain data; `show` prints it for a person. With --json the result is one JSON object on the last line of stdout.
"""

import json
import logging
import math
import os
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

from parc.errors import printable

if TYPE_CHECKING:
    from parc.run.on_progress import OnProgress


@dataclass(frozen=True, kw_only=True)
class Command(ABC):
    """Options of every command, and how its result is told."""

    seed: int = 0
    """same seed, same result"""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """auto takes a GPU if there is one"""
    json: bool = False
    """print the result as one JSON object"""

    def check(self) -> None:
        """What every command refuses before it begins."""
        from parc.errors import SettingsError

        if (self.seed or 0) < 0:
            raise SettingsError(f"the seed is {self.seed}, expected a number of at least 0")
        if self.device == "cuda":
            _ = self.torch_device

    @classmethod
    def of_preset(cls, preset: str, device: str) -> dict[str, Any]:
        """Fields whose default is another with this `--preset` and `--device`."""
        return {}

    def with_named(self, places: frozenset[str]) -> Self:
        """The command, told which options were typed, by the fields that lead to them, as settings.ppo.gamma."""
        return self

    @abstractmethod
    def run(self) -> dict[str, Any]:
        """Do the work; the result as plain data."""

    def show(self, result: dict[str, Any]) -> None:
        """Print the result for a person; aligned pairs unless a command has something better."""
        width = max((len(k) for k in result), default=0)
        for key, value in result.items():
            print(f"{key:<{width}}  {_readable(value)}")

    @property
    def torch_device(self) -> str:
        """Where torch computes."""
        from parc.run.choose_device import choose_device

        return choose_device(self.device)


def log_to_stderr() -> None:
    """Show the messages of a long job, with the time of each."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_PlainFormatter("%(asctime)s %(message)s", datefmt="%H:%M:%S"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])


class _PlainFormatter(logging.Formatter):
    """Messages may name clips."""

    def format(self, record: logging.LogRecord) -> str:
        return "\n".join(map(printable, super().format(record).split("\n")))


def tell(what: str) -> None:
    """A line on stderr now."""
    print(printable(what), file=sys.stderr, flush=True)


def print_json(result: dict[str, Any]) -> None:
    """The result as one line of JSON, the last of stdout."""
    sys.stdout.flush()
    print(json.dumps(_plain(result)))


def progress(total: int | None, what: str, unit: str = "") -> Any:
    """A bar with an estimate of what is left on a terminal; elsewhere lines after 2, 8, 26, 56 s and so on; on stderr."""
    if not sys.stderr.isatty():
        from parc.cli.progress_lines import ProgressLines

        return ProgressLines(total, what, unit=unit)
    from tqdm import tqdm

    size = {} if _has_width() else {"ncols": 100, "nrows": 20}  # tqdm draws nothing where the size is 0, as in a container
    return tqdm(total=total, desc=what, unit=unit, file=sys.stderr, **size)


def _has_width() -> bool:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns > 0
    except (OSError, ValueError):
        return False


def shown(bar: Any) -> "OnProgress":
    """Tell a progress bar what long work reports."""
    drawn = [time.monotonic()]

    def tell(done: float, total: float, note: str = "") -> None:
        bar.total = round(total)
        if note:
            bar.set_postfix_str(note, refresh=False)
        bar.update(max(0, round(done) - bar.n))
        if time.monotonic() - drawn[0] > 0.5 and hasattr(bar, "refresh"):  # a bar draws itself only where more gets done
            drawn[0] = time.monotonic()
            bar.refresh()

    return tell


def new_names(names: Sequence[str], there: Container[str], resume: bool, otherwise: str) -> set[str]:
    """The names of a job that a data set has not; before any work, refuses to make what is there unless told to resume."""
    from parc.errors import DatasetError

    taken = [name for name in names if name in there]
    if taken and not resume:
        some = ", ".join(taken[:2]) + (", ..." if len(taken) > 2 else "")
        left = len(names) - len(taken)
        resume_hint = f", or add --resume to make only the {left} that are missing" if left else ""
        raise DatasetError(
            f"the data set already has {len(taken)} of these {len(names)} clips ({some}); {otherwise}{resume_hint}"
        )
    return set(names) - set(taken)


def show_workers(bar: Any) -> Callable[[Any], None]:
    """Tell beside a progress bar how a cluster is doing (`parc.run.work_items.WorkersState`)."""
    return lambda state: bar.set_postfix_str(f"{state.running} handed out, {state.machines} machines, {state.lost} lost")


def number(value: float, form: str = ".5g") -> str:
    """For a person; a value that has no meaning is a dash."""
    return "-" if math.isnan(value) else format(value, form)


def _readable(value: Any) -> str:
    if isinstance(value, float):
        return number(value)
    if isinstance(value, list):
        return ", ".join(_readable(v) for v in value) or "-"
    return str(value)


def _plain(value: Any) -> Any:
    """JSON has no NaN or infinity: null instead."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return value
