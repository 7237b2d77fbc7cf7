"""Clips of ours with feet and hands that touch."""

from pathlib import Path

import pytest

from parc.character import Character, humanoid
from parc.dataset import Dataset
from parc.dataset.clip import Clip

MOTIONS = Path(__file__).parents[2] / "src" / "parc" / "models" / "motions"


@pytest.fixture(scope="session")
def character() -> Character:
    return humanoid()


@pytest.fixture(scope="session")
def climb() -> Clip:
    """Up a box: walking, both hands on it, standing on it."""
    clip = Dataset.open(MOTIONS)["authored_901_0181_climb_sim"]
    return clip.derived("climb", "cut", motion=clip.motion.slice(30, 170))
