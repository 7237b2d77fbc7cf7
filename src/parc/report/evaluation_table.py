"""Tables that compare: our rows with the best of each column in bold and standard errors, the paper's rows below."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

Row = tuple[str, dict[str, Any], dict[str, Any]]
"""label, values, standard errors"""


@dataclass(frozen=True)
class Column:
    key: str
    title: str
    low_is_good: bool
    theirs: str = ""
    """key in the paper's table, if it is another"""

    @property
    def heading(self) -> str:
        return f"{self.title} {'↓' if self.low_is_good else '↑'}"


def tracker_columns() -> tuple[Column, ...]:
    return (
        Column("success", "success, %", False),
        Column("noisy", "with start noise, %", False),
        Column("tracked", "share tracked, %", False),
        Column("joint_error", "joint error, m", True),
    )


def comparison(
    rows: Sequence[Row], paper: dict[str, dict[str, float]], columns: Sequence[Column], caption: str = "", paper_title: str = ""
) -> str:
    """HTML of one table."""
    head = "".join(f'<th class="number">{escape(c.heading)}</th>' for c in columns)
    best = {c.key: _best([values.get(c.key) for _, values, _ in rows], c.low_is_good) for c in columns}
    body = ""
    for n, (label, values, errors) in enumerate(rows):
        cells = "".join(_cell(values.get(c.key), errors.get(c.key), n in best[c.key]) for c in columns)
        parting = ' class="parting"' if paper and n == len(rows) - 1 else ""
        body += f"<tr{parting}><td>{escape(label)}</td>{cells}</tr>"
    for label, numbers in paper.items():
        cells = "".join(_cell(numbers.get(c.theirs or c.key), None, False) for c in columns)
        body += f'<tr class="theirs"><td>paper: {escape(label)}</td>{cells}</tr>'
    told = ", ".join(text for text in (caption, f"below: {paper_title}" if paper and paper_title else "") if text)
    title = f"<caption>{escape(told)}</caption>" if told else ""
    return f'<div class="wide"><table>{title}<thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def dataset_table(row: dict[str, Any]) -> str:
    """A tracker on a data set: all clips, then by skill."""
    columns = tracker_columns()
    count = '<th class="number">clips</th>'
    head = count + "".join(f'<th class="number">{escape(c.heading)}</th>' for c in columns)
    body = ""
    for n, (label, part) in enumerate([("all", row), *row["by_skill"].items()]):
        noisy = part["success_noisy"]
        values = part | {"noisy": sum(noisy) / len(noisy) if noisy else math.nan}
        errors = {"success": part["success_error"], "joint_error": part["joint_error_error"]} if n == 0 else {}
        cells = f'<td class="number">{part["clips"]}</td>'
        cells += "".join(_cell(values[c.key], errors.get(c.key), False) for c in columns)
        parting = ' class="parting"' if n == 0 else ""
        body += f"<tr{parting}><td>{escape(label)}</td>{cells}</tr>"
    caption = f"<caption>{escape(row['label'])}</caption>"
    return f'<div class="wide"><table>{caption}<thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _best(values: Sequence[float | None], low_is_good: bool) -> set[int]:
    """Rows with the best value; none where all are alike, for then nothing is best."""
    known = {k: v for k, v in enumerate(values) if v is not None and math.isfinite(v)}
    if len(set(known.values())) < 2:
        return set()
    best = (min if low_is_good else max)(known.values())
    return {k for k, v in known.items() if v == best}


def _cell(value: float | None, error: float | None, is_best: bool) -> str:
    if value is None or not math.isfinite(value):
        return '<td class="number">–</td>'
    small = f" <small>± {digits(error, 2)}</small>" if error is not None and math.isfinite(error) and error > 0 else ""
    return f'<td class="number{" best" if is_best else ""}">{digits(value, 4)}{small}</td>'


def digits(value: float, count: int) -> str:
    """A number with so many significant digits and no exponent, as far as that is readable."""
    if value == 0 or not 1e-6 < abs(value) < 1e12:
        return f"{value:.{count}g}"
    places = max(0, count - 1 - math.floor(math.log10(abs(value))))
    rounded = f"{value:.{places}f}"
    return rounded.rstrip("0").rstrip(".") if "." in rounded else rounded
