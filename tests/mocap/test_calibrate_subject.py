from collections.abc import Callable

import numpy as np
import pytest

from parc.character import Character
from parc.dataset.clip import Clip
from parc.mocap.subject.body_landmarks import landmarks_of, landmarks_of_motion
from parc.mocap.subject.calibrate_subject import calibrate, fit_take, levelled
from parc.mocap.subject.human_anatomy import Anatomy


def test_a_person_of_another_size_is_fitted_back(character: Character, flat_walk: Clip) -> None:
    """Scaled by 1.3 and lifted by 0.4 m, a walk of the character comes back as it was."""
    anatomy = Anatomy.of(character)
    true = landmarks_of_motion(character, flat_walk.motion)
    big = true.moved(lambda track: 1.3 * track + np.array([0.0, 0.0, 0.4]))
    calibration = calibrate([big])
    assert calibration.leg == pytest.approx(1.3 * anatomy.leg, rel=1e-4)
    got = fit_take(big, calibration, anatomy)
    assert got.scale == pytest.approx(1 / 1.3, rel=1e-4)
    off = np.abs(got.landmarks["left_ankle"][:, 2] - true["left_ankle"][:, 2])
    assert off.max() < 0.005
    assert got.landmarks.fps == pytest.approx(big.fps * np.sqrt(1.3), rel=1e-4)
    toe = -anatomy.sole[2, 2]
    length = np.hypot(anatomy.toe[0], toe)
    assert got.foot_pitch == pytest.approx(np.arcsin(toe / length), abs=0.03)


def test_the_sole_is_found_from_the_shapes(character: Character) -> None:
    sole = Anatomy.of(character).sole
    np.testing.assert_allclose(sole[:, 2], -0.05, atol=1e-6)
    np.testing.assert_allclose(sole[:, 0], [0.045 - 0.0885] * 2 + [0.045 + 0.0885] * 2, atol=1e-6)
    np.testing.assert_allclose(np.abs(sole[:, 1]), 0.045, atol=1e-6)


def test_a_tilted_floor_is_told_by_takes_together(jumping_person: Callable) -> None:
    """Each take stands in one place and shows nothing of it."""
    tilt = np.array([0.015, -0.01])
    takes = []
    for place in ((0.0, 0.0), (2.0, 0.0), (0.0, 2.0), (2.0, 2.0)):
        take = landmarks_of(jumping_person(120.0, height=0.0))
        there = take.moved(lambda track, place=place: track + np.array([*place, 0.0]))
        takes.append(there.moved(lambda track: track + np.array([0, 0, 1.0]) * (track[:, :2] @ tilt)[:, None]))
    np.testing.assert_allclose(calibrate(takes).slope, tilt, atol=0.002)
    assert calibrate(takes[:1]).slope == (0.0, 0.0)
    flat = levelled(takes[1], tilt)
    np.testing.assert_allclose(flat["left_ankle"][:, 2], 0.08, atol=1e-9)
