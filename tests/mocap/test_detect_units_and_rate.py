from collections.abc import Callable

import numpy as np
import pytest

from parc.errors import FormatError
from parc.mocap.read.detect_units_and_rate import UNITS, implied_fps, unit_in_metres, upright
from parc.mocap.subject.body_landmarks import landmarks_of


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("up", ["x", "y", "z"])
def test_unit_and_up_axis_are_found(jumping_person: Callable, unit: str, up: str) -> None:
    true = jumping_person(120.0)
    order = {"z": [0, 1, 2], "y": [1, 2, 0], "x": [2, 0, 1]}[up]
    stored = true.turned(np.eye(3)[order], 1 / UNITS[unit])
    got = upright(stored)
    np.testing.assert_allclose(got.pos, true.pos, atol=1e-9)
    assert got.warnings == ()


@pytest.mark.parametrize("true_fps", [60.0, 120.0, 200.0])
def test_the_rate_is_told_by_falling(jumping_person: Callable, true_fps: float) -> None:
    take = jumping_person(true_fps)
    claimed = upright(take, fps=120.0)
    assert implied_fps(landmarks_of(claimed)) == pytest.approx(true_fps, rel=0.05)
    assert bool(claimed.warnings) == (true_fps != 120.0)
    if claimed.warnings:
        assert f"{true_fps / 10:.0f}"[:1] in claimed.warnings[0] and "not 120" in claimed.warnings[0]


def test_who_never_flies_says_nothing_about_the_rate(jumping_person: Callable) -> None:
    assert implied_fps(landmarks_of(jumping_person(120.0, height=0.0))) is None


def test_a_unit_is_a_name_or_a_number_of_metres() -> None:
    assert {name: unit_in_metres(name, "unit") for name in UNITS} == UNITS
    assert unit_in_metres(" Inch ", "unit") == 0.0254 and unit_in_metres("cmu", "unit") == 0.0564444
    assert unit_in_metres("0.005", "unit") == 0.005
    for wrong in ("ell", "", "0", "-1", "nan", "inf"):
        with pytest.raises(FormatError) as said:
            unit_in_metres(wrong, "the unit")
        assert str(said.value) == f"the unit is '{wrong}', expected m, dm, cm, mm, inch, CMU or a positive number of metres"


def test_given_values_win_and_odd_ones_are_told(jumping_person: Callable) -> None:
    true = jumping_person(120.0)
    half = upright(true, unit=0.5)
    np.testing.assert_allclose(half.pos, 0.5 * true.pos)
    assert "legs are 0.4" in half.warnings[0]
    with pytest.raises(FormatError, match="feet are above the shoulders"):
        upright(true.turned(np.diag([1.0, -1.0, -1.0])))
