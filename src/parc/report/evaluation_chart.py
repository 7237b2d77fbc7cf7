"""Charts of the evaluation page, as inline SVG coloured by the page's style sheet, so that they follow light and dark.

    steps_chart      one metric over the models in order, ours with standard errors beside the paper's
    density_panel    where motions end: filled contours of a density seen from above, rings every few metres
    terrain_strip    one cell for each test terrain, the fuller the more motions arrive

Contours are found by marching squares: each grid square whose corners lie on both sides of the level gives one or two
segments between its edges, and segments that share an edge are joined to closed lines.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

from parc.evaluate.net_displacement import density
from parc.report.svg_chart import ticks

_WIDTH, _HEIGHT = 500, 290
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 14, 44, 40
_LEVELS = (0.05, 0.15, 0.3, 0.5, 0.75)
"""shares of the largest density at which contours are drawn"""
_MOST_DOTS = 250
_LOG_FROM = 30.0
"""largest over smallest value from which an axis is logarithmic"""


@dataclass(frozen=True)
class Line:
    name: str
    style: str
    """class in the style sheet: ours, paper, other"""
    values: Sequence[float | None]
    """one for each place on the axis; None or NaN: nothing there"""
    errors: Sequence[float | None] = ()

    def span(self) -> list[float]:
        """All values, and where the errors above them end."""
        known = [(float(v), k) for k, v in enumerate(self.values) if v is not None and math.isfinite(v)]
        errors = [(v, self.errors[k] if k < len(self.errors) else None) for v, k in known]
        return [v for v, _ in known] + [v + e for v, e in errors if e is not None and math.isfinite(e)]


def steps_chart(
    title: str,
    unit: str,
    places: Sequence[str],
    lines: Sequence[Line],
    joined: int | None = None,
    may_be_log: bool = True,
    most: float = math.inf,
) -> str:
    """Values over named places; the first `joined` of them are connected (all, if not given). `most`: no value can be larger."""
    joined = len(places) if joined is None else joined
    known = [value for line in lines for value in line.span()]
    scale = _Scale.of(known or [0.0, 1.0], may_be_log, most)
    step = (_WIDTH - _LEFT - _RIGHT) / max(len(places), 1)
    parts = [f'<text x="{_LEFT}" y="15" class="title">{escape(title)}</text>']
    parts.append(f'<text x="{_LEFT}" y="31" class="small">{escape(unit + scale.note)}</text>')
    for tick in scale.ticks:
        y = scale.y(tick)
        parts.append(f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{short(tick)}</text>')
    for k, place in enumerate(places):
        middle = _LEFT + (k + 0.5) * step
        parts.append(f'<text x="{middle:.1f}" y="{_HEIGHT - 20}" text-anchor="middle">{escape(_fitting(place, step))}</text>')
    for n, line in enumerate(lines):
        shift = (n - (len(lines) - 1) / 2) * min(10.0, step / 6)
        parts.append(_line(line, scale, step, shift, joined, places))
    return _svg(parts + _legend(lines), _WIDTH, _HEIGHT, f"{title} by model")


def _line(line: Line, scale: "_Scale", step: float, shift: float, joined: int, places: Sequence[str]) -> str:
    points, marks = [], []
    for k, value in enumerate(line.values):
        if value is None or not math.isfinite(value):
            continue
        x, y = _LEFT + (k + 0.5) * step + shift, scale.y(value)
        if k < joined:
            points.append(f"{x:.1f},{y:.1f}")
        error = line.errors[k] if k < len(line.errors) else None
        told = f"{line.name}, {places[k]}: {short(value)}"
        if error is not None and math.isfinite(error):
            high, low = scale.y(value + error), scale.y(value - error)
            marks.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{high:.1f}" y2="{low:.1f}" class="whisker"/>')
            told += f" ± {short(error)}"
        marks.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4"><title>{escape(told)}</title></circle>')
        side, anchor = (-7, "end") if shift < 0 else (7, "start")
        beside = y - 6 if y > _TOP + 8 else y + 14  # at the top of the axis below its point, clear of the title
        marks.append(f'<text x="{x + side:.1f}" y="{beside:.1f}" text-anchor="{anchor}" class="value">{short(value)}</text>')
    path = f'<polyline points="{" ".join(points)}"/>' if len(points) > 1 else ""
    return f'<g class="{line.style}">{path}{"".join(marks)}</g>'


@dataclass(frozen=True)
class _Scale:
    low: float
    high: float
    ticks: list[float]
    logarithmic: bool

    @classmethod
    def of(cls, values: list[float], may_be_log: bool, most: float = math.inf) -> "_Scale":
        """From zero, or logarithmic where positive values span a wide range."""
        low, high = min(values), max(values)
        if may_be_log and low > 0 and high / low > _LOG_FROM:
            first, last = math.floor(math.log10(low)), math.ceil(math.log10(high) - 1e-9)
            return cls(float(first), float(last), [10.0**k for k in range(first, last + 1)], True)
        found = ticks(min(0.0, low), min(high * 1.08, most) if high > 0 else 1.0)
        return cls(found[0], found[-1], found, False)

    @property
    def note(self) -> str:
        return ", logarithmic" if self.logarithmic else ""

    def y(self, value: float) -> float:
        if self.logarithmic:
            value = math.log10(max(value, 10.0**self.low))
        share = (min(max(value, self.low), self.high) - self.low) / max(self.high - self.low, 1e-12)
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)


def density_panel(points: list[list[float]], title: str, note: str, reach: float, size: int = 264) -> str:
    """Ends of motions from above, the first frame looking up from the middle; `reach` m from the middle to an edge."""
    scale, middle, top = (size - 8) / (2 * reach), size / 2, 40

    def place(ahead: float, left: float) -> tuple[float, float]:
        return middle - left * scale, top + middle - ahead * scale

    x0, y0 = place(reach, reach)
    side = 2 * reach * scale
    parts = [
        f'<text x="4" y="14" class="title">{escape(title)}</text>',
        f'<text x="4" y="30" class="small">{escape(note)}</text>',
    ]
    parts.append(f'<rect x="{x0:.1f}" y="{y0:.1f}" width="{side:.1f}" height="{side:.1f}" rx="6" class="plate"/>')
    if points:
        field = density(points, reach)
        cell = 2 * reach / len(field)
        for n, share in enumerate(_LEVELS):
            loops = contours(field, share * field.max())
            path = "".join(
                _closed([place((a + 0.5) * cell - reach, (b + 0.5) * cell - reach) for a, b in loop]) for loop in loops
            )
            parts.append(f'<path d="{path}" class="density d{n}" fill-rule="evenodd"/>')
    for radius in ticks(0, reach, 3)[1:]:
        if radius <= reach:
            x, y = place(radius, 0)
            parts.append(f'<circle cx="{middle:.1f}" cy="{top + middle:.1f}" r="{radius * scale:.1f}" class="ring"/>')
            parts.append(f'<text x="{x + 4:.1f}" y="{y + 12:.1f}" class="small">{short(radius)} m</text>')
    for ahead, left in points[:: max(1, -(-len(points) // _MOST_DOTS))]:
        if max(abs(ahead), abs(left)) < reach:
            x, y = place(ahead, left)
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="1.4" class="dot"/>')
    parts.append(f'<path d="M{middle - 5:.1f} {top + middle + 4:.1f}l5 -11l5 11z" class="self"/>')
    return _svg(parts, size, size + top + 4, f"{title}: where motions end")


def contours(field: NDArray[np.float64], level: float) -> list[list[tuple[float, float]]]:
    """Closed lines of a field [X, Y] at a level, in units of cells; beyond the border the field is taken as lowest."""
    grid = np.pad(field, 1, constant_values=min(float(field.min()), level) - 1.0)
    inside = grid >= level
    joints: dict[tuple[int, int, int], list[tuple[int, int, int]]] = {}

    def join(a: tuple[int, int, int], b: tuple[int, int, int]) -> None:
        joints.setdefault(a, []).append(b)
        joints.setdefault(b, []).append(a)

    codes = inside[:-1, :-1] * 1 + inside[1:, :-1] * 2 + inside[1:, 1:] * 4 + inside[:-1, 1:] * 8
    for i, j in np.argwhere((codes > 0) & (codes < 15)).tolist():
        south, east, north, west = (0, i, j), (1, i + 1, j), (0, i, j + 1), (1, i, j)
        crossed = [
            edge
            for edge, a, b in ((south, 1, 2), (east, 2, 4), (north, 4, 8), (west, 8, 1))
            if bool(codes[i, j] & a) != bool(codes[i, j] & b)
        ]
        if len(crossed) == 2:
            join(*crossed)
        else:  # a saddle: opposite corners are joined through the middle or not
            through = grid[i : i + 2, j : j + 2].mean() >= level
            pairs = ((south, east), (north, west)) if bool(codes[i, j] & 1) == through else ((south, west), (east, north))
            for pair in pairs:
                join(*pair)

    def point(edge: tuple[int, int, int]) -> tuple[float, float]:
        along_y, i, j = edge
        a, b = grid[i, j], grid[i, j + 1] if along_y else grid[i + 1, j]
        share = min(max((level - a) / (b - a), 0.0), 1.0) if a != b else 0.5
        return (i - 1.0, j - 1.0 + share) if along_y else (i - 1.0 + share, j - 1.0)

    loops = []
    while joints:
        edge = first = next(iter(joints))
        loop = []
        while True:
            loop.append(point(edge))
            following = joints[edge].pop()
            joints[following].remove(edge)
            for done in (edge, following):
                if not joints[done]:
                    del joints[done]
            edge = following
            if edge == first:
                break
        loops.append(loop)
    return loops


def terrain_strip(shares: Sequence[float], name: str) -> str:
    """Cells in the order of the test set, 25 a row; each says in a note how many of its motions arrived."""
    columns, size = 25, 18
    parts = []
    for k, share in enumerate(shares):
        x, y = (k % columns) * size, (k // columns) * size
        share = 0.0 if not math.isfinite(share) else share
        told = escape(f"{name}, terrain {k}: {share:.0f} % arrive")
        box = f'x="{x + 1}" y="{y + 1}" width="{size - 2}" height="{size - 2}" rx="3"'
        parts.append(f'<rect {box} class="cell"/>')
        parts.append(f'<rect {box} class="full" fill-opacity="{share / 100:.2f}"><title>{told}</title></rect>')
    rows = -(-max(len(shares), 1) // columns)
    return _svg(parts, columns * size, rows * size, f"{name}: share of motions that arrive, by terrain", "strip")


def short(value: float) -> str:
    """Three or four digits."""
    if abs(value) < 5e-5:
        return "0"
    if abs(value) >= 100:
        return f"{value:.0f}"
    if abs(value) < 0.001:
        return f"{value:.1g}"
    return f"{value:.3g}"


def _closed(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points) + "Z"


def _fitting(text: str, width: float) -> str:
    room = max(4, int(width / 6.2))
    return text if len(text) <= room else text[: room - 1] + "…"


def _legend(lines: Sequence[Line]) -> list[str]:
    parts, x = [], float(_WIDTH - _RIGHT)
    for line in reversed(lines):
        x -= 6.4 * len(line.name) + 24
        parts.append(f'<g class="{line.style}"><circle cx="{x + 5:.0f}" cy="11" r="4"/></g>')
        parts.append(f'<text x="{x + 14:.0f}" y="15">{escape(line.name)}</text>')
    return parts


def _svg(parts: Sequence[str], width: float, height: float, told: str, kind: str = "") -> str:
    name = escape(told, quote=True)
    return f'<svg class="chart {kind}" viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{name}">{"".join(parts)}</svg>'
