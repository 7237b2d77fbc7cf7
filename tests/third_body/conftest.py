"""Two bodies that nobody prepared, a biped without arms and a quadruped, and a motion of each: its legs bend and stretch."""

import math
from pathlib import Path

import pytest
import torch

from parc.character import Character, find_character, forward_kinematics
from parc.character.find_symmetry import extent
from parc.character.joint_coordinates import dof_to_joints
from parc.dataset import Clip
from parc.motion.motion import Motion
from parc.terrain import Terrain

HERE = Path(__file__).parent
BENDS = {"biped": {"thigh": -1.0, "shin": 2.0, "ankle": -1.0}, "quadruped": {"thigh": 1.0, "shank": -2.0}}
"""how much the joints of bodies called so turn while a leg bends"""


@pytest.fixture(params=["biped", "quadruped"])
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def body(name: str) -> Character:
    return find_character(HERE / f"{name}.xml")


@pytest.fixture
def bending(name: str, body: Character) -> Clip:
    """1.5 s, feet on the ground throughout."""
    frames = 45
    bend = 0.4 + 0.15 * (1 - torch.cos(torch.linspace(0, 2 * math.pi, frames)))
    dof = torch.zeros(frames, body.num_dof)
    for start, part in zip(body.dof_start, body.bodies, strict=True):
        for called, share in BENDS[name].items():
            if called in part.name:
                dof[:, start] = share * bend
    joints, upright = dof_to_joints(body, dof), torch.tensor([0.0, 0.0, 0.0, 1.0]).expand(frames, 4).clone()
    root = torch.full((frames, 3), 1.4)
    pose = forward_kinematics(body, root, upright, joints)
    root[:, 2] -= torch.stack([pose.pos[:, foot, 2] + extent(body.bodies[foot])[0][2] for foot in body.feet]).amin(0)
    contacts = torch.zeros(frames, len(body))
    contacts[:, list(body.feet)] = 1.0
    return Clip("bending", Motion(root, upright, joints, contacts), Terrain.flat((8, 8)), None, body.fingerprint)
