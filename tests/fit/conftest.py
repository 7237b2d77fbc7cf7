"""Bodies and a walk to fit."""

import pytest
import torch

from parc.author.procedural_walk import stroll
from parc.character import Character, humanoid
from parc.dataset.clip import Clip
from parc.path.terrain_path import TerrainPath
from parc.terrain.terrain import Terrain


@pytest.fixture(scope="session")
def character() -> Character:
    return humanoid()


@pytest.fixture(scope="session")
def walk() -> Clip:
    """With a turn and a step up."""
    heights = torch.zeros(20, 20)
    heights[12:] = 0.2
    path = TerrainPath(torch.tensor([[1.0, 3.0, 0.0], [3.5, 3.0, 0.0], [6.0, 4.5, 0.2]]))
    return stroll(Terrain(heights, torch.zeros(2)), path)
