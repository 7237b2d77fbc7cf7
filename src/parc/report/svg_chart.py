"""Charts as inline SVG: lines, bars and densities with axes, ticks and a legend, and nothing to download."""

import math
from collections.abc import Mapping, Sequence
from html import escape

import numpy as np
from numpy.typing import ArrayLike

from parc.errors import SettingsError
from parc.render import palette

_COLOURS = (palette.FIGURES[0], palette.CONTACT, palette.PATH, palette.JUMP, *palette.FIGURES[1:])
_WIDTH, _HEIGHT = 560, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 34, 46


def ticks(low: float, high: float, wanted: int = 5, smallest: float = 0.0) -> list[float]:
    """Round numbers (1, 2 or 5 times a power of ten apart, at least `smallest`) that cover low .. high."""
    span = max(high - low, 1e-12)
    raw = max(span / wanted, smallest)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= raw * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(k * step, 12) for k in range(first, last + 1)]


def line_chart(series: Mapping[str, tuple[ArrayLike, ArrayLike]], title: str = "", x_label: str = "", y_label: str = "") -> str:
    """One line for each named (x, y); points that are not finite leave a gap."""
    data = {name: (np.asarray(x, float).ravel(), np.asarray(y, float).ravel()) for name, (x, y) in series.items()}
    for name, (x, y) in data.items():
        if len(x) != len(y):
            raise SettingsError(f"series '{name}' has {len(x)} x values and {len(y)} y values")
    return _curves(data, title, x_label, y_label)


def bar_chart(values: Mapping[str, float] | Mapping[str, Mapping[str, float]], title: str = "", y_label: str = "") -> str:
    """Bars by name; or groups of bars, {series: {name: value}}."""
    groups = _groups(values)
    names = list(dict.fromkeys(name for group in groups.values() for name in group))
    if not names:
        raise SettingsError(f"the bar chart '{title}' has no bars")
    heights = [v for group in groups.values() for v in group.values() if math.isfinite(v)]
    frame = _Frame((0.0, float(len(names))), (min([0.0, *heights]), max([1e-9, *heights])))
    parts = [frame.axes(title, "", y_label, x_ticks=False)]
    thick = 0.76 / len(groups)
    for s, group in enumerate(groups.values()):
        for n, name in enumerate(names):
            if math.isfinite(value := group.get(name, math.nan)):
                x0, x1 = frame.x(n + 0.12 + s * thick), frame.x(n + 0.12 + (s + 1) * thick)
                y0, y1 = sorted((frame.y(value), frame.y(0)))
                shape = f'x="{x0:.1f}" y="{y0:.1f}" width="{x1 - x0 - 1:.1f}" height="{max(y1 - y0, 0.5):.1f}"'
                note = escape(f"{name}: {value:g}")
                parts.append(f'<rect {shape} rx="2" fill="{_COLOURS[s % len(_COLOURS)]}"><title>{note}</title></rect>')
                if len(names) * len(groups) <= 16:
                    place = f'x="{(x0 + x1) / 2:.1f}" y="{y0 - 4:.1f}"'
                    parts.append(f'<text {place} text-anchor="middle" class="small">{_number(value)}</text>')
    for n, name in enumerate(names):
        parts.append(f'<text x="{frame.x(n + 0.5):.1f}" y="{_HEIGHT - _BOTTOM + 17}" text-anchor="middle">{escape(name)}</text>')
    return _svg(parts + _legend([str(k) for k in groups if k]))


