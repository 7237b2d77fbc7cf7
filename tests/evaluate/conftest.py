"""Small models that know nothing and still walk the whole road, and terrains of the development set."""

from pathlib import Path

import pytest
import torch

from parc.author.procedural_walk import stroll
from parc.character import humanoid
from parc.dataset.clip import Clip
from parc.evaluate.terrain_sets import SetChoice, TestCase, set_cases
from parc.generate.model.motion_generator import Generator, GeneratorSettings
from parc.generate.model.prefix_transformer import PrefixSettings
from parc.loop.ledger import Ledger, Stage
from parc.loop.run_iterations import RUN
from parc.path.terrain_path import TerrainPath
from parc.physics.mujoco_model import sealed_contract
from parc.run.atomic_files import write_bytes_atomically
from parc.terrain.terrain import Terrain
from parc.track.learn.policy import TrackerPolicy, save_actor
from parc.track.tracker_settings import PolicySettings, TrackerSettings


def save_generator(file: Path, seed: int = 0) -> Path:
    torch.manual_seed(seed)
    settings = GeneratorSettings(network=PrefixSettings(width=32, layers=1, heads=2, hidden=64))
    Generator(humanoid(), settings).save(file)
    return file


def save_tracker(file: Path, seed: int = 0) -> Path:
    torch.manual_seed(seed)
    settings = TrackerSettings(policy=PolicySettings(hidden=(16, 16)))
    actor = TrackerPolicy(humanoid(), settings, "cpu").averaged_actor()
    save_actor(file, actor, humanoid(), sealed_contract(humanoid(), settings.contract), settings)
    return file


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with generators a and b and trackers s and t."""
    folder = tmp_path_factory.mktemp("models")
    for seed, (generator, tracker) in enumerate((("a", "s"), ("b", "t"))):
        save_generator(folder / f"{generator}.safetensors", seed)
        save_tracker(folder / f"{tracker}.safetensors", seed)
    return folder


@pytest.fixture(scope="session")
def generator(models: Path) -> Generator:
    return Generator.load(models / "a.safetensors", humanoid())


@pytest.fixture(scope="session")
def cases() -> list[TestCase]:
    return set_cases(SetChoice(), 3)


@pytest.fixture(scope="session")
def walk() -> Clip:
    return stroll(Terrain.flat((14, 8)), TerrainPath(torch.tensor([[0.4, 1.2, 0.0], [4.4, 1.2, 0.0]])), name="walk")


def make_run(folder: Path, iterations: int, corrected: bool = True, unfinished: str = "") -> Path:
    """A run of the loop as its ledger leaves it, with models that were never trained; `unfinished` stages are left out."""
    import json

    settings = {"name": "tiny", "plans": [], "iterations": iterations, "physics_correction": corrected, "seed": 0}
    settings["kinematic_correction"] = corrected
    values = {"settings": settings, "sources": {"dataset": None, "generator": None, "tracker": None}}
    write_bytes_atomically(folder / RUN, json.dumps(values).encode())
    ledger = Ledger(folder)
    for i in range(1, iterations + 1):
        for stage, file, save in (
            ("generator", "generator.safetensors", save_generator),
            ("tracker", "actor.safetensors", save_tracker),
        ):
            name = f"iteration-{i:02d}/{stage}"
            if name == unfinished:
                return folder

            def work(out: Path, save=save, file=file, i=i) -> dict:
                save(out / file, 10 + i)
                return {}

            if stage == "generator" or corrected:
                ledger.run(Stage(name, {}, work, lambda out, file=file: [out / file]))
    return folder
