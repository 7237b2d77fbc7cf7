"""Contours enclose what lies above their level, and charts show the numbers they were given."""

import math
import re

import numpy as np
import pytest

from parc.report.svg_axis import short
from parc.report.svg_chart import Line, steps_chart
from parc.report.svg_panel import contours, density_panel, terrain_strip


def area(loop: list[tuple[float, float]]) -> float:
    x, y = np.array(loop).T
    return 0.5 * float(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1)))


def test_the_contour_of_a_cone_is_a_circle() -> None:
    x, y = np.meshgrid(np.arange(61), np.arange(61), indexing="ij")
    cone = 30 - np.hypot(x - 30, y - 33)
    (loop,) = contours(cone, 10.0)
    radii = np.hypot(*(np.array(loop) - [30, 33]).T)
    np.testing.assert_allclose(radii, 20, atol=0.05)
    assert abs(area(loop)) == pytest.approx(math.pi * 400, rel=0.01)


def test_holes_borders_and_saddles_are_closed() -> None:
    x, y = np.meshgrid(np.arange(41), np.arange(41), indexing="ij")
    ring = -np.abs(np.hypot(x - 20, y - 20) - 10)
    outer, inner = sorted((abs(area(loop)) for loop in contours(ring, -3.0)), reverse=True)
    assert outer == pytest.approx(math.pi * 13**2, rel=0.02) and inner == pytest.approx(math.pi * 7**2, rel=0.02)
    assert len(contours(np.ones((4, 4)), 0.5)) == 1, "a field that reaches the border is closed there"
    for middle in (0.0, 1.0):  # two peaks that touch at a corner, with or without a bridge
        for loop in contours(np.array([[1.0, 0.2 * middle], [0.0, 1.0]]), 0.5):
            assert len(loop) >= 4
    assert contours(np.zeros((5, 5)), 0.5) == []


@pytest.mark.parametrize("seed", range(5))
def test_points_above_the_level_are_inside_an_odd_number_of_contours(seed: int) -> None:
    field = np.random.default_rng(seed).random((9, 9))
    loops = [np.array(loop) for loop in contours(field, 0.6)]

    def crossings(px: float, py: float) -> int:
        count = 0
        for loop in loops:
            for (x0, y0), (x1, y1) in zip(loop, np.roll(loop, -1, 0), strict=True):
                if (y0 > py) != (y1 > py) and px < x0 + (py - y0) / (y1 - y0) * (x1 - x0):
                    count += 1
        return count

    for i, j in np.ndindex(field.shape):
        assert crossings(i, j + 1e-9) % 2 == int(field[i, j] >= 0.6)


def test_a_chart_tells_its_values_and_leaves_out_what_is_not_there() -> None:
    svg = steps_chart(
        "FWD", "m", ["it. 1", "it. 2"], [Line("ours", "ours", [1.5, None], [0.2, None]), Line("paper", "paper", [1.908, 0.5])]
    )
    assert "ours, it. 1: 1.5 ± 0.2" in svg and "paper, it. 2: 0.5" in svg and "ours, it. 2" not in svg
    assert svg.count("<polyline") == 1, "one point makes no line"
    assert "logarithmic" not in svg
    wide = steps_chart("TPL", "m", ["a", "b"], [Line("ours", "ours", [3.0, 40000.0])])
    assert "logarithmic" in wide
    heights = [float(y) for y in re.findall(r'<circle cx="[\d.]+" cy="([\d.]+)" r="4"><title>', wide)]
    assert heights[0] > heights[1], "larger stands higher"
    assert "<svg" in steps_chart("empty", "", ["a"], [Line("ours", "ours", [math.nan])])


def test_values_stand_where_the_axis_says() -> None:
    svg = steps_chart("x", "", ["a", "b"], [Line("ours", "ours", [2.0, 8.0])])
    axis = {float(v): float(y) - 4 for y, v in re.findall(r'<text x="54" y="([\d.]+)" text-anchor="end">([\d.]+)<', svg)}
    marks = [float(y) for y in re.findall(r'cy="([\d.]+)" r="4"><title>', svg)]
    assert marks == pytest.approx([axis[2.0], axis[8.0]], abs=0.2)


def test_an_axis_holds_its_errors_and_no_more_than_there_can_be() -> None:
    def top(most: float = math.inf, **values: list[float]) -> float:
        svg = steps_chart("x", "", ["a"], [Line("ours", "ours", values["of"], values.get("error", []))], most=most)
        return max(float(v) for v in re.findall(r'<text x="54" y="[\d.]+" text-anchor="end">([\d.]+)<', svg))

    assert top(of=[19.7], error=[20.0]) >= 39.7
    assert top(of=[0.998]) > 1.0 and top(of=[0.998], most=1.0) == 1.0
    assert top(of=[97.0], error=[9.0], most=100.0) == 100.0


def test_panels_and_strips() -> None:
    points = np.random.default_rng(0).normal(0, 2, (400, 2)).round(2).tolist()
    svg = density_panel(points, "D_0 <x>", "400 clips", 6.0)
    assert svg.count('class="density') == 5 and "D_0 &lt;x&gt;" in svg and svg.count('class="dot"') <= 250
    assert 'class="density' not in density_panel([], "nothing", "", 1.0)
    strip = terrain_strip([0.0, 50.0, math.nan], "iteration 1")
    assert strip.count('class="full"') == 3 and "terrain 1: 50 % arrive" in strip


@pytest.mark.parametrize(("value", "text"), [(0, "0"), (2093.4, "2093"), (0.0829, "0.0829"), (11.04, "11"), (0.00041, "0.0004")])
def test_short_numbers(value: float, text: str) -> None:
    assert short(value) == text
