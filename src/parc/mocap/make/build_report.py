"""What became of every row or variation of a job: a note of each, so that a stopped job knows what is done."""

from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from parc.run.dataclass_json import reader
from parc.run.resumable_items import ResumableItems


@dataclass(frozen=True)
class RowResult:
    """What became of a row or a variation."""

    name: str
    status: str
    """kept, rejected or failed"""
    reasons: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    levels: tuple[float, ...] = ()
    """m"""
    quality: dict[str, float] = field(default_factory=dict)
    key: str = ""
    """hash of what it was made from"""
    shortlist: str = ""
    """that the row is on, relative to the data set"""


@dataclass(frozen=True)
class BuildReport:
    """Of all rows of a job."""

    results: tuple[RowResult, ...]
    removed: tuple[str, ...] = ()
    """clips taken out, as their rows are no longer on the list"""

    def named(self, status: str) -> list[RowResult]:
        """Those kept, rejected or failed."""
        return [r for r in self.results if r.status == status]

    @property
    def seconds_kept(self) -> float:
        """s of motion"""
        return sum(r.quality.get("seconds", 0.0) for r in self.named("kept"))

    def medians(self) -> dict[str, float]:
        """Of each quality over the kept clips that have it."""
        kept = self.named("kept")
        keys = {key for r in kept for key in r.quality}
        return {key: float(np.median([r.quality[key] for r in kept if key in r.quality])) for key in sorted(keys)}

    def refusals(self, most: int = 3) -> str:
        """Why there are clips that were not kept, the first few of them, in one line."""
        refused = [r for r in self.results if r.status != "kept"]
        told = [f"{r.name} {r.status} ({'; '.join(r.reasons)})" for r in refused[:most]]
        return ", ".join(told) + (f", and {len(refused) - most} more" if len(refused) > most else "")

    def __str__(self) -> str:
        counts = ", ".join(f"{len(self.named(s))} {s}" for s in ("kept", "rejected", "failed"))
        lines = [f"{counts}; {self.seconds_kept / 60:.1f} minutes kept"]
        lines += [f"  {r.name}: {r.status}, {'; '.join(r.reasons)}" for r in self.results if r.status != "kept"]
        return "\n".join(lines)


def row_notes(work: Path) -> ResumableItems[RowResult]:
    """Of the finished rows of a job that works in a folder; in the end they are its report.jsonl."""
    return ResumableItems(work / "rows", asdict, reader(RowResult), work / "report.jsonl")
