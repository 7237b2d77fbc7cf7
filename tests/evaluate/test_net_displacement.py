"""Displacement is seen from the first frame, and a density is one."""

import math

import numpy as np
import pytest
import torch

from parc.character import rotation
from parc.evaluate.net_displacement import density, displacement, displacement_of, spread


def test_by_hand() -> None:
    quarter = rotation.from_axis_angle(torch.tensor([0.0, 0.0, 1.0]), torch.tensor(math.pi / 2))
    pos = torch.tensor([[[1.0, 2.0, 3.0], [1.0, 5.0, 0.0], [9.0, 9.0, 9.0]]])
    rot = quarter.expand(1, 3, 4)
    moved = displacement(pos, rot, torch.tensor([2]))
    torch.testing.assert_close(moved, torch.tensor([[3.0, 0.0]]), atol=1e-5, rtol=0)


def test_turning_and_shifting_the_world_changes_nothing(walk) -> None:
    motion = walk.motion
    turn = rotation.from_axis_angle(torch.tensor([0.0, 0.0, 1.0]), torch.tensor(0.7))
    args = motion.root_pos[None], motion.root_rot[None], torch.tensor([len(motion)])
    turned = rotation.rotate(turn, motion.root_pos)[None] + 3.0, rotation.multiply(turn, motion.root_rot)[None], args[2]
    torch.testing.assert_close(displacement(*args), displacement(*turned), atol=1e-4, rtol=0)
    ahead, left = displacement_of([walk])[0]
    assert ahead == pytest.approx(4.0, abs=0.5) and abs(left) < 0.2, "a walk of 4 m goes straight ahead"


def test_a_density_holds_one_unit() -> None:
    points = np.random.default_rng(0).normal([1.0, -2.0], [0.5, 1.0], (300, 2)).tolist()
    field = density(points, reach=8.0, cells=80)
    assert field.sum() * 0.2**2 == pytest.approx(1.0, abs=0.01)
    x, y = np.unravel_index(field.argmax(), field.shape)
    assert (x + 0.5) * 0.2 - 8 == pytest.approx(1.0, abs=0.5)
    assert (y + 0.5) * 0.2 - 8 == pytest.approx(-2.0, abs=0.7)
    assert np.isfinite(density([[1.0, 1.0]], 2.0)).all(), "a single motion has a density too"


def test_evenness() -> None:
    ring = [[math.cos(a), math.sin(a)] for a in np.arange(8) * math.pi / 4]
    assert spread(ring)["evenness"] == pytest.approx(100)
    assert spread(ring)["sectors"] == [12.5] * 8
    assert spread([[2.0, 0.1], [4.0, -0.1]]) == {
        "distance": pytest.approx(3.0, abs=0.01),
        "evenness": 0.0,
        "sectors": [100.0] + [0.0] * 7,
    }
    assert spread([[0.0, 1.0]])["sectors"][2] == 100.0, "left comes after ahead and ahead-left"
    assert math.isnan(spread([])["distance"])
