"""A character on a whole terrain as one MJCF file that any MuJoCo opens.

The map's columns become boxes, merged where neighbours are equally high: runs along y first, then equal runs of
neighbouring rows. Contact with one large box is smoother than with many flush ones, and the file stays small.
"""

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import mujoco
import numpy as np

from parc.character.character import Character
from parc.motion.motion import Motion
from parc.motion.mujoco_qpos import motion_to_qpos, motion_to_qvel
from parc.physics.mujoco_model import (
    NATIVE_FLAGS,
    add_character,
    add_ground_box,
    compile_spec,
    model_spec,
    new_spec,
    root_height,
)
from parc.physics.physical_contract import Contract
from parc.run.atomic_files import write_bytes_atomically
from parc.terrain.terrain import CELL, Terrain

DEPTH = 1.0
"""m of ground below the lowest cell"""
NEWER = (' input="pos"',)
"""what MuJoCo 4.0 writes and 3 refuses; without it both read the same model"""


@dataclass(frozen=True)
class Plateau:
    """Cells i0 .. i1-1 by j0 .. j1-1, all of one height."""

    i0: int
    i1: int
    j0: int
    j1: int
    height: float


def merge_plateaus(heights: np.ndarray) -> list[Plateau]:
    """Disjoint rectangles of equal height [X, Y] that cover the map."""
    done: list[Plateau] = []
    growing: dict[tuple[int, int, float], int] = {}
    for i, row in enumerate(heights):
        edges = [0, *(np.flatnonzero(np.diff(row)) + 1).tolist(), len(row)]
        runs = {(j0, j1, float(row[j0])) for j0, j1 in pairwise(edges)}
        done.extend(_plateau(run, growing.pop(run), i) for run in list(growing) if run not in runs)
        for run in runs:
            growing.setdefault(run, i)
    return done + [_plateau(run, start, len(heights)) for run, start in growing.items()]


def _plateau(run: tuple[int, int, float], i0: int, i1: int) -> Plateau:
    return Plateau(i0, i1, run[0], run[1], run[2])


def scene_spec(character: Character, terrain: Terrain, contract: Contract | None = None) -> mujoco.MjSpec:
    """The character standing in the middle of the map, its motors holding the zero pose."""
    contract = contract or Contract()
    spec = new_spec(contract, character.name)
    heights = terrain.heights.cpu().numpy().astype(float)
    low = terrain.min_point.cpu().numpy().astype(float)
    floor = heights.min() - DEPTH
    for p in merge_plateaus(heights):
        middle = low + terrain.cell * (np.array([p.i0 + p.i1, p.j0 + p.j1]) - 1) / 2
        half = 0.5 * terrain.cell * np.array([p.i1 - p.i0, p.j1 - p.j0])
        centre = (float(middle[0]), float(middle[1]), 0.5 * (p.height + floor))
        add_ground_box(spec, centre, (float(half[0]), float(half[1]), 0.5 * (p.height - floor)), contract)
    add_character(spec, character, contract)
    i, j = terrain.size[0] // 2, terrain.size[1] // 2
    foot = low + terrain.cell * np.array([i, j])
    spec.body(character.names[0]).pos = (foot[0], foot[1], heights[i, j] + root_height(character))
    spec.worldbody.add_light(pos=(foot[0], foot[1], heights.max() + 6.0), dir=(0.2, 0.1, -1.0))
    return spec


def export_mjcf(
    character: Character, terrain: Terrain, path: Path | str, contract: Contract | None = None, motion: Motion | None = None
) -> None:
    """Writes one .xml file; positions 1e-6 exact. The first frame of a motion becomes the keyframe "start"."""
    spec = scene_spec(character, terrain, contract)
    if motion is not None:
        qpos, qvel = motion_to_qpos(character, motion)[0], motion_to_qvel(character, motion)[0]
        spec.add_key(name="start", qpos=qpos.double().numpy(), qvel=qvel.double().numpy())
    compile_spec(spec, character)
    write_bytes_atomically(path, spec.to_xml().encode())


def window_mjcf(character: Character, contract: Contract, cell: float = CELL) -> str:
    """The model that our own CPU engine steps, as MJCF for MuJoCo 3 and 4: character, window of ground, contact sensors.

    Geoms 0 .. 48 are the window's boxes, which who steps it has to move (`parc.physics.terrain_window`).
    """
    spec = model_spec(character, contract, cell)
    spec.option.disableflags |= NATIVE_FLAGS
    compile_spec(spec, character)
    text = spec.to_xml()
    for words in NEWER:
        text = text.replace(words, "")
    return text
