"""Terrains from random numbers: the paper's random boxes, random walks and slices of a large map.

Each kind is a frozen dataclass of settings and a function of it and a numpy Generator; the same state of the generator
gives the same terrain. Maps are laid out with the centre of cell (0, 0) at the origin. Stairs are in
`parc.terrain.stair_flights`.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch

from parc.errors import SettingsError, TerrainError
from parc.terrain.terrain import CELL, Terrain
from parc.terrain.terrain_edits import crop, recentred


@dataclass(frozen=True)
class RandomBoxes:
    """Boxes put one after another on flat ground, each replacing what is under it; no 1-cell gaps or walls remain."""

    size: tuple[int, int] = (16, 16)
    """cells"""
    boxes: int = 10
    """number of boxes"""
    side: tuple[int, int] = (5, 10)
    """shortest and longest side of a box, cells"""
    height: tuple[float, float] = (-2.0, 2.0)
    """lowest and highest top of a box, m"""
    ground: float = 0.0
    """height of the flat ground, m"""
    cell: float = CELL
    """side of a cell, m"""


@dataclass(frozen=True)
class RandomWalks:
    """Winding paths at random heights over a low floor: the kind of terrain the paper tests on."""

    size: tuple[int, int] = (32, 32)
    """cells"""
    walks: int = 10
    """number of paths"""
    steps: int = 1000
    """steps a path"""
    step_time: float = 1 / 30
    """duration of a step, s"""
    speed: float = 1.0
    """forward speed, m/s; the sideways speed of each walk is drawn from N(0, 1)"""
    turn: float = 7 / 30
    """standard deviation of the turn at each step, rad"""
    height: tuple[float, float] = (-1.6, 2.0)
    """lowest and highest path, m"""
    floor: float = -2.0
    """height where no path goes, m"""
    cell: float = CELL
    """side of a cell, m"""


@dataclass(frozen=True)
class CrowdedBoxes:
    """From the paper's training terrains to boxes so narrow and high, over so deep a floor, that few ways lead across."""

    plain: RandomBoxes | None = RandomBoxes()
    """the paper's; None, here and below: not this kind"""
    narrow: RandomBoxes | None = RandomBoxes(size=(24, 24), boxes=40, side=(2, 5), ground=-2.0)
    """many narrow ones over a deep floor"""
    middle: RandomBoxes | None = RandomBoxes(size=(24, 24), boxes=30, side=(3, 7), ground=-2.0)
    """fewer and wider ones over a deep floor"""

    def __post_init__(self) -> None:
        if not self.kinds:
            raise SettingsError("no kind of crowded boxes is left, expected one or more")

    @property
    def kinds(self) -> tuple[RandomBoxes, ...]:
        """Those there are."""
        return tuple(kind for kind in (self.plain, self.narrow, self.middle) if kind is not None)


CROWDED = CrowdedBoxes().kinds


def crowded_boxes(generator: np.random.Generator) -> Terrain:
    """Boxes of one of the `CROWDED` kinds, each as likely as the others."""
    return random_boxes(CROWDED[generator.integers(len(CROWDED))], generator)


def random_boxes(settings: RandomBoxes, generator: np.random.Generator) -> Terrain:
    """The paper's Random Boxes: axis-aligned boxes, then each 2 x 2 window (stride 2) raised to its highest cell."""
    _check_size(settings.size)
    if settings.boxes < 0 or not 1 <= settings.side[0] <= settings.side[1]:
        raise TerrainError(f"cannot place {settings.boxes} boxes with sides {settings.side[0]} to {settings.side[1]} cells")
    _check_heights(settings.height)
    heights = np.full(settings.size, settings.ground, np.float32)
    for _ in range(settings.boxes):
        centre = generator.integers(0, settings.size)
        sides = generator.integers(settings.side[0], settings.side[1], size=2, endpoint=True)
        low = np.maximum(centre - sides // 2, 0)
        high = centre - sides // 2 + sides
        heights[low[0] : high[0], low[1] : high[1]] = generator.uniform(*settings.height)
    return terrain_of(flatten_blocks(heights), settings.cell)


def flatten_blocks(heights: np.ndarray, block: int = 2) -> np.ndarray:
    """Every block x block window (stride block) raised to its maximum; windows cut by the edge hold what is left of them."""
    size = heights.shape
    padded = np.pad(heights, [(0, -n % block) for n in size], mode="edge")
    rows, columns = (n // block for n in padded.shape)
    highest = padded.reshape(rows, block, columns, block).max((1, 3))
    return highest.repeat(block, 0).repeat(block, 1)[: size[0], : size[1]]


def random_walks(settings: RandomWalks, generator: np.random.Generator) -> Terrain:
    """Walks from random cells; a walk that leaves the map follows its edge. At the end each cell takes the highest of 3 x 3."""
    _check_size(settings.size)
    if settings.walks < 0 or settings.steps < 1:
        raise TerrainError(f"cannot make {settings.walks} walks of {settings.steps} steps")
    _check_heights(settings.height)
    heights = np.full(settings.size, settings.floor, np.float32)
    for _ in range(settings.walks):
        start = generator.uniform(0, settings.cell * np.array(settings.size))
        velocity = complex(settings.speed, generator.normal())
        heading = generator.uniform(0, 2 * np.pi) + np.cumsum(generator.normal(0, settings.turn, settings.steps))
        way = complex(*start) + np.cumsum(velocity * np.exp(1j * heading)) * settings.step_time
        ij = np.floor(np.stack([way.real, way.imag], -1) / settings.cell).astype(int)
        i, j = np.clip(ij, 0, np.array(settings.size) - 1).T
        heights[i, j] = generator.uniform(*settings.height)
    return terrain_of(_highest_of_3x3(heights), settings.cell)


def random_slice(terrain: Terrain, size: tuple[int, int], generator: np.random.Generator) -> Terrain:
    """A random rectangle of `size` cells cut out of a larger map and moved so that its middle is at the origin."""
    _check_size(size)
    room = [whole - part for whole, part in zip(terrain.size, size, strict=True)]
    if min(room) < 0:
        raise TerrainError(f"a slice of {size[0]} x {size[1]} cells does not fit into {terrain.size[0]} x {terrain.size[1]}")
    i, j = (int(generator.integers(0, r, endpoint=True)) for r in room)
    return recentred(crop(terrain, (i, j), (i + size[0], j + size[1])))


def _highest_of_3x3(heights: np.ndarray) -> np.ndarray:
    padded = np.pad(heights, 1, mode="edge")
    return np.lib.stride_tricks.sliding_window_view(padded, (3, 3)).max((2, 3))


def _check_size(size: tuple[int, int]) -> None:
    if min(size) < 1:
        raise TerrainError(f"a terrain needs at least one cell, got {size[0]} x {size[1]}")


def _check_heights(height: tuple[float, float]) -> None:
    low, high = height
    if not -math.inf < low <= high < math.inf:
        raise TerrainError(f"heights from {low} to {high} m were asked for, expected the lower one first")


def terrain_of(heights: np.ndarray, cell: float) -> Terrain:
    """A map whose cell (0, 0) is at the origin."""
    return Terrain(torch.from_numpy(np.ascontiguousarray(heights, np.float32)), torch.zeros(2), cell)
