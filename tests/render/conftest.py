"""A made-up clip: the humanoid, arms out, walking along a line over a stair, feet touching in turn."""

import pytest
import torch

from parc.character import humanoid
from parc.character.rotation import from_exp, identity
from parc.dataset.clip import Clip
from parc.motion.motion import Motion
from parc.path.terrain_path import TerrainPath
from parc.terrain.terrain import Terrain


def make_walk(frames: int = 40, name: str = "walk over a stair", shift: float = 0.0) -> Clip:
    character = humanoid()
    heights = torch.zeros(12, 8)
    for step in range(6):
        heights[5 + step :, 2:6] = 0.2 * (step + 1)
    terrain = Terrain(heights, torch.tensor([-0.4, -1.4]))
    t = torch.linspace(0, 1, frames)
    x = 3.2 * t
    y = torch.full_like(x, shift)
    ground = terrain.height_at(torch.stack([x, y], -1))
    root = torch.stack([x, y, ground + 0.9], -1)
    joints = identity((frames, character.num_joints))
    swing = 0.5 * torch.sin(12 * t)
    for side, sign in (("right", 1.0), ("left", -1.0)):
        angle = torch.stack([torch.zeros(frames), sign * swing, torch.zeros(frames)], -1)
        joints[:, character.index(f"{side}_thigh") - 1] = from_exp(angle)
    contacts = torch.zeros(frames, character.num_bodies)
    contacts[:, character.index("right_foot")] = (swing > 0).float()
    contacts[:, character.index("left_foot")] = (swing <= 0).float()
    nodes = torch.stack([x, y, ground], -1)[::4]
    return Clip(name, Motion(root, identity((frames,)), joints, contacts), terrain, TerrainPath(nodes))


@pytest.fixture
def walk() -> Clip:
    return make_walk()


@pytest.fixture
def other_walk() -> Clip:
    return make_walk(name="simulated", shift=0.3)
