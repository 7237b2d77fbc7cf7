"""The models in the box, on ground that is quickly crossed."""

import pytest
import torch

from parc.character import humanoid
from parc.path.terrain_path import TerrainPath
from parc.plan import Models
from parc.terrain import Terrain


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def models() -> Models:
    return Models.load(humanoid(), half=False)


@pytest.fixture(scope="session")
def flat() -> tuple[Terrain, TerrainPath]:
    """Three metres straight ahead."""
    path = TerrainPath(torch.tensor([[0.8, 0.8, 0.0], [2.4, 0.8, 0.0], [3.8, 0.8, 0.0]]))
    return Terrain.flat((12, 5)), path
