"""Results in parts that are never measured twice: a part is named by the hash of all it was made from.

    OUT/parts/
      generator-3f2a91c04b7d8e65.json    {"schema", "inputs": {"generator": sha256, "settings": hash, ...}, "seconds", "result"}
      generator-3f2a91c04b7d8e65.clips   motions that belong to it, a shard of clips, where there are any

An evaluation that was stopped finds the parts it has done (`parc.run.resumable_items`); another model, setting, device, test
set or version of the code gives other names.
"""

import functools
import math
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parc.dataset.clip import Clip
from parc.dataset.clip_shard import Shard, pack
from parc.errors import FormatError
from parc.run.atomic_files import write_bytes_atomically
from parc.run.dataclass_json import tidy
from parc.run.hashing import hash_file, hash_settings, hash_text
from parc.run.resumable_items import ResumableItems
from parc.run.work_items import LOCAL, Job, Workers

SCHEMA = 1
DIGITS = 7
"""of numbers, significant"""
_FOLDER = "parts"
_STAGES = (
    "character", "motion", "terrain", "path", "metrics", "fit", "generate", "correct", "physics", "track", "record", "plan",
    "evaluate",
)  # fmt: skip


@dataclass(frozen=True)
class Part:
    """What was measured of one group."""

    name: str
    inputs: dict[str, str]
    """what it was made from"""
    result: dict[str, Any]
    seconds: float
    """it took to make, whenever that was"""
    clips_file: Path | None
    """motions that belong to it"""

    def clips(self) -> list[Clip]:
        """Its motions."""
        return list(Shard(self.clips_file).clips()) if self.clips_file is not None else []


Measured = tuple[dict[str, Any], list[Clip]]
"""numbers and motions"""


class PartStore:
    """The parts of an evaluation, of all kinds."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / _FOLDER
        self._items = ResumableItems(self.folder, _encode, self._decode)

    def part(self, kind: str, inputs: dict[str, str], make: Callable[[], Measured]) -> Part:
        """The part made from these inputs, read or made here."""
        (part,) = self.parts(kind, [inputs], _Call(), lambda _: make, lambda measured: measured)
        return part

    def parts(
        self,
        kind: str,
        inputs: Sequence[dict[str, str]],
        job: Job[Any, Any],
        item: Callable[[int], Any],
        measured: Callable[[Any], Measured],
        workers: Workers = LOCAL,
        announce: Callable[[int], object] = lambda number: None,
    ) -> list[Part]:
        """The parts made from these inputs, read or made: part n by the job from `item(n)`.

        `measured` takes numbers and motions out of what the job gives; `announce(n)` is called before part n is made.
        """
        names = [f"{kind}-{part_key(values)}" for values in inputs]
        began = 0.0

        def begin(n: int) -> None:
            nonlocal began
            began = time.monotonic()
            announce(n)

        def finish(n: int, answer: Any) -> Part:
            numbers, clips = measured(answer)
            seconds = round(time.monotonic() - began, 2)
            file = self.folder / f"{names[n]}.clips" if clips else None
            if file is not None:
                write_bytes_atomically(file, pack(clips))
            return Part(names[n], inputs[n], _with_nan(tidy(numbers, DIGITS)), seconds, file)

        with closing(self._items.each(names, job, item, finish, workers, begin)) as parts:
            return [part for part, _ in parts]

    def _decode(self, values: dict[str, Any]) -> Part:
        if values["schema"] != SCHEMA:
            raise FormatError(f"a part of schema {values['schema']}, expected {SCHEMA}")
        file = self.folder / f"{values['name']}.clips" if values["has_clips"] else None
        if file is not None:
            Shard(file)
        return Part(values["name"], values["inputs"], _with_nan(values["result"]), values["seconds"], file)


def _encode(part: Part) -> dict[str, Any]:
    values = {"schema": SCHEMA, "name": part.name, "inputs": part.inputs, "seconds": part.seconds}
    return values | {"has_clips": part.clips_file is not None, "result": tidy(part.result, DIGITS)}


class _Call:
    """A job whose items are functions."""

    def open(self) -> Callable[[Callable[[], Measured]], Measured]:
        """Nothing to get ready."""
        return lambda make: make()


@functools.cache
def code_fingerprint() -> str:
    """Of the source of every stage that a measurement runs through: numbers of other code are not ours."""
    package = Path(__file__).parents[1]
    files = [file for stage in _STAGES for file in sorted((package / stage).rglob("*.py"))]
    files += sorted((package / "metrics").glob("*.safetensors"))
    return hash_text("\n".join(f"{file.relative_to(package)} {hash_file(file)}" for file in files))


def part_key(inputs: dict[str, str]) -> str:
    """Hash of what a part is made from."""
    return hash_settings(SCHEMA, sorted(inputs.items()))[:16]


def _with_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _with_nan(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_with_nan(v) for v in value]
    return math.nan if value is None else value
