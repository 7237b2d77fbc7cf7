import numpy as np
import pytest
import torch

from parc.author.procedural_walk import stroll
from parc.character import humanoid
from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.path import plan_path
from parc.plan import Models, SearchSettings, Traverse, TraverseSettings, plan_route, traverse
from parc.terrain import Terrain


@pytest.fixture(scope="session")
def character() -> Character:
    return humanoid()


@pytest.fixture(scope="session")
def models(character: Character) -> Models:
    return Models.load(character)


@pytest.fixture(scope="session")
def walk() -> Clip:
    ground = Terrain.flat((16, 6))
    return stroll(ground, plan_path(ground, (1, 2), (13, 3), 0))


SMALL = TraverseSettings(2, SearchSettings(candidates=4, beam=2, seconds=300.0), threads=1)


@pytest.fixture(scope="session")
def crossing(models: Models) -> Traverse:
    """A short way over flat ground."""
    ground = Terrain.flat((12, 5))
    path = plan_route(ground, (1, 2), (9, 2), np.random.default_rng(0))
    return traverse(ground, path, models, SMALL, torch.Generator().manual_seed(1))
