import pytest
import torch

from parc.author.procedural_walk import stroll
from parc.character import Box, Character, Sphere, humanoid
from parc.character.character import BALL_AXES, Body, Joint
from parc.generate.data.frame_table import FrameTable
from parc.generate.data.training_windows import WindowSampler, WindowSettings
from parc.generate.model.feature_layout import FeatureLayout
from parc.generate.model.motion_generator import Generator, GeneratorSettings
from parc.generate.model.prefix_transformer import PrefixSettings
from parc.path.terrain_path import TerrainPath
from parc.terrain.heightmap import HeightmapGrid
from parc.terrain.terrain import Terrain

TINY = PrefixSettings(width=32, layers=2, heads=2, hidden=64)


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def hopper() -> Character:
    """A body unlike the humanoid: one leg of a two-axis hip, a hinge about x, and a fixed foot; not symmetric."""
    hip = Joint(axes=((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)), lower=(-1.0, -1.0), upper=(1.0, 1.0))
    knee = Joint(axes=((1.0, 0.0, 0.0),), lower=(-2.0,), upper=(2.0,))
    ball = Joint(axes=BALL_AXES, lower=(-1.0,) * 3, upper=(1.0,) * 3)
    return Character(
        "hopper",
        (
            Body("trunk", -1, (0, 0, 0), shapes=(Sphere((0, 0, 0), 0.1, 1000),)),
            Body("thigh", 0, (0, 0, -0.1), hip, (Sphere((0, 0, -0.1), 0.05, 1000),)),
            Body("shin", 1, (0, 0, -0.3), knee, (Sphere((0, 0, -0.1), 0.05, 1000),)),
            Body("foot", 2, (0, 0, -0.3), Joint(), (Box((0, 0, -0.02), (0.08, 0.04, 0.02), 1000),), is_foot=True),
            Body("tail", 0, (-0.1, 0, 0), ball, (Sphere((-0.1, 0, 0), 0.03, 1000),)),
        ),
    )


@pytest.fixture(scope="session")
def walk():
    """A walk with a turn and a step up, on its own terrain."""
    heights = torch.zeros(20, 20)
    heights[12:] = 0.2
    path = TerrainPath(torch.tensor([[1.0, 3.0, 0.0], [3.5, 3.0, 0.0], [6.0, 4.5, 0.2]]))
    return stroll(Terrain(heights, torch.zeros(2)), path)


@pytest.fixture(scope="session")
def layout():
    return FeatureLayout(humanoid())


@pytest.fixture(scope="session")
def table(walk):
    return FrameTable.build([walk], humanoid(), 15, "cpu")


@pytest.fixture(scope="session")
def windows(table, layout):
    return WindowSampler(table, layout, HeightmapGrid(), WindowSettings())


@pytest.fixture
def tiny_generator():
    torch.manual_seed(0)
    return Generator(humanoid(), GeneratorSettings(network=TINY)).eval()


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.fixture
def random():
    return seeded()
