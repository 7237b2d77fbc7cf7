"""A reference made in code: a humanoid that squats on flat ground (or on a box), and settings small enough for a test."""

import math
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from parc.character import rotation
from parc.character.character import Character
from parc.character.humanoid import humanoid
from parc.character.joint_coordinates import dof_to_joints
from parc.dataset.clip import Clip
from parc.motion.motion import Motion
from parc.terrain.terrain import Terrain
from parc.track.tracker_settings import TrackerSettings

THIGH, SHIN, SOLE = 0.421546, 0.409870, 0.05


def make_squat(character: Character, frames: int = 45, depth: float = 0.5, lift: float = 0.0, name: str = "squat") -> Clip:
    """Knees bend and stretch once; feet stay flat on the ground at height `lift`; labels: both feet."""
    phase = torch.linspace(0, 2 * math.pi, frames)
    bend = 0.15 + depth * 0.5 * (1 - torch.cos(phase))
    joints = rotation.identity((frames, character.num_joints))

    def turn(body: str, axis: tuple[float, float, float], angle: torch.Tensor) -> None:
        joints[:, character.index(body) - 1] = rotation.from_axis_angle(torch.tensor(axis), angle)

    for side, sign in (("right", 1.0), ("left", -1.0)):
        turn(f"{side}_thigh", (0.0, 1.0, 0.0), -bend)
        turn(f"{side}_shin", (0.0, 1.0, 0.0), 2 * bend)
        turn(f"{side}_foot", (0.0, 1.0, 0.0), -bend)
        turn(f"{side}_upper_arm", (1.0, 0.0, 0.0), torch.full((frames,), sign * 1.2))
    root = torch.zeros(frames, 3)
    root[:, 2] = (THIGH + SHIN) * torch.cos(bend) + SOLE + lift
    contacts = torch.zeros(frames, character.num_bodies)
    contacts[:, list(character.feet)] = 1.0
    motion = Motion(root, rotation.identity((frames,)), joints, contacts)
    terrain = Terrain(torch.full((8, 8), lift), torch.tensor([-1.4, -1.4]))
    return Clip(name, motion, terrain)


def make_crooked(character: Character, seed: int, frames: int = 40) -> Clip:
    """A motion without meaning or symmetry on ground without symmetry."""
    generator = torch.Generator().manual_seed(seed)

    def smooth(*shape: int) -> torch.Tensor:
        return 0.15 * torch.cumsum(torch.randn(frames, *shape, generator=generator), 0)

    joints = dof_to_joints(character, smooth(character.num_dof))
    pos = 0.3 * smooth(3) + torch.tensor([0.137, 0.061, 1.0])
    contacts = (torch.rand(frames, character.num_bodies, generator=generator) < 0.4).float()
    motion = Motion(pos, rotation.from_exp(smooth(3)), joints, contacts)
    return Clip("crooked", motion, Terrain(torch.rand(20, 17, generator=generator), torch.tensor([-3.9, -3.1])))


@pytest.fixture(scope="session")
def crooked(character: Character) -> Callable[[int], Clip]:
    return lambda seed: make_crooked(character, seed)


@pytest.fixture(scope="session")
def character() -> Character:
    return humanoid()


@pytest.fixture(scope="session")
def squats(character: Character) -> Callable[..., Clip]:
    return lambda **changes: make_squat(character, **changes)


@pytest.fixture(scope="session")
def squat(character: Character) -> Clip:
    return make_squat(character)


@pytest.fixture(scope="session")
def tiny() -> TrackerSettings:
    """Small networks, small batches, constant rates."""
    base = TrackerSettings.small()
    ppo = replace(base.ppo, steps=8, epochs=2, minibatch=64, final_rate=1.0)
    return replace(base, policy=replace(base.policy, hidden=(32, 32)), ppo=ppo)
