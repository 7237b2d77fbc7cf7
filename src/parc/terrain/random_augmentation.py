"""Changing the ground around a motion without touching it.

`height_bounds` finds how high and how low each cell may be. A surface point of the body at height z over a cell, or within
`margin` beside it, caps the cell at z - margin (points are samples of the surface: the margin covers what lies between
them, and between frames). A cell is never asked to be lower than it is, and a cell the body stands on or leans against
keeps its height. Where the motion already penetrates the terrain, the cell through which the way out is shortest may not
rise, so the way stays as short as it was. Hence the law: no terrain within the bounds makes any point's penetration deeper, for
either border of `parc.terrain.terrain_distance`.

`random_boxes_on_grid` fills those bounds with randomly turned boxes (the paper's terrain augmentation), batched.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from parc.errors import TerrainError
from parc.terrain.terrain import Terrain
from parc.terrain.terrain_distance import signed_distance


@dataclass(frozen=True)
class BoundSettings:
    """How much room a motion keeps from terrain that may be changed."""

    margin: float = 0.1
    """free space kept around the body's surface points, m"""
    support: float = 0.05
    """a cell with a point this near to it carries the body, m"""
    reach: float = 3.0
    """how far cells no motion comes near may rise above the highest and sink below the lowest cell, m"""


@dataclass(frozen=True)
class BoxAugmentation:
    """Random boxes put where a motion is not."""

    boxes: tuple[int, int] = (0, 4)
    """fewest and most boxes on a map"""
    side: tuple[float, float] = (2.0, 12.0)
    """shortest and longest side of a box, cells"""
    height: tuple[float, float] = (-2.0, 2.0)
    """lowest and highest top of a box above the ground at its centre, m"""

    def __post_init__(self) -> None:
        for name, (least, most) in (("boxes", self.boxes), ("side", self.side), ("height", self.height)):
            if least > most:
                raise TerrainError(f"the range of {name} is {least} to {most}, expected the smaller value first")
        if self.boxes[0] < 0 or self.side[0] <= 0:
            raise TerrainError(f"cannot place {self.boxes[0]} boxes with a side of {self.side[0]} cells")


_TOUCHING = 1e-3
"""m; a way out ends on the edge of a cell, on which side of it is a matter of rounding"""
DEFAULT_BOUNDS = BoundSettings()
DEFAULT_BOXES = BoxAugmentation()


def height_bounds(terrain: Terrain, swept_points: Tensor, settings: BoundSettings = DEFAULT_BOUNDS) -> Tensor:
    """Highest and lowest height [X, Y, 2] of each cell for the surface points [T, P, 3] of a motion, m."""
    points = swept_points.detach().reshape(-1, 3)
    heights = terrain.heights.flatten()
    low_xy, high_xy = terrain.extent
    over_map = torch.cat([points[:, :2].clamp(low_xy, high_xy), points[:, 2:]], -1)

    highest = torch.full_like(heights, float(heights.max()) + settings.reach)
    lowest = torch.full_like(heights, float(heights.min()) - settings.reach)
    carries = torch.zeros_like(heights, dtype=torch.bool)

    def cap(cells: Tensor, gap: Tensor, z: Tensor) -> None:
        near = gap <= settings.margin
        highest.scatter_reduce_(0, cells, torch.where(near, z - settings.margin, torch.inf), "amin")
        away = torch.hypot(gap, (z - heights[cells]).clamp_min(0))
        carries.index_fill_(0, cells[away <= settings.support], True)

    _visit(terrain, over_map, max(settings.margin, settings.support), cap)

    def hold(cells: Tensor, gap: Tensor, z: Tensor) -> None:
        highest.index_fill_(0, cells[gap <= _TOUCHING], -torch.inf)

    _visit(terrain, _ways_out(terrain, points), _TOUCHING, hold)

    highest = torch.where(carries, heights, torch.maximum(highest, heights))
    lowest = torch.where(carries, heights, lowest)
    return torch.stack([highest, lowest], -1).view(*terrain.size, 2)


