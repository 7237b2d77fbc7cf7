"""The models in the box, which fall elsewhere but walk on flat ground."""

import pytest
import torch

from parc.character import humanoid
from parc.errors import ParcError
from parc.generate.model.motion_generator import Generator
from parc.models import shipped_generator, shipped_tracker
from parc.track.learn.policy import TrainedActor, load_actor


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def generator() -> Generator:
    try:
        return Generator.load(shipped_generator(), humanoid())
    except ParcError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def tracker() -> TrainedActor:
    try:
        return load_actor(shipped_tracker(), humanoid())
    except ParcError as error:
        pytest.skip(str(error))
