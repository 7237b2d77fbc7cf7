"""The ground a script plays on: flat floor with a ledge, a wall or a ditch whose face is the plane x = 0."""

import math
from collections.abc import Callable

import torch

from parc.terrain.terrain import CELL, Terrain


def ledge(height: float, before: float, behind: float, side: float = 2.2) -> Terrain:
    """Floor at 0 for x < 0, a platform of `height` for x > 0; reaches `before`, `behind` and `side` m from the origin."""
    return _profile(before, behind, side, lambda x: height if x > 0 else 0.0)


def pit(height: float, before: float, behind: float, aside: float, side: float) -> Terrain:
    """A floor at 0 from x = `1 - before` m to 0 and `aside` m to both sides of y = 0, with all around it `height` m higher."""
    terrain = ledge(height, before, behind, side)
    x, y = (terrain.min_point[k] + CELL * torch.arange(n) for k, n in enumerate(terrain.heights.shape))
    around = (x < 1.0 - before).unsqueeze(1) | (y.abs() > aside)
    return Terrain(torch.where(around, torch.tensor(height), terrain.heights), terrain.min_point)


def flat(before: float, behind: float, side: float = 2.2) -> Terrain:
    """A floor at 0."""
    return _profile(before, behind, side, lambda x: 0.0)


def wall(height: float, thickness: int, before: float, behind: float, side: float = 2.2) -> Terrain:
    """A wall `thickness` cells deep from x = 0 on."""
    return _profile(before, behind, side, lambda x: height if 0 < x < thickness * CELL else 0.0)


def gap(height: float, cells: int, depth: float, before: float, behind: float, side: float = 2.2) -> Terrain:
    """A ledge with a ditch of so many cells before it, `depth` m under the floor."""
    return _profile(before, behind, side, lambda x: height if x > 0 else -depth if x > -cells * CELL else 0.0)


def drop(height: float, cells: int, depth: float, before: float, behind: float, side: float = 2.2) -> Terrain:
    """A platform of `height` for x < 0, then a ditch of so many cells, `depth` m under the floor at 0 behind it."""
    return _profile(before, behind, side, lambda x: height if x < 0 else -depth if x < cells * CELL else 0.0)


def _profile(before: float, behind: float, side: float, height: Callable[[float], float]) -> Terrain:
    first, last = math.ceil(before / CELL), math.ceil(behind / CELL)
    across = 2 * math.ceil(side / CELL) + 1
    row = torch.tensor([height((i + 0.5) * CELL) for i in range(-first, last)])
    low = torch.tensor([(0.5 - first) * CELL, -0.5 * (across - 1) * CELL])
    return Terrain(row.unsqueeze(1).expand(-1, across).contiguous(), low)
