"""Changing terrains. Every function returns a new one; cells are named by index, regions by corners [from, to).

A height edit drops `bounds`: they belonged to the old ground. Moves, cuts and reflections carry them along.
"""

from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from parc.errors import TerrainError
from parc.terrain.terrain import Terrain

Corner = tuple[int, int]


def set_region(terrain: Terrain, start: Corner, stop: Corner, height: float) -> Terrain:
    """Cells start .. stop-1 at one height, m."""
    return _edited(terrain, start, stop, lambda region: torch.full_like(region, height))


def raise_region(terrain: Terrain, start: Corner, stop: Corner, by: float) -> Terrain:
    """Cells start .. stop-1 higher by `by` m; negative lowers them."""
    return _edited(terrain, start, stop, lambda region: region + by)


def lower_region(terrain: Terrain, start: Corner, stop: Corner, by: float) -> Terrain:
    """A rectangle of cells sunk by `by` m."""
    return raise_region(terrain, start, stop, -by)


def flatten_region(terrain: Terrain, start: Corner, stop: Corner) -> Terrain:
    """Cells start .. stop-1 at their mean height."""
    return _edited(terrain, start, stop, lambda region: region.mean().expand_as(region))


def max_pool(terrain: Terrain, radius: int = 1) -> Terrain:
    """Each cell takes the highest within `radius` cells (Chebyshev): walls grow, gaps narrower than 2 radius + 1 close."""
    if radius < 0:
        raise TerrainError(f"the radius of a max-pool is {radius} cells, expected 0 or more")
    pooled = F.max_pool2d(terrain.heights[None], 2 * radius + 1, stride=1, padding=radius)[0]
    return replace(terrain, heights=pooled, bounds=None)


def pad(terrain: Terrain, cells: int, height: float | None = None) -> Terrain:
    """`cells` more on every side, at `height` m or at the height of the nearest cell; the old cells stay where they are."""
    if cells < 0:
        raise TerrainError(f"cannot pad by {cells} cells, expected 0 or more")
    rows, columns = (torch.arange(-cells, n + cells, device=terrain.heights.device) for n in terrain.size)
    inner = _between(rows, terrain.size[0])[:, None] & _between(columns, terrain.size[1])
    rows, columns = rows.clamp(0, terrain.size[0] - 1), columns.clamp(0, terrain.size[1] - 1)
    heights = terrain.heights[rows][:, columns]
    if height is not None:
        heights = torch.where(inner, heights, height)
    bounds = None
    if terrain.bounds is not None:
        bounds = torch.where(inner[..., None], terrain.bounds[rows][:, columns], heights[..., None])
    return Terrain(heights, terrain.min_point - cells * terrain.cell, terrain.cell, bounds)


def crop(terrain: Terrain, start: Corner, stop: Corner) -> Terrain:
    """Only cells start .. stop-1, where they are."""
    _check_region(terrain, start, stop)
    region = slice(start[0], stop[0]), slice(start[1], stop[1])
    corner = terrain.min_point.new_tensor(start)
    bounds = None if terrain.bounds is None else terrain.bounds[region].clone()
    return Terrain(terrain.heights[region].clone(), terrain.min_point + terrain.cell * corner, terrain.cell, bounds)


def moved(terrain: Terrain, shift: Tensor) -> Terrain:
    """Shifted by [2] (in the plane) or [3], m."""
    if shift.shape not in ((2,), (3,)):
        raise TerrainError(f"a shift has shape {list(shift.shape)}, expected [2] or [3]")
    rise = shift[2] if len(shift) == 3 else 0.0
    bounds = None if terrain.bounds is None else terrain.bounds + rise
    return replace(terrain, heights=terrain.heights + rise, min_point=terrain.min_point + shift[:2], bounds=bounds)


def recentred(terrain: Terrain) -> Terrain:
    """Moved in the plane so that the middle of the map is at the origin."""
    low, high = terrain.extent
    return moved(terrain, -0.5 * (low + high))


def mirrored(terrain: Terrain) -> Terrain:
    """Reflected in the plane y = 0, like `parc.character.mirror_pose` does with bodies; twice is the identity."""
    x, y = terrain.min_point
    last = y + terrain.cell * (terrain.size[1] - 1)
    bounds = None if terrain.bounds is None else terrain.bounds.flip(1)
    return Terrain(terrain.heights.flip(1), torch.stack([x, -last]), terrain.cell, bounds)


def _edited(terrain: Terrain, start: Corner, stop: Corner, change) -> Terrain:
    _check_region(terrain, start, stop)
    heights = terrain.heights.clone()
    region = heights[start[0] : stop[0], start[1] : stop[1]]
    region.copy_(change(region.clone()))
    return replace(terrain, heights=heights, bounds=None)


def _check_region(terrain: Terrain, start: Corner, stop: Corner) -> None:
    inside = all(0 <= a < b <= n for a, b, n in zip(start, stop, terrain.size, strict=True))
    if not inside:
        raise TerrainError(f"cells {start} to {stop} are not a region of a map of {terrain.size[0]} x {terrain.size[1]} cells")


def _between(index: Tensor, count: int) -> Tensor:
    return (index >= 0) & (index < count)
