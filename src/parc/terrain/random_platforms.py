"""Platforms: a chain of towers over a deep floor, from a landing to a landing, that only leaps can cross.

Each tower stands beside the one before it, a gap farther along the way, and the two overlap by at least a cell across the way.
So the narrowest place between them is exactly the gap, and no tower is nearer to an earlier one than its gap is wide. Gaps are
whole cells. A tower is `width` cells across the way and `run_up` cells along it: the room to run before the next leap.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from parc.errors import TerrainError
from parc.terrain.procedural_terrain import terrain_of
from parc.terrain.terrain import CELL, Terrain

_MARGIN = 2
"""cells of floor around the chain"""
_TRIES = 100
"""layouts of a chain that turns into itself"""
_ROUNDING = 1e-6
"""A gap of 1.2 m over cells of 0.4 m is 2.9999999999999996 cells."""

Cell = tuple[int, int]


@dataclass(frozen=True)
class RandomPlatforms:
    """A chain of towers with gaps between them, over a floor too deep to climb out of."""

    count: int = 5
    """gaps, one after another"""
    gaps: tuple[float, float] = (0.4, 2.8)
    """narrowest and widest gap, m; gaps are whole cells"""
    width: tuple[int, int] = (1, 4)
    """narrowest and widest tower across the way, cells"""
    run_up: tuple[int, int] = (1, 8)
    """shortest and longest tower along the way, cells"""
    rise: tuple[float, float] = (-0.8, 0.8)
    """height of a tower over the one before it, m"""
    depth: tuple[float, float] = (2.2, 5.0)
    """depth of the floor under the lowest tower, m; from a pit deeper than 2.1 m no planned path climbs out"""
    turn: float = 0.25
    """chance that the way turns left or right at a tower"""
    landing: int = 4
    """side of the first and of the last platform, cells"""
    cell: float = CELL
    """side of a cell, m"""


REACHABLE = RandomPlatforms(gaps=(0.4, 2.4), rise=(-0.8, 0.5))
"""what the path planner can leap with its usual settings: 3 m from centre to centre of a cell, up to 0.5 m up"""


class PlatformChain(NamedTuple):
    """Platforms one after the other, and the way over them."""

    terrain: Terrain
    start: Cell
    """the middle of the first platform"""
    goal: Cell
    """the middle of the last one"""


class _Tower(NamedTuple):
    low: Cell
    high: Cell
    """one past the last cell"""

    def is_nearer(self, other: "_Tower", cells: int) -> bool:
        """Less than `cells` cells lie between the two, along both axes."""
        return all(self.low[k] - other.high[k] < cells and other.low[k] - self.high[k] < cells for k in (0, 1))

    @property
    def middle(self) -> Cell:
        return (self.low[0] + self.high[0]) // 2, (self.low[1] + self.high[1]) // 2


def platform_chain(settings: RandomPlatforms, generator: np.random.Generator) -> PlatformChain:
    """Landing, towers, landing; heights are a random walk from 0, the floor lies below the lowest of them."""
    gaps = _gap_cells(settings)
    for _ in range(_TRIES):
        towers = _layout(settings, gaps, generator)
        if towers is not None:
            break
    else:
        raise TerrainError(
            f"{settings.count} gaps with turns at {100 * settings.turn:g} % of the towers have no layout; turn less"
        )
    tops = np.concatenate([[0.0], generator.uniform(*settings.rise, settings.count).cumsum()])
    floor = tops.min() - generator.uniform(*settings.depth)
    corner = [min(tower.low[k] for tower in towers) - _MARGIN for k in (0, 1)]
    size = [max(tower.high[k] for tower in towers) + _MARGIN - corner[k] for k in (0, 1)]
    heights = np.full(size, floor, np.float32)
    for tower, top in zip(towers, tops, strict=True):
        (i, j), (k, m) = ((end[0] - corner[0], end[1] - corner[1]) for end in tower)
        heights[i:k, j:m] = top
    start, goal = ((c[0] - corner[0], c[1] - corner[1]) for c in (towers[0].middle, towers[-1].middle))
    return PlatformChain(terrain_of(heights, settings.cell), start, goal)


def _layout(settings: RandomPlatforms, gaps: tuple[int, int], generator: np.random.Generator) -> list[_Tower] | None:
    """Towers in order; None where the chain runs into itself."""
    towers = [_Tower((0, 0), (settings.landing, settings.landing))]
    axis, sign = int(generator.integers(2)), 1 if generator.random() < 0.5 else -1
    for k in range(settings.count):
        if generator.random() < settings.turn:
            axis, sign = 1 - axis, 1 if generator.random() < 0.5 else -1
        gap = int(generator.integers(*gaps, endpoint=True))
        is_last = k == settings.count - 1
        along = settings.landing if is_last else int(generator.integers(*settings.run_up, endpoint=True))
        across = settings.landing if is_last else int(generator.integers(*settings.width, endpoint=True))
        before = towers[-1]
        near = before.high[axis] + gap if sign > 0 else before.low[axis] - gap - along
        side = int(generator.integers(before.low[1 - axis] - across + 1, before.high[1 - axis]))
        low, size = ((near, side), (along, across)) if axis == 0 else ((side, near), (across, along))
        tower = _Tower(low, (low[0] + size[0], low[1] + size[1]))
        if any(tower.is_nearer(other, gap) for other in towers[:-1]):
            return None
        towers.append(tower)
    return towers


def _gap_cells(settings: RandomPlatforms) -> tuple[int, int]:
    """Narrowest and widest gap in cells, after a look at all settings."""
    s = settings
    if s.count < 1 or s.landing < 1:
        raise TerrainError(f"cannot build {s.count} gaps between landings of {s.landing} cells, expected at least 1 of each")
    for name, (low, high) in (("width", s.width), ("run_up", s.run_up)):
        if not 1 <= low <= high:
            raise TerrainError(f"{name} of towers is {low} to {high} cells, expected at least 1 and the smaller number first")
    for name, (least, most) in (("gaps", s.gaps), ("rise", s.rise), ("depth", s.depth)):
        if not -math.inf < least <= most < math.inf:
            raise TerrainError(f"{name} of platforms is {least} to {most} m, expected the smaller number first")
    if s.depth[0] <= 0 or not 0 <= s.turn <= 1:
        raise TerrainError(f"a floor {s.depth[0]} m deep and turns at {100 * s.turn:g} % of the towers cannot be built")
    cells = math.ceil(s.gaps[0] / s.cell - _ROUNDING), math.floor(s.gaps[1] / s.cell + _ROUNDING)
    if not 1 <= cells[0] <= cells[1]:
        raise TerrainError(f"no gap of {s.gaps[0]:g} to {s.gaps[1]:g} m is a whole number of cells of {s.cell:g} m")
    return cells
