"""Motions whose gait is known: by rule, and walks of people recorded in simulation; and what can be done to them."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from parc.author.procedural_walk import StrollSettings, stroll
from parc.character import humanoid, rotation
from parc.dataset.clip import Clip
from parc.dataset.dataset_store import Dataset
from parc.models import shipped_motions
from parc.path.terrain_path import TerrainPath
from parc.terrain.terrain import Terrain

BODY = humanoid()
Stroll = Callable[..., Clip]


def changed(clip: Clip, **values) -> Clip:
    return replace(clip, motion=replace(clip.motion, **values))


def bent(clip: Clip, body: str, degrees: float, axis: tuple[float, float, float] = (0.0, 1.0, 0.0)) -> Clip:
    """Left and right joint turned further about an axis of their own frame."""
    turn = rotation.from_axis_angle(torch.tensor(axis), torch.deg2rad(torch.tensor(degrees)))
    joints = clip.motion.joint_rot.clone()
    for side in ("left", "right"):
        k = BODY.index(f"{side}_{body}") - 1
        joints[:, k] = rotation.multiply(joints[:, k], turn.expand(len(joints), 4))
    return changed(clip, joint_rot=joints)


def crouched(clip: Clip, degrees: float) -> Clip:
    """Knees bent further, thighs and feet turned by half of it, so that soles stay level; the root comes down with them."""

    def ankles(of: Clip) -> torch.Tensor:
        return of.motion.body_poses(BODY).pos[:, list(BODY.feet), 2].amin(1)

    low = bent(bent(bent(clip, "thigh", -degrees / 2), "shin", degrees), "foot", -degrees / 2)
    root = clip.motion.root_pos.clone()
    root[:, 2] += ankles(clip) - ankles(low)
    return changed(low, root_pos=root)


def backwards(clip: Clip) -> Clip:
    m = clip.motion
    return changed(
        clip, root_pos=m.root_pos.flip(0), root_rot=m.root_rot.flip(0), joint_rot=m.joint_rot.flip(0), contacts=m.contacts.flip(0)
    )


def at_double_speed(clip: Clip) -> Clip:
    m = clip.motion
    return changed(clip, root_pos=m.root_pos[::2], root_rot=m.root_rot[::2], joint_rot=m.joint_rot[::2], contacts=m.contacts[::2])


def with_stiff_arms(clip: Clip) -> Clip:
    """Arms held where they are in the first frame."""
    joints = clip.motion.joint_rot.clone()
    for name in ("left_upper_arm", "right_upper_arm", "left_lower_arm", "right_lower_arm"):
        joints[:, BODY.index(name) - 1] = joints[0, BODY.index(name) - 1]
    return changed(clip, joint_rot=joints)


@pytest.fixture(scope="session")
def strolling() -> Stroll:
    """A walk by rule along a straight line on flat terrain."""

    def make(speed: float = 1.0, step: float = 0.5, length: float = 8.0) -> Clip:
        path = TerrainPath(torch.tensor([[0.4, 1.2, 0.0], [0.4 + length, 1.2, 0.0]]))
        return stroll(Terrain.flat((30, 8)), path, StrollSettings(speed=speed, step=step))

    return make


@pytest.fixture(scope="session")
def walks() -> list[Clip]:
    """Walks of people, hastened and recorded in simulation: motions in the box."""
    folder = shipped_motions()
    assert folder is not None
    data = Dataset.open(folder, BODY)
    names = [n for n in data.names if n.startswith("walk_16_")]
    assert len(names) >= 5
    return [data[n] for n in names[:6]]
