"""What the iterations of a run reach on the development set, number by number, beside the paper's four iterations.

The paper's terrains, seeds and time limit are not public, and its four iterations took about a month of an A6000 (its section 7):
its numbers tell the trend of the same protocol, not of the same test.
"""

from typing import Any

from markupsafe import Markup

from parc.evaluate.paper_results import paper_numbers
from parc.loop.iteration_numbers import NUMBERS
from parc.report.svg_axis import element
from parc.report.svg_chart import Line, steps_chart

_SIZE, _COLUMNS, _HEAD = (500, 290), 3, 60
_STYLE = """
text { font: 12px sans-serif; fill: #1d2733 } .title { font-weight: bold; font-size: 14px }
.small { fill: #5b6b7b; font-size: 11px }
.grid { stroke: #d9dde2 } .axis { stroke: #5b6b7b } .whisker { stroke-width: 1.4 } .value { font-size: 10.5px }
.ours polyline, .paper polyline { fill: none; stroke-width: 2.2 }
.ours polyline, .ours .whisker { stroke: #c8642a } .ours circle, .ours .value, g.ours { fill: #c8642a }
.paper polyline, .paper .whisker { stroke: #5b6b7b; stroke-dasharray: 5 3 } .paper circle, .paper .value { fill: #5b6b7b }
"""


def iteration_charts(numbers: dict[str, Any]) -> list[Markup]:
    """A chart of each number that was measured; `numbers` as `parc.loop.loop_report.gather_report` gives them."""
    measured = [iteration.get("evaluation") or {} for iteration in numbers["iterations"]]
    paper = paper_numbers()
    places = [f"iteration {k + 1}" for k in range(max(len(measured), 4))]
    charts = []
    for key, what in NUMBERS.items():
        ours = [row.get(key) for row in measured]
        if all(value is None for value in ours):
            continue
        lines = [Line("ours", "ours", ours)]
        if what.paper is not None:
            table, column = what.paper
            lines.append(Line("paper", "paper", [paper[table].get(place, {}).get(column) for place in places]))
        shown = places if what.paper is not None else places[: len(ours)]
        most = 100.0 if what.unit == "%" else float("inf")
        charts.append(steps_chart(what.says, what.unit, shown, lines, may_be_log=what.unit != "%", most=most))
    return charts


def iterations_figure(numbers: dict[str, Any], told: str = "") -> str:
    """All of these charts as one SVG that stands alone; `told`: a line below its title."""
    charts = iteration_charts(numbers)
    rows = -(-len(charts) // _COLUMNS)
    width, height = _COLUMNS * _SIZE[0], _HEAD + rows * _SIZE[1]
    count = len(numbers["iterations"])
    parts = [
        element("style", Markup(_STYLE)),
        element("rect", width=width, height=height, fill="white"),
        element("text", f"PARC, {count} iterations, development set", x=24, y=28, style="font-size: 18px; font-weight: bold"),
        element("text", told, x=24, y=48, class_="small"),
    ]
    for k, chart in enumerate(charts):
        x, y = k % _COLUMNS * _SIZE[0], _HEAD + k // _COLUMNS * _SIZE[1]
        place = f'<svg x="{x}" y="{y}" width="{_SIZE[0]}" height="{_SIZE[1]}"'
        parts.append(Markup(str(chart).replace("<svg", place, 1)))
    box = f"0 0 {width} {height}"
    return element("svg", *parts, xmlns="http://www.w3.org/2000/svg", viewBox=box, width=width, height=height) + "\n"


def minutes_by_stage(numbers: dict[str, Any]) -> tuple[list[list[str | float]], list[str]]:
    """Rows and columns of a table: minutes of each stage in each iteration, and in all."""
    seconds: dict[str, dict[int, float]] = {}
    for stage in numbers["stages"]:
        iteration, _, kind = stage["stage"].partition("/")
        number = int(iteration.removeprefix("iteration-")) if kind else 0
        seconds.setdefault(kind or iteration, {})[number] = stage["seconds"]
    which = sorted({i for row in seconds.values() for i in row})
    rows: list[list[str | float]] = [
        [kind, *(_minutes(row.get(i)) for i in which), _minutes(sum(row.values()))] for kind, row in seconds.items()
    ]
    sums = [sum(row.get(i, 0.0) for row in seconds.values()) for i in which]
    rows.append(["all", *(_minutes(value) for value in sums), _minutes(sum(sums))])
    return rows, ["minutes", *(f"iteration {i}" if i else "before" for i in which), "all"]


def _minutes(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds / 60:.2f}"
