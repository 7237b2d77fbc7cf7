"""Tables that compare: our rows with the best of each column in bold and standard errors, the paper's rows below."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from parc.report.report_page import Cell, Table, TableRow

Row = tuple[str, dict[str, Any], dict[str, Any]]
"""label, values, standard errors"""


@dataclass(frozen=True)
class Column:
    """A metric, and which way it is good."""

    key: str
    title: str
    low_is_good: bool
    theirs: str = ""
    """key in the paper's table, if it is another"""

    @property
    def heading(self) -> Cell:
        """Its title with an arrow the way that is good."""
        return Cell(f"{self.title} {'↓' if self.low_is_good else '↑'}", is_number=True)


def tracker_columns() -> tuple[Column, ...]:
    """What is told of a tracker."""
    return (
        Column("success", "success, %", False),
        Column("noisy", "with start noise, %", False),
        Column("tracked", "share tracked, %", False),
        Column("joint_error", "joint error, m", True),
    )


def comparison(
    rows: Sequence[Row], paper: dict[str, dict[str, float]], columns: Sequence[Column], caption: str = "", paper_title: str = ""
) -> Table:
    """Our rows, the paper's below; the best of ours is bold."""
    best = {c.key: _best([values.get(c.key) for _, values, _ in rows], c.low_is_good) for c in columns}
    body = []
    for n, (label, values, errors) in enumerate(rows):
        cells = (_cell(values.get(c.key), errors.get(c.key), n in best[c.key]) for c in columns)
        body.append(TableRow((Cell(label), *cells), "parting" if paper and n == len(rows) - 1 else ""))
    for label, numbers in paper.items():
        body.append(TableRow((Cell(f"paper: {label}"), *(_cell(numbers.get(c.theirs or c.key)) for c in columns)), "theirs"))
    told = ", ".join(text for text in (caption, f"below: {paper_title}" if paper and paper_title else "") if text)
    return Table(tuple(body), (Cell(""), *(c.heading for c in columns)), told, is_wide=True)


def dataset_table(row: dict[str, Any]) -> Table:
    """A tracker on a data set: all clips, then by skill."""
    columns, body = tracker_columns(), []
    for n, (label, part) in enumerate([("all", row), *row["by_skill"].items()]):
        values = tracker_values(part)
        errors = tracker_errors(part) if n == 0 else {}
        cells = (_cell(values[c.key], errors.get(c.key)) for c in columns)
        count = Cell(str(part["clips"]), is_number=True)
        body.append(TableRow((Cell(label), count, *cells), "parting" if n == 0 else ""))
    head = (Cell(""), Cell("clips", is_number=True), *(c.heading for c in columns))
    return Table(tuple(body), head, row["label"], is_wide=True)


def tracker_values(row: dict[str, Any]) -> dict[str, float]:
    """With the mean over trials with start noise."""
    noisy = row["success_noisy"]
    return row | {"noisy": sum(noisy) / len(noisy) if noisy else math.nan}


def tracker_errors(row: dict[str, Any]) -> dict[str, float]:
    """Standard errors."""
    return {"success": row["success_error"], "joint_error": row["joint_error_error"]}


def _best(values: Sequence[float | None], low_is_good: bool) -> set[int]:
    """Rows with the best value; none where all are alike, for then nothing is best."""
    known = {k: v for k, v in enumerate(values) if v is not None and math.isfinite(v)}
    if len(set(known.values())) < 2:
        return set()
    best = (min if low_is_good else max)(known.values())
    return {k for k, v in known.items() if v == best}


def _cell(value: float | None, error: float | None = None, is_best: bool = False) -> Cell:
    if value is None or not math.isfinite(value):
        return Cell("–", is_number=True)
    small = digits(error, 2) if error is not None and math.isfinite(error) and error > 0 else ""
    return Cell(digits(value, 4), small, is_number=True, is_best=is_best)


def digits(value: float, count: int) -> str:
    """A number with so many significant digits and no exponent, as far as that is readable."""
    if value == 0 or not 1e-6 < abs(value) < 1e12:
        return f"{value:.{count}g}"
    places = max(0, count - 1 - math.floor(math.log10(abs(value))))
    rounded = f"{value:.{places}f}"
    return rounded.rstrip("0").rstrip(".") if "." in rounded else rounded
