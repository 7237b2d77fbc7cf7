"""Clips of random but valid content, small enough to make by the hundred."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from parc.character import Character, humanoid
from parc.character.joint_coordinates import dof_to_joints
from parc.character.rotation import from_exp
from parc.dataset import Clip, Provenance
from parc.motion import Motion
from parc.path import TerrainPath
from parc.terrain.terrain import Terrain

SHARED = Path(__file__).parents[3] / "shared" / "data"


def random_clip(
    name: str = "clip", seed: int = 0, frames: int = 12, path: bool = True, bounds: bool = True, skill: str = ""
) -> Clip:
    g = torch.Generator().manual_seed(seed)
    character = humanoid()
    size = tuple(int(n) for n in torch.randint(2, 9, (2,), generator=g))
    motion = Motion(
        root_pos=torch.randn(frames, 3, generator=g),
        root_rot=from_exp(torch.randn(frames, 3, generator=g)),
        joint_rot=dof_to_joints(character, 0.5 * torch.randn(frames, character.num_dof, generator=g)),
        contacts=torch.rand(frames, len(character), generator=g),
        fps=30.0,
        loops=seed % 3 == 0,
    )
    heights = torch.randn(size, generator=g)
    limits = torch.stack([heights + 1, heights - torch.rand(size, generator=g)], -1) if bounds else None
    terrain = Terrain(heights, torch.randn(2, generator=g), 0.4000000059604645, limits)
    nodes = TerrainPath(torch.randn(5, 3, generator=g)) if path else None
    provenance = Provenance(
        source="made up", parent="nothing", iteration=seed % 4, seed=seed, skill=skill, edits=("cut 0..12",), losses={"tpl": 0.1},
        models={"generator": "abc"},
    )  # fmt: skip
    return Clip(name, motion, terrain, nodes, "humanoid", provenance)


def same_clip(a: Clip, b: Clip) -> bool:
    """Bit for bit."""
    pairs = [(getattr(a.motion, f), getattr(b.motion, f)) for f in ("root_pos", "root_rot", "joint_rot", "contacts")]
    pairs += [(a.terrain.heights, b.terrain.heights), (a.terrain.min_point, b.terrain.min_point)]
    optional = [(a.terrain.bounds, b.terrain.bounds), (a.path and a.path.nodes, b.path and b.path.nodes)]
    return (
        all(torch.equal(x, y) for x, y in pairs)
        and all((x is None) == (y is None) and (x is None or torch.equal(x, y)) for x, y in optional)
        and (a.name, a.motion.fps, a.motion.loops, a.terrain.cell) == (b.name, b.motion.fps, b.motion.loops, b.terrain.cell)
        and (a.character, a.provenance) == (b.character, b.provenance)
    )


@pytest.fixture
def make_clip() -> Callable[..., Clip]:
    return random_clip


@pytest.fixture
def same() -> Callable[[Clip, Clip], bool]:
    return same_clip


@pytest.fixture
def character() -> Character:
    return humanoid()


@pytest.fixture
def shared() -> Path:
    if not SHARED.is_dir():
        pytest.skip(f"development data not found at {SHARED.name}")
    return SHARED
