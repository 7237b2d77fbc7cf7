"""Panels of the evaluation page, as inline SVG coloured by the page's style sheet, so that they follow light and dark.

    density_panel    where motions end: filled contours of a density seen from above, rings every few metres
    terrain_strip    one cell for each test terrain, the fuller the more motions arrive

Contours are found by marching squares: each grid square whose corners lie on both sides of the level gives one or two
segments between its edges, and segments that share an edge are joined to closed lines.
"""

import math
from collections.abc import Sequence

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from parc.evaluate.net_displacement import density
from parc.report.svg_axis import element, picture, short, ticks

_LEVELS = (0.05, 0.15, 0.3, 0.5, 0.75)
"""shares of the largest density at which contours are drawn"""
_MOST_DOTS = 250


def density_panel(points: list[list[float]], title: str, note: str, reach: float, size: int = 264) -> Markup:
    """Ends of motions from above, the first frame looking up from the middle; `reach` m from the middle to an edge."""
    scale, middle, top = (size - 8) / (2 * reach), size / 2, 40

    def place(ahead: float, left: float) -> tuple[float, float]:
        return middle - left * scale, top + middle - ahead * scale

    x0, y0 = place(reach, reach)
    side = 2 * reach * scale
    parts = [
        element("text", title, x=4, y=14, class_="title"),
        element("text", note, x=4, y=30, class_="small"),
        element("rect", x=x0, y=y0, width=side, height=side, rx=6, class_="plate"),
    ]
    if points:
        field = density(points, reach)
        cell = 2 * reach / len(field)
        for n, share in enumerate(_LEVELS):
            loops = contours(field, share * field.max())
            path = "".join(
                _closed([place((a + 0.5) * cell - reach, (b + 0.5) * cell - reach) for a, b in loop]) for loop in loops
            )
            parts.append(element("path", d=path, class_=f"density d{n}", fill_rule="evenodd"))
    for radius in ticks(0, reach, 3)[1:]:
        if radius <= reach:
            x, y = place(radius, 0)
            parts.append(element("circle", cx=middle, cy=top + middle, r=radius * scale, class_="ring"))
            parts.append(element("text", f"{short(radius)} m", x=x + 4, y=y + 12, class_="small"))
    for ahead, left in points[:: max(1, -(-len(points) // _MOST_DOTS))]:
        if max(abs(ahead), abs(left)) < reach:
            x, y = place(ahead, left)
            parts.append(element("circle", cx=x, cy=y, r=1.4, class_="dot"))
    parts.append(element("path", d=f"M{middle - 5:.1f} {top + middle + 4:.1f}l5 -11l5 11z", class_="self"))
    return picture(parts, size, size + top + 4, f"{title}: where motions end")


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


def terrain_strip(shares: Sequence[float], name: str) -> Markup:
    """Cells in the order of the test set, 25 a row; each says in a note how many of its motions arrived."""
    columns, size = 25, 18
    parts = []
    for k, share in enumerate(shares):
        x, y = (k % columns) * size, (k // columns) * size
        share = 0.0 if not math.isfinite(share) else share
        told = element("title", f"{name}, terrain {k}: {share:.0f} % arrive")
        box = {"x": x + 1, "y": y + 1, "width": size - 2, "height": size - 2, "rx": 3}
        parts.append(element("rect", **box, class_="cell"))
        parts.append(element("rect", told, **box, class_="full", fill_opacity=f"{share / 100:.2f}"))
    rows = -(-max(len(shares), 1) // columns)
    shown = f"{name}: share of motions that arrive, by terrain"
    return picture(parts, columns * size, rows * size, shown, "chart strip")


def _closed(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points) + "Z"
