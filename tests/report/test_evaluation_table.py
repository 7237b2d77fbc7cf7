"""Tables: the best is bold, ties share it, numbers keep their digits."""

import math
import re

import pytest

from parc.report.evaluation_table import Column, comparison, digits
from parc.report.report_page import Report

COLUMNS = (Column("fwd", "FWD, m", True), Column("goal", "goal, %", False), Column("same", "same", True))


def bold(html: str) -> list[list[bool]]:
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", html.partition("<tbody>")[2])
    return [["best" in cell for cell in re.findall(r"<td class=.(number[^\"]*)", row)] for row in rows]


def test_the_best_of_ours_is_bold() -> None:
    rows = [("a", {"fwd": 2.0, "goal": 10.0, "same": 1.0}, {"fwd": 0.25}), ("b", {"fwd": 1.0, "goal": 10.0, "same": 1.0}, {}),
            ("c", {"fwd": math.nan, "goal": 5.0, "same": 1.0}, {})]  # fmt: skip
    html = Report("t").add_table(comparison(rows, {"iteration 1": {"fwd": 0.5}}, COLUMNS, "cap <x>", "the paper's")).html()
    assert bold(html) == [[False, True, False], [True, True, False], [False, False, False], [False, False, False]]
    assert "± 0.25" in html and "cap &lt;x&gt;" in html and "paper: iteration 1" in html and ">–<" in html
    assert "FWD, m ↓" in html and "goal, % ↑" in html


@pytest.mark.parametrize(
    ("value", "count", "text"),
    [(40796.0, 4, "40796"), (12630.4, 4, "12630"), (380.2, 2, "380"), (0.05167, 4, "0.05167"), (2.73, 4, "2.73"), (0.0, 4, "0"),
     (9.9996, 4, "10"), (-1.5, 2, "-1.5")],
)  # fmt: skip
def test_digits(value: float, count: int, text: str) -> None:
    assert digits(value, count) == text
