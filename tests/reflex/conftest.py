"""Closed-loop training so small that it takes seconds: networks of a few units, a window a plan, four terrains."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from parc.author.procedural_walk import stroll
from parc.character import humanoid
from parc.dataset.clip import Clip
from parc.generate.model.motion_generator import Generator, GeneratorSettings
from parc.generate.model.prefix_transformer import PrefixSettings
from parc.generate.rollout.path_rollout import RolloutSettings
from parc.path.terrain_path import TerrainPath
from parc.physics.choose_engine import make_world
from parc.plan.crossing.reflex_crossings import ReflexSettings
from parc.reflex.reflex_env import ReflexEnv
from parc.reflex.reflex_settings import BankSettings, DevelopmentSettings, ReflexStarts, ReflexTrainingSettings
from parc.reflex.terrain_bank import CrossingBank, CrossingSource
from parc.run.checkpoint import save_checkpoint
from parc.terrain.terrain import Terrain
from parc.track.learn.mlp_network import initialise
from parc.track.learn.policy import TrackerPolicy, save_actor
from parc.track.tracker_settings import TrackerSettings


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def generator() -> Generator:
    """Untrained: its motions are nonsense, nobody follows them for long."""
    torch.manual_seed(0)
    network = PrefixSettings(width=16, layers=1, heads=2, hidden=16)
    return Generator(humanoid(), GeneratorSettings(network=network)).eval()


@pytest.fixture(scope="session")
def tiny() -> TrackerSettings:
    base = TrackerSettings.small()
    return replace(base, policy=replace(base.policy, hidden=(16, 16), std=0.05, learn_std=False))


@pytest.fixture(scope="session")
def closed(tiny: TrackerSettings) -> ReflexTrainingSettings:
    rollout = RolloutSettings(keep=7, overlap=0, steps=1, lock_feet=False)
    loop = ReflexSettings(every=3, windows=1, rollout=rollout, seconds=0.5, slowest=math.inf)
    return ReflexTrainingSettings(
        every=(2, 3),
        clip_share=0.5,
        loop=loop,
        starts=ReflexStarts(kept=32, tries=2, before=(0.1, 0.3), passed=0.3),
        bank=BankSettings(terrains=4, families=("boxes",), fresh=1, every=1, room=16, longest=12.0),
        development=DevelopmentSettings(families=("boxes",), terrains=1, runs=1),
        ppo=replace(tiny.ppo, steps=8, epochs=2, minibatch=40, critic_first=1, final_rate=1.0),
        shares=(),
    )


@pytest.fixture(scope="session")
def walk() -> Clip:
    path = TerrainPath(torch.tensor([[1.0, 1.0, 0.0], [2.4, 1.0, 0.0]]))
    return stroll(Terrain(torch.zeros(10, 6), torch.zeros(2)), path)


@pytest.fixture(scope="session")
def tracker(tiny: TrackerSettings, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An actor that has learned nothing, and its critic."""
    character, folder = humanoid(), tmp_path_factory.mktemp("tracker")
    policy = TrackerPolicy(character, tiny, "cpu")
    initialise(policy, torch.Generator().manual_seed(3))
    world = make_world(character, tiny.contract, 1, "cpu", 1)
    save_actor(folder / "actor.safetensors", policy.averaged_actor(), character, world.contract, tiny)
    flat = torch.cat([p.detach().reshape(-1) for p in policy.critic.parameters()])
    meta = {"kind": "tracker critic", "character": character.fingerprint}
    save_checkpoint(folder / "critic.safetensors", {"critic": flat.half(), "log_std": policy.log_std}, meta)
    return folder / "actor.safetensors"


@pytest.fixture
def env_of(generator: Generator, tiny: TrackerSettings) -> Callable[..., ReflexEnv]:
    def make(closed: ReflexTrainingSettings, worlds: int = 5, seed: int = 0) -> ReflexEnv:
        bank = CrossingBank.of(CrossingSource(closed.bank, closed.starts.each, seed).take(closed.bank.terrains), closed.bank)
        world = make_world(humanoid(), tiny.contract, worlds, "cpu", 1, bank.terrains.cell)
        env = ReflexEnv(world, generator, bank, tiny, closed, torch.Generator().manual_seed(seed))
        env.restart_all()
        return env

    return make
