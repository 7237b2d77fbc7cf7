"""A second body, unlike the humanoid in everything physics could take for granted."""

import math

import pytest
import torch

from parc.character.body_shape import Box, Capsule, Sphere
from parc.character.character import BALL_AXES, Body, Character, Joint

torch.set_num_threads(1)

X, Y, Z = BALL_AXES


def _joint(axes: tuple, limit: float = 1.0) -> Joint:
    return Joint(axes, (-limit,) * len(axes), (limit,) * len(axes), 120.0, 12.0, 0.01, 60.0, 1.0)


@pytest.fixture(scope="session")
def crawler() -> Character:
    """Breadth first, a joint of each kind (fixed, hinge, two hinges, ball), a turned box, no symmetry."""
    quarter = (0.0, 0.0, math.sin(math.pi / 8), math.cos(math.pi / 8))
    return Character(
        "crawler",
        (
            Body("trunk", -1, (0, 0, 0), shapes=(Box((0, 0, 0), (0.2, 0.1, 0.05), 800),)),
            Body("front", 0, (0.2, 0, 0), _joint((X, Y)), (Capsule((0, 0, 0), (0.05, 0, -0.2), 0.03, 900),)),
            Body("back", 0, (-0.2, 0.08, 0), _joint((Y,)), (Capsule((0, 0, 0), (-0.05, 0.05, -0.2), 0.03, 900),)),
            Body("tail", 0, (-0.2, -0.08, 0), _joint(BALL_AXES), (Capsule((0, 0, 0), (-0.05, -0.05, -0.2), 0.03, 900),)),
            Body("front_foot", 1, (0.05, 0, -0.2), shapes=(Box((0, 0, -0.03), (0.05, 0.04, 0.02), 700, quarter),), is_foot=True),
            Body("back_foot", 2, (-0.05, 0.05, -0.2), _joint((Z,)), (Sphere((0, 0, 0), 0.05, 700),), is_foot=True),
            Body("tail_foot", 3, (-0.05, -0.05, -0.2), _joint((Z, X)), (Sphere((0, 0, 0), 0.05, 700),), is_foot=True),
        ),
    )