def add_random_boxes(
    terrain: Terrain, bounds: Tensor, generator: torch.Generator, settings: BoxAugmentation = DEFAULT_BOXES
) -> Terrain:
    """Randomly turned boxes on a terrain, kept within bounds [X, Y, 2] (highest, lowest)."""
    if tuple(bounds.shape) != (*terrain.size, 2):
        raise TerrainError(f"bounds have shape {list(bounds.shape)}, expected {[*terrain.size, 2]}")
    high, low = bounds.unbind(-1)
    heights = random_boxes_on_grid(terrain.heights[None], low[None], high[None], generator, settings)[0]
    return Terrain(heights, terrain.min_point, terrain.cell, bounds)


def random_boxes_on_grid(
    base: Tensor, low: Tensor, high: Tensor, generator: torch.Generator, settings: BoxAugmentation = DEFAULT_BOXES
) -> Tensor:
    """Boxes on B maps [B, X, Y] at once, each kept within its own low and high [B, X, Y].

    Only tensor operations of fixed shape, on the device of `base` and `generator`: to capture it in a CUDA graph, register
    the generator's state with the graph.
    """
    batch, rows, columns = base.shape
    heights = base
    i = torch.arange(rows, device=base.device, dtype=base.dtype)[:, None]
    j = torch.arange(columns, device=base.device, dtype=base.dtype)
    most = settings.boxes[1]
    drawn = torch.rand(batch, 1 + 6 * most, device=base.device, dtype=base.dtype, generator=generator)
    boxes = settings.boxes[0] + torch.floor(drawn[:, :1] * (most + 1 - settings.boxes[0]))
    for k in range(most):
        x, y, length, width, turn, top = drawn[:, 1 + 6 * k : 7 + 6 * k].T.reshape(6, batch, 1, 1)
        x, y = x * (rows - 1), y * (columns - 1)
        cos, sin = torch.cos(torch.pi * turn), torch.sin(torch.pi * turn)
        along, across = cos * (i - x) + sin * (j - y), cos * (j - y) - sin * (i - x)
        covered = (along.abs() <= 0.5 * _within(settings.side, length)) & (across.abs() <= 0.5 * _within(settings.side, width))
        covered &= (boxes > k)[:, :, None]
        centre = (x.round() * columns + y.round()).long().view(batch, 1)
        ground = base.flatten(1).gather(1, centre).view(batch, 1, 1)
        heights = torch.where(covered, ground + _within(settings.height, top), heights)
    return torch.maximum(torch.minimum(heights, high), low)


def _ways_out(terrain: Terrain, points: Tensor) -> Tensor:
    """For each point in the ground, or off the map, the nearest air above a cell, [M, 3]."""
    with torch.enable_grad():
        leaf = points.clone().requires_grad_()
        distance = signed_distance(terrain, leaf, border="wall")
        (normal,) = torch.autograd.grad(distance.sum(), leaf)
    distance = distance.detach()
    inside = distance < 0
    return (points - distance[:, None] * normal)[inside]


def _within(limits: tuple[float, float], share: Tensor) -> Tensor:
    return limits[0] + (limits[1] - limits[0]) * share


def _visit(terrain: Terrain, points: Tensor, radius: float, see: Callable[[Tensor, Tensor, Tensor], None]) -> None:
    """Show every cell within `radius` of every point: `see(flat cell index [M], horizontal gap [M], z [M])`, an offset at a time.

    Around the map the nearest real cell is shown again, with its own gap.
    """
    rows, columns = terrain.size
    reach = int(radius / terrain.cell) + 1
    own = terrain.cell_of(points[:, :2])
    for a in range(-reach, reach + 1):
        for b in range(-reach, reach + 1):
            i, j = (own[:, 0] + a).clamp(0, rows - 1), (own[:, 1] + b).clamp(0, columns - 1)
            away = (points[:, :2] - terrain.centre_of(torch.stack([i, j], -1))).abs() - 0.5 * terrain.cell
            see(i * columns + j, away.clamp_min(0).norm(dim=-1), points[:, 2])