def _groups(values: Mapping[str, float] | Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """Plain bars become the one group without a name."""
    plain = {name: float(v) for name, v in values.items() if not isinstance(v, Mapping)}
    nested = {name: {k: float(x) for k, x in v.items()} for name, v in values.items() if isinstance(v, Mapping)}
    if plain and nested:
        raise SettingsError(f"bars and groups of bars cannot be mixed: {sorted(plain)} beside {sorted(nested)}")
    return nested or {"": plain}


class _Frame:
    """Data to pixels."""

    def __init__(self, x_range: tuple[float, float], y_range: tuple[float, float], whole_x: bool = False) -> None:
        self.x_ticks, self.y_ticks = ticks(*x_range, 6, 1.0 if whole_x else 0.0), ticks(*y_range)
        self.x_range = x_range
        self.y_range = (self.y_ticks[0], self.y_ticks[-1])

    def x(self, value: float) -> float:
        low, high = self.x_range
        return _LEFT + (value - low) / max(high - low, 1e-12) * (_WIDTH - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        low, high = self.y_range
        return _HEIGHT - _BOTTOM - (value - low) / max(high - low, 1e-12) * (_HEIGHT - _TOP - _BOTTOM)

    def axes(self, title: str, x_label: str, y_label: str, x_ticks: bool = True) -> str:
        floor = _HEIGHT - _BOTTOM
        parts = [f'<text x="{_LEFT}" y="16" class="title">{escape(title)}</text>']
        for tick in self.y_ticks:
            y = self.y(tick)
            parts.append(f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>')
            parts.append(f'<text x="{_LEFT - 7}" y="{y + 4:.1f}" text-anchor="end">{_number(tick)}</text>')
        low, high = self.x_range
        for tick in self.x_ticks if x_ticks else []:
            if low - 1e-9 <= tick <= high + 1e-9:
                x = self.x(tick)
                parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{floor}" y2="{floor + 4}" class="axis"/>')
                parts.append(f'<text x="{x:.1f}" y="{floor + 17}" text-anchor="middle">{_number(tick)}</text>')
        parts.append(f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{floor}" y2="{floor}" class="axis"/>')
        middle = (_LEFT + _WIDTH - _RIGHT) / 2
        parts.append(f'<text x="{middle}" y="{_HEIGHT - 8}" text-anchor="middle">{escape(x_label)}</text>')
        height = (_TOP + floor) / 2
        parts.append(
            f'<text x="14" y="{height}" text-anchor="middle" transform="rotate(-90 14 {height})">{escape(y_label)}</text>'
        )
        return "".join(parts)


def _curves(data: Mapping[str, tuple[np.ndarray, np.ndarray]], title: str, x_label: str, y_label: str) -> str:
    finite = [(x[ok], y[ok]) for x, y in data.values() if (ok := np.isfinite(x) & np.isfinite(y)).any()]
    if not finite:
        raise SettingsError(f"the chart '{title}' has no finite point")
    xs, ys = np.concatenate([x for x, _ in finite]), np.concatenate([y for _, y in finite])
    y_low, y_high = float(ys.min()), float(ys.max())
    if y_high - y_low < 1e-9 * max(abs(y_high), 1.0):
        y_low, y_high = y_low - 0.5, y_high + 0.5
    x_low, x_high = float(xs.min()), float(xs.max())
    frame = _Frame((x_low, x_high if x_high > x_low else x_low + 1), (y_low, y_high), whole_x=bool((xs == xs.round()).all()))
    parts = [frame.axes(title, x_label, y_label)]
    for k, (x, y) in enumerate(data.values()):
        colour = _COLOURS[k % len(_COLOURS)]
        steps, pen = [], "M"
        for a, b in zip(x.tolist(), y.tolist(), strict=True):
            if math.isfinite(a) and math.isfinite(b):
                steps.append(f"{pen}{frame.x(a):.1f} {frame.y(b):.1f}")
                pen = "L"
            else:
                pen = "M"
        path = "".join(steps)
        pen_style = f'stroke="{colour}" stroke-width="1.8" stroke-linejoin="round" stroke-linecap="round"'
        parts.append(f'<path d="{path}" fill="none" {pen_style}/>')
        if len(x) <= 24:
            seen = [(frame.x(a), frame.y(b)) for a, b in zip(x, y, strict=True) if math.isfinite(a + b)]
            parts.extend(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="2.8" fill="{colour}"/>' for a, b in seen)
    return _svg(parts + _legend([name for name in data if name] if len(data) > 1 else []))


def _legend(names: Sequence[str]) -> list[str]:
    parts, x = [], float(_WIDTH - _RIGHT)
    for k, name in reversed(list(enumerate(names))):
        x -= 6.6 * len(name) + 22
        colour = _COLOURS[k % len(_COLOURS)]
        parts.append(f'<rect x="{x:.0f}" y="7" width="10" height="10" rx="2" fill="{colour}"/>')
        parts.append(f'<text x="{x + 14:.0f}" y="16">{escape(name)}</text>')
    return parts


def _svg(parts: Sequence[str]) -> str:
    return f'<svg class="chart" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">{"".join(parts)}</svg>'


def _number(value: float) -> str:
    if value == 0:
        return "0"
    if abs(value) >= 10000 or abs(value) < 0.001:
        return f"{value:.2g}"
    return f"{value:.4g}"
