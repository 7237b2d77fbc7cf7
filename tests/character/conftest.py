"""Characters to state laws on: the paper's humanoid and two robots of our own making, so that no law holds for one body only."""

from pathlib import Path

import pytest
import torch

from parc.character import humanoid, rotation
from parc.character.mjcf import character_from_mjcf

torch.set_num_threads(1)
CHARACTERS = ("humanoid", "bird", "walker")


def mjcf_path(name):
    return Path(__file__).parent / f"robot_{name}.xml"


@pytest.fixture(scope="session")
def bird_path():
    return mjcf_path("bird")


@pytest.fixture(scope="session")
def walker_path():
    return mjcf_path("walker")


@pytest.fixture(scope="session", params=CHARACTERS)
def character(request):
    return humanoid() if request.param == "humanoid" else character_from_mjcf(mjcf_path(request.param))


@pytest.fixture(scope="session", params=("humanoid", "bird"))
def symmetric(request):
    return humanoid() if request.param == "humanoid" else character_from_mjcf(mjcf_path(request.param))


@pytest.fixture
def random_rotations():
    generator = torch.Generator().manual_seed(0)

    def draw(*shape, dtype=torch.float64):
        return rotation.normalize(torch.randn(*shape, 4, generator=generator, dtype=dtype))

    return draw
