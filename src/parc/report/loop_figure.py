"""The loop as a figure: its five stages in a ring, with what a run's files say each of them made and took."""

import math
from typing import Any

from markupsafe import Markup

from parc.report.svg_axis import element

_WIDTH, _HEIGHT = 860, 430
_BOX = (216, 74)
_INK, _SOFT, _LINE, _FILL = "#1d2733", "#5b6b7b", "#c8642a", "#f4f1ec"
_STAGES = {
    "generator": ("train the generator", "G on the data set"),
    "synthesis": ("synthesise", "new motions, new terrains, corrected"),
    "tracker": ("train the tracker", "a policy in simulation"),
    "recording": ("record", "what the policy manages"),
    "dataset": ("grow the data set", "what passes the guard"),
}


def loop_figure(numbers: dict[str, Any]) -> str:
    """SVG of the last finished iteration; `numbers` as `parc.loop.loop_report.gather_report` gives them."""
    done = {s["stage"].split("/")[1]: s for s in numbers["stages"] if "/" in s["stage"]}
    names = [name for name in _STAGES if name in done]
    tip = element("path", d="M0 0 10 5 0 10z", fill=_LINE)
    size = {"viewBox": "0 0 10 10", "refX": 9, "refY": 5, "markerWidth": 7, "markerHeight": 7, "orient": "auto"}
    parts = [element("defs", element("marker", tip, id="tip", **size))]
    places = [_place(k, len(names)) for k in range(len(names))]
    parts += [_arrow(here, there) for here, there in zip(places, places[1:] + places[:1], strict=True)]
    parts += [_box(place, *_STAGES[name], _told(name, done[name])) for name, place in zip(names, places, strict=True)]
    middle = f"{numbers['clips']} clips, {numbers['minutes']:.1f} min"
    parts.append(_text(_WIDTH / 2, _HEIGHT / 2 - 4, f"preset {numbers['preset']}", 15, _INK, bold=True))
    parts.append(_text(_WIDTH / 2, _HEIGHT / 2 + 16, f"{len(numbers['iterations'])} iteration(s); {middle}", 13, _SOFT))
    box = f"0 0 {_WIDTH} {_HEIGHT}"
    return element("svg", *parts, xmlns="http://www.w3.org/2000/svg", viewBox=box, font_family="sans-serif") + "\n"


def _place(k: int, count: int) -> tuple[float, float]:
    angle = 2 * math.pi * k / max(count, 1) - math.pi / 2
    return _WIDTH / 2 + 320 * math.cos(angle), _HEIGHT / 2 + 165 * math.sin(angle)


def _arrow(a: tuple[float, float], b: tuple[float, float]) -> Markup:
    """From the edge of one box to the edge of the next."""
    (ax, ay), (bx, by) = _edge(a, b), _edge(b, a)
    way = f"M{ax:.0f} {ay:.0f} L{bx:.0f} {by:.0f}"
    return element("path", d=way, stroke=_LINE, stroke_width=2.5, marker_end="url(#tip)")


def _edge(inside: tuple[float, float], towards: tuple[float, float]) -> tuple[float, float]:
    dx, dy = towards[0] - inside[0], towards[1] - inside[1]
    reach = min((_BOX[0] / 2 + 6) / max(abs(dx), 1e-6), (_BOX[1] / 2 + 6) / max(abs(dy), 1e-6))
    return inside[0] + dx * reach, inside[1] + dy * reach


def _box(at: tuple[float, float], title: str, what: str, told: str) -> Markup:
    x, y = at
    width, height = _BOX
    corner = {"x": round(x - width / 2), "y": round(y - height / 2)}
    frame = element("rect", **corner, width=width, height=height, rx=8, fill=_FILL)
    lines = [_text(x, y - 16, title, 15, _INK, bold=True), _text(x, y + 4, what, 10.5, _SOFT), _text(x, y + 25, told, 12, _LINE)]
    return frame + Markup("").join(lines)


def _text(x: float, y: float, text: str, size: float, colour: str, bold: bool = False) -> Markup:
    weight = "bold" if bold else ""
    place = {"x": round(x), "y": round(y), "font_size": f"{size:g}"}
    return element("text", text, **place, fill=colour, text_anchor="middle", font_weight=weight)


def _told(name: str, stage: dict[str, Any]) -> str:
    result = stage["result"]
    made = {
        "generator": lambda: f"{result['clips']} clips",
        "synthesis": lambda: f"{result['clips']} clips",
        "tracker": lambda: f"{100 * (result['success'] or 0):.0f} % tracked to the end",
        "recording": lambda: f"{result['recorded']} recordings",
        "dataset": lambda: f"+ {result['joined']}, {result['refused']} refused",
    }[name]()
    return f"{made}, {stage['seconds']:.0f} s"
