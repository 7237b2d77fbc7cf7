"""Charts as inline SVG with axes, ticks and a legend, and nothing to download.

line_chart     one line for each named series of points
bar_chart      bars by name, or groups of bars
steps_chart    one metric over the models in order, ours with standard errors beside the paper's
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from markupsafe import Markup
from numpy.typing import ArrayLike

from parc.errors import SettingsError
from parc.render import palette
from parc.report.svg_axis import Frame, Scale, element, number, picture, short, ticks

_COLOURS = (palette.FIGURES[0], palette.CONTACT, palette.PATH, palette.JUMP, *palette.FIGURES[1:])
_frame = partial(Frame, 560, 300, 64, 16, 34, 46)
_steps_frame = partial(Frame, 500, 290, 62, 14, 44, 40)


def line_chart(
    series: Mapping[str, tuple[ArrayLike, ArrayLike]], title: str = "", x_label: str = "", y_label: str = ""
) -> Markup:
    """One line for each named (x, y); points that are not finite leave a gap."""
    data = {name: (np.asarray(x, float).ravel(), np.asarray(y, float).ravel()) for name, (x, y) in series.items()}
    for name, (x, y) in data.items():
        if len(x) != len(y):
            raise SettingsError(f"series '{name}' has {len(x)} x values and {len(y)} y values")
    finite = [(x[ok], y[ok]) for x, y in data.values() if (ok := np.isfinite(x) & np.isfinite(y)).any()]
    if not finite:
        raise SettingsError(f"the chart '{title}' has no finite point")
    xs, ys = np.concatenate([x for x, _ in finite]), np.concatenate([y for _, y in finite])
    y_low, y_high = float(ys.min()), float(ys.max())
    if y_high - y_low < 1e-9 * max(abs(y_high), 1.0):
        y_low, y_high = y_low - 0.5, y_high + 0.5
    x_low, x_high = float(xs.min()), float(xs.max())
    x_high = x_high if x_high > x_low else x_low + 1
    whole = 1.0 if bool((xs == xs.round()).all()) else 0.0
    frame = _frame(Scale(x_low, x_high, ticks(x_low, x_high, 6, whole)), Scale.round(y_low, y_high))
    parts = [_title(frame, title, 16), *frame.grid(), *frame.axis(x_label, y_label)]
    for k, (x, y) in enumerate(data.values()):
        colour = _colour(k)
        seen = [(frame.x(a), frame.y(b)) if math.isfinite(a + b) else None for a, b in zip(x, y, strict=True)]
        # the pen is lifted over what is not finite
        pens = ("M" if n == 0 or seen[n - 1] is None else "L" for n in range(len(seen)))
        path = "".join(f"{pen}{at[0]:.1f} {at[1]:.1f}" for pen, at in zip(pens, seen, strict=True) if at is not None)
        style = {"fill": "none", "stroke": colour, "stroke_width": "1.8", "stroke_linejoin": "round", "stroke_linecap": "round"}
        parts.append(element("path", d=path, **style))
        if len(x) <= 24:
            parts += [element("circle", cx=at[0], cy=at[1], r="2.8", fill=colour) for at in seen if at is not None]
    names = [name for name in data if name] if len(data) > 1 else []
    return picture([*parts, *frame.legend([(name, {"fill": _colour(k)}) for k, name in enumerate(names)])], 560, 300)


def bar_chart(values: Mapping[str, float] | Mapping[str, Mapping[str, float]], title: str = "", y_label: str = "") -> Markup:
    """Bars by name; or groups of bars, {series: {name: value}}."""
    groups = _groups(values)
    names = list(dict.fromkeys(name for group in groups.values() for name in group))
    if not names:
        raise SettingsError(f"the bar chart '{title}' has no bars")
    heights = [v for group in groups.values() for v in group.values() if math.isfinite(v)]
    frame = _frame(Scale(0.0, float(len(names)), []), Scale.round(min([0.0, *heights]), max([1e-9, *heights])))
    parts = [_title(frame, title, 16), *frame.grid(), *frame.axis("", y_label, with_ticks=False)]
    thick = 0.76 / len(groups)
    for s, group in enumerate(groups.values()):
        for n, name in enumerate(names):
            if math.isfinite(value := group.get(name, math.nan)):
                x0, x1 = frame.x(n + 0.12 + s * thick), frame.x(n + 0.12 + (s + 1) * thick)
                y0, y1 = sorted((frame.y(value), frame.y(0)))
                note = element("title", f"{name}: {value:g}")
                size = {"width": x1 - x0 - 1, "height": max(y1 - y0, 0.5)}
                parts.append(element("rect", note, x=x0, y=y0, **size, rx=2, fill=_colour(s)))
                if len(names) * len(groups) <= 16:
                    place = {"x": (x0 + x1) / 2, "y": y0 - 4, "text_anchor": "middle"}
                    parts.append(element("text", number(value), **place, class_="small"))
    for n, name in enumerate(names):
        parts.append(element("text", name, x=frame.x(n + 0.5), y=frame.floor + 17, text_anchor="middle"))
    entries = [(str(name), {"fill": _colour(k)}) for k, name in enumerate(groups) if name]
    return picture([*parts, *frame.legend(entries)], 560, 300)


@dataclass(frozen=True)
class Line:
    """A metric of several models."""

    name: str
    style: str
    """class in the style sheet: ours, paper, other"""
    values: Sequence[float | None]
    """one for each place on the axis; None or NaN: nothing there"""
    errors: Sequence[float | None] = ()

    def known(self) -> list[tuple[int, float, float | None]]:
        """(place, value, standard error) of what is there."""
        errors = [*self.errors, *[None] * (len(self.values) - len(self.errors))]
        return [
            (k, float(v), e if e is not None and math.isfinite(e) else None)
            for k, (v, e) in enumerate(zip(self.values, errors, strict=True))
            if v is not None and math.isfinite(v)
        ]


def steps_chart(
    title: str,
    unit: str,
    places: Sequence[str],
    lines: Sequence[Line],
    joined: int | None = None,
    may_be_log: bool = True,
    most: float = math.inf,
) -> Markup:
    """Values over named places; the first `joined` of them are connected (all, if not given). `most`: no value can be larger."""
    joined = len(places) if joined is None else joined
    span = [v + e for line in lines for _, v, error in line.known() for e in (0.0, error or 0.0)]
    scale = Scale.from_zero(span or [0.0, 1.0], may_be_log, most)
    frame = _steps_frame(Scale(0.0, float(max(len(places), 1)), []), scale)
    step = frame.x(1) - frame.left
    note = unit + (", logarithmic" if scale.logarithmic else "")
    parts = [_title(frame, title, 15), element("text", note, x=frame.left, y=31, class_="small"), *frame.grid()]
    for k, place in enumerate(places):
        parts.append(element("text", _fitting(place, step), x=frame.x(k + 0.5), y=frame.height - 20, text_anchor="middle"))
    for n, line in enumerate(lines):
        shift = (n - (len(lines) - 1) / 2) * min(10.0, step / 6)
        parts.append(_line(line, frame, shift, joined, places))
    parts += frame.legend([(line.name, {"class": line.style}) for line in lines])
    return picture(parts, frame.width, frame.height, f"{title} by model")


def _line(line: Line, frame: Frame, shift: float, joined: int, places: Sequence[str]) -> Markup:
    points, marks = [], []
    for k, value, error in line.known():
        x, y = frame.x(k + 0.5) + shift, frame.y(value)
        if k < joined:
            points.append(f"{x:.1f},{y:.1f}")
        told = f"{line.name}, {places[k]}: {short(value)}"
        if error is not None:
            marks.append(element("line", x1=x, x2=x, y1=frame.y(value + error), y2=frame.y(value - error), class_="whisker"))
            told += f" ± {short(error)}"
        marks.append(element("circle", element("title", told), cx=x, cy=y, r=4))
        side, anchor = (-7, "end") if shift < 0 else (7, "start")
        beside = y - 6 if y > frame.top + 8 else y + 14  # at the top of the axis below its point, clear of the title
        marks.append(element("text", short(value), x=x + side, y=beside, text_anchor=anchor, class_="value"))
    path = [element("polyline", points=" ".join(points))] if len(points) > 1 else []
    return element("g", *path, *marks, class_=line.style)


def _groups(values: Mapping[str, float] | Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """Plain bars become the one group without a name."""
    plain = {name: float(v) for name, v in values.items() if not isinstance(v, Mapping)}
    nested = {name: {k: float(x) for k, x in v.items()} for name, v in values.items() if isinstance(v, Mapping)}
    if plain and nested:
        raise SettingsError(f"bars and groups of bars cannot be mixed: {sorted(plain)} beside {sorted(nested)}")
    return nested or {"": plain}


def _title(frame: Frame, title: str, y: int) -> Markup:
    return element("text", title, x=frame.left, y=y, class_="title")


def _colour(k: int) -> str:
    return _COLOURS[k % len(_COLOURS)]


def _fitting(text: str, width: float) -> str:
    room = max(4, int(width / 6.2))
    return text if len(text) <= room else text[: room - 1] + "…"
