"""What all charts share: SVG elements whose text is escaped, round ticks, scales, and a frame with axes and a legend."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

_LOG_FROM = 30.0
"""largest over smallest value from which an axis is logarithmic"""


def element(name: str, /, *content: str, **attributes: object) -> Markup:
    """An SVG element; text is escaped unless it is markup, numbers with a point get one decimal, `text_anchor` is text-anchor."""
    named = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items() if value != ""}
    told = "".join(f' {key}="{escape(f"{v:.1f}" if isinstance(v, float) else v)}"' for key, v in named.items())
    inside = Markup("").join(content)
    return Markup(f"<{name}{told}>{inside}</{name}>" if content else f"<{name}{told}/>")


def picture(parts: Sequence[str], width: float, height: float, told: str = "", kind: str = "chart") -> Markup:
    """The whole SVG; `told`: what it shows, for those who cannot see it."""
    box = f"0 0 {width:g} {height:g}"
    return element("svg", *parts, class_=kind, viewBox=box, role="img", aria_label=told)


def number(value: float) -> str:
    """Four digits, for an axis; without an exponent where that is readable."""
    if value == 0:
        return "0"
    if 1e4 <= abs(value) < 1e7:
        return f"{value:.0f}"
    return f"{value:.4g}" if 1e-3 <= abs(value) < 1e4 else f"{value:.2g}"


def short(value: float) -> str:
    """Three or four digits, without an exponent."""
    if abs(value) < 5e-5:
        return "0"
    if abs(value) >= 100:
        return f"{value:.0f}"
    if abs(value) < 0.001:
        return f"{value:.1g}"
    return f"{value:.3g}"


def ticks(low: float, high: float, wanted: int = 5, smallest: float = 0.0) -> list[float]:
    """Round numbers (1, 2 or 5 times a power of ten apart, at least `smallest`) that cover low .. high."""
    span = max(high - low, 1e-12)
    raw = max(span / wanted, smallest)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= raw * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(k * step, 12) for k in range(first, last + 1)]


@dataclass(frozen=True)
class Scale:
    """Values to shares of an axis."""

    low: float
    high: float
    ticks: list[float]
    logarithmic: bool = False
    """low and high are then powers of ten"""

    @classmethod
    def round(cls, low: float, high: float) -> "Scale":
        """From tick to tick."""
        found = ticks(low, high)
        return cls(found[0], found[-1], found)

    @classmethod
    def from_zero(cls, values: Sequence[float], may_be_log: bool = True, most: float = math.inf) -> "Scale":
        """From zero, or logarithmic where positive values span a wide range. `most`: no value can be larger."""
        low, high = min(values), max(values)
        if may_be_log and low > 0 and high / low > _LOG_FROM:
            first, last = math.floor(math.log10(low)), math.ceil(math.log10(high) - 1e-9)
            return cls(float(first), float(last), [10.0**k for k in range(first, last + 1)], True)
        return cls.round(min(0.0, low), min(high * 1.08, most) if high > 0 else 1.0)

    def share(self, value: float) -> float:
        """0 at the low end, 1 at the high one."""
        if self.logarithmic:
            value = math.log10(max(value, 10.0**self.low))
        return (min(max(value, self.low), self.high) - self.low) / max(self.high - self.low, 1e-12)


@dataclass(frozen=True)
class Frame:
    """The plane of a chart in pixels, with its margins."""

    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int
    x_scale: Scale
    y_scale: Scale

    @property
    def floor(self) -> int:
        """y of the lower axis."""
        return self.height - self.bottom

    def x(self, value: float) -> float:
        """Pixel of a value."""
        return self.left + self.x_scale.share(value) * (self.width - self.left - self.right)

    def y(self, value: float) -> float:
        """Pixel of a value."""
        return self.floor - self.y_scale.share(value) * (self.height - self.top - self.bottom)

    def grid(self) -> list[Markup]:
        """A line and a number for each tick of the y axis."""
        parts = []
        for tick in self.y_scale.ticks:
            y = self.y(tick)
            parts.append(element("line", x1=self.left, x2=self.width - self.right, y1=y, y2=y, class_="grid"))
            parts.append(element("text", number(tick), x=self.left - 8, y=y + 4, text_anchor="end"))
        return parts

    def axis(self, x_label: str = "", y_label: str = "", with_ticks: bool = True) -> list[Markup]:
        """The x axis, and what both axes are called."""
        parts = []
        low, high = self.x_scale.low, self.x_scale.high
        for tick in self.x_scale.ticks if with_ticks else []:
            if low - 1e-9 <= tick <= high + 1e-9:
                x = self.x(tick)
                parts.append(element("line", x1=x, x2=x, y1=self.floor, y2=self.floor + 4, class_="axis"))
                parts.append(element("text", number(tick), x=x, y=self.floor + 17, text_anchor="middle"))
        parts.append(element("line", x1=self.left, x2=self.width - self.right, y1=self.floor, y2=self.floor, class_="axis"))
        middle, height = (self.left + self.width - self.right) / 2, (self.top + self.floor) / 2
        parts.append(element("text", x_label, x=middle, y=self.height - 8, text_anchor="middle"))
        turned = f"rotate(-90 14 {height})"
        parts.append(element("text", y_label, x=14, y=height, text_anchor="middle", transform=turned))
        return parts

    def legend(self, entries: Sequence[tuple[str, Mapping[str, str]]]) -> list[Markup]:
        """Names from the right, each behind a mark with these attributes (a colour, or a class of the style sheet)."""
        parts, x = [], float(self.width - self.right)
        for name, look in reversed(entries):
            x -= 6.6 * len(name) + 22
            mark = element("circle", cx=round(x) + 5, cy=11, r=4)
            parts.append(element("g", mark, **look))
            parts.append(element("text", name, x=round(x) + 14, y=15))
        return parts
