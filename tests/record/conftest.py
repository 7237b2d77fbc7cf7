"""References that motors alone can follow (a humanoid on its back), faults that nobody can, and an actor that does nothing."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from parc.character import rotation
from parc.character.character import Character
from parc.character.humanoid import humanoid
from parc.dataset.clip import Clip
from parc.motion.motion import Motion
from parc.path.terrain_path import TerrainPath
from parc.physics.mujoco_model import sealed_contract
from parc.terrain.terrain import Terrain
from parc.track.follow.runner import Runner
from parc.track.learn.policy import TrackerPolicy, load_actor, save_actor
from parc.track.tracker_settings import TrackerSettings

TOES = -0.5
BACK = 0.12
"""m from the ground to the root of a body that lies on its back"""


def make_rest(
    character: Character, frames: int = 150, lift: float = BACK, name: str = "rest", jumps: tuple[int, ...] = ()
) -> Clip:
    """Lying on the back, arms moving slowly; at frames in `jumps` the root is 3 m up for a moment. On a 12 m square."""
    joints = rotation.identity((frames, character.num_joints))
    swing = 0.3 * torch.sin(torch.linspace(0, 6.28, frames))
    for side, sign in (("right", 1.0), ("left", -0.5)):
        bend = rotation.from_axis_angle(torch.tensor([0.0, 0.0, 1.0]), sign * (0.4 + swing))
        joints[:, character.index(f"{side}_lower_arm") - 1] = bend
        toes_up = rotation.from_axis_angle(torch.tensor([0.0, 1.0, 0.0]), torch.tensor(TOES))
        joints[:, character.index(f"{side}_foot") - 1] = toes_up
    root = torch.zeros(frames, 3)
    root[:, 0] = 0.5
    root[:, 2] = lift
    for jump in jumps:
        root[jump : jump + 3, 2] += 3.0
    lying = rotation.from_axis_angle(torch.tensor([0.0, 1.0, 0.0]), torch.tensor(-1.5708)).expand(frames, 4)
    contacts = torch.zeros(frames, character.num_bodies)
    contacts[:, [character.index(body) for body in ("torso", "right_shin", "left_shin")]] = 1.0
    path = TerrainPath(torch.tensor([[0.5, 0.0, 0.0], [0.5, 2.0, 0.0], [2.5, 2.0, 0.0]]))
    return Clip(
        name, Motion(root, lying.clone(), joints, contacts), Terrain(torch.zeros(30, 30), torch.tensor([-5.8, -5.8])), path
    )


@pytest.fixture(scope="session")
def character() -> Character:
    return humanoid()


@pytest.fixture(scope="session")
def rests(character: Character) -> Callable[..., Clip]:
    return lambda **changes: make_rest(character, **changes)


@pytest.fixture(scope="session")
def actor_file(character: Character, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An actor whose actions are zero: the motors ask for the reference's pose."""
    small = TrackerSettings.small()
    settings = replace(small, policy=replace(small.policy, hidden=(16, 16)))
    policy = TrackerPolicy(character, settings, "cpu")
    torch.nn.init.zeros_(policy.averaged.last.weight)
    torch.nn.init.zeros_(policy.averaged.last.bias)
    file = tmp_path_factory.mktemp("policy") / "actor.safetensors"
    save_actor(file, policy.averaged_actor(), character, sealed_contract(character, settings.contract), settings)
    return file


@pytest.fixture(scope="session")
def simulator(actor_file: Path, character: Character) -> Runner:
    return Runner(load_actor(actor_file, character), "cpu", worlds=8, threads=1)
