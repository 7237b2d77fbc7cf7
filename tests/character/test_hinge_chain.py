"""Angles of two and three hinges from a turn, against scipy's rotations put together from known angles."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from parc.character.robot.hinge_chain import chain_angles

TILTED = [[0, 1, 0], [0.985, 0, 0.174], [-0.174, 0, 0.985]]
SHOULDER = [[0, 0.961, 0.276], [1, 0, 0], [0, 0, 1]]
CHAINS = {"hip": TILTED, "shoulder": SHOULDER, "ankle": [[0, 1, 0], [1, 0, 0]], "knee": [[0, 1, 0]]}


def turned(axes, angles):
    whole = Rotation.identity(len(angles))
    for axis, angle in zip(axes, angles.T, strict=True):
        whole = whole * Rotation.from_rotvec(angle[:, None] * np.asarray(axis))
    return whole.as_matrix()


def unit_axes(name):
    axes = np.asarray(CHAINS[name], dtype=float)
    return axes / np.linalg.norm(axes, axis=1, keepdims=True)


@pytest.mark.parametrize("name", CHAINS)
def test_angles_come_back(name):
    axes = unit_axes(name)
    times = np.linspace(0, 6, 200)
    angles = np.stack([0.9 * np.sin(times + k) for k in range(len(axes))], -1)
    bound = np.full(len(axes), 1.4)
    assert np.allclose(chain_angles(turned(axes, angles), axes, -bound, bound), angles, atol=1e-9)


@pytest.mark.parametrize("name", ["hip", "shoulder"])
def test_a_limb_that_passes_the_pole_does_not_jump(name):
    """The second angle goes through the place where only the sum of the others is known."""
    axes = unit_axes(name)
    second = np.linspace(0.4, 2.3, 120)
    angles = np.stack([np.full(120, 0.3), second, np.full(120, -0.2)], -1)
    bound = np.array([3.0, 2.6, 3.0])
    found = chain_angles(turned(axes, angles), axes, -bound, bound)
    assert np.abs(np.diff(found, axis=0)).max() < 0.2
    assert np.linalg.norm(turned(axes, found) - turned(axes, angles), axis=(1, 2)).max() < 0.3


def test_angles_stay_in_their_ranges():
    axes = unit_axes("hip")
    turns = Rotation.random(300, np.random.default_rng(0)).as_matrix()
    lower, upper = np.array([-1.0, -0.5, -0.7]), np.array([0.6, 1.5, 0.7])
    found = chain_angles(turns, axes, lower, upper)
    assert (found >= lower).all() and (found <= upper).all()
