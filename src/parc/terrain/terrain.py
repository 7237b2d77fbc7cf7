"""The ground: a 2.5D grid of boxes.

Cell (i, j) is a column of side `cell` centred at `min_point + cell * (i, j)`, solid from below up to `heights[i, j]`.
Outside the grid there is nothing (`parc.terrain.terrain_distance` says what that means for distances).
"""

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from parc.errors import TerrainError

CELL = 0.4
"""The paper's cell size, m."""
LEAST_CELL, MOST_CELL = 1e-4, 1e4
"""m"""
MOST_CELLS = 2**24
"""of a terrain that is made from a file: 1.6 km by 1.6 km of the paper's cells"""


@dataclass(frozen=True, eq=False)
class Terrain:
    """A map of columns: the height of each cell, and where the map lies."""

    heights: Tensor
    """[X, Y] top of each column, m"""
    min_point: Tensor
    """[2] centre of cell (0, 0), m"""
    cell: float = CELL
    """side of a cell, m"""
    bounds: Tensor | None = None
    """[X, Y, 2] highest and lowest height each cell may be given without touching the motion it belongs to, m"""

    def __post_init__(self) -> None:
        if self.heights.dim() != 2 or self.heights.numel() == 0:
            raise TerrainError(f"a terrain needs a grid of at least one cell, got heights of shape {list(self.heights.shape)}")
        if not torch.isfinite(self.heights).all():
            bad = (~torch.isfinite(self.heights)).nonzero()[0].tolist()
            raise TerrainError(f"the height of cell {bad} is not finite")
        if tuple(self.min_point.shape) != (2,) or not torch.isfinite(self.min_point).all():
            raise TerrainError("min_point must be two finite numbers")
        if not LEAST_CELL <= self.cell <= MOST_CELL:
            raise TerrainError(f"the cell size is {str(self.cell)[:20]}, expected {LEAST_CELL:g} to {MOST_CELL:g} m")
        if self.bounds is not None and tuple(self.bounds.shape) != (*self.heights.shape, 2):
            raise TerrainError(f"bounds have shape {list(self.bounds.shape)}, expected {[*self.heights.shape, 2]}")

    @classmethod
    def flat(cls, size: tuple[int, int], height: float = 0.0, cell: float = CELL) -> "Terrain":
        """Level ground of so many cells."""
        if min(size) < 1:
            raise TerrainError(f"a terrain needs at least one cell, got {size[0]} x {size[1]}")
        return cls(torch.full(size, float(height)), torch.zeros(2), cell)

    @property
    def size(self) -> tuple[int, int]:
        """Cells along x and y."""
        return self.heights.shape[0], self.heights.shape[1]

    @property
    def extent(self) -> tuple[Tensor, Tensor]:
        """Lower and upper corner of the map in the plane, [2] each; half a cell beyond the outermost centres."""
        low = self.min_point - 0.5 * self.cell
        return low, low + self.cell * torch.tensor(self.size, device=low.device, dtype=low.dtype)

    def cell_of(self, xy: Tensor) -> Tensor:
        """Index [..., 2] of the cell that holds a point [..., 2]; may lie off the grid."""
        return torch.floor((xy - self.min_point) / self.cell + 0.5).long()

    def contains(self, xy: Tensor) -> Tensor:
        """Which points lie within the terrain."""
        ij = self.cell_of(xy)
        return ((ij >= 0) & (ij < torch.tensor(self.size, device=ij.device))).all(-1)

    def centre_of(self, ij: Tensor) -> Tensor:
        """Centre [..., 2] of cells [..., 2]."""
        return self.min_point + self.cell * ij

    def height_at(self, xy: Tensor) -> Tensor:
        """Height [...] under points [..., 2]; points off the grid take the nearest cell's."""
        ij = self.cell_of(xy)
        i = ij[..., 0].clamp(0, self.size[0] - 1)
        j = ij[..., 1].clamp(0, self.size[1] - 1)
        return self.heights[i, j]

    def with_heights(self, heights: Tensor) -> "Terrain":
        """The same place with other heights."""
        return replace(self, heights=heights)

    def to(self, device: torch.device | str) -> "Terrain":
        """The same terrain with its tensors on a device."""
        bounds = None if self.bounds is None else self.bounds.to(device)
        return replace(self, heights=self.heights.to(device), min_point=self.min_point.to(device), bounds=bounds)


@dataclass(frozen=True, eq=False)
class TerrainBatch:
    """Terrains of one cell size side by side, padded to the largest grid."""

    heights: Tensor
    """[N, X, Y]; padding repeats the last row and column"""
    min_point: Tensor
    """[N, 2]"""
    size: Tensor
    """[N, 2] cells that are real"""
    cell: float = CELL

    @classmethod
    def stack(cls, terrains: list[Terrain]) -> "TerrainBatch":
        """Terrains of different sizes as one batch."""
        if not terrains:
            raise TerrainError("a batch needs at least one terrain")
        cells = {round(t.cell, 6) for t in terrains}
        if len(cells) > 1:
            raise TerrainError(f"terrains of different cell sizes cannot be batched: {sorted(cells)}")
        widest = (max(t.size[0] for t in terrains), max(t.size[1] for t in terrains))
        return cls(
            heights=torch.stack([_pad(t.heights, widest) for t in terrains]),
            min_point=torch.stack([t.min_point for t in terrains]),
            size=torch.tensor([t.size for t in terrains], device=terrains[0].heights.device),
            cell=terrains[0].cell,
        )

    def __len__(self) -> int:
        return self.heights.shape[0]

    @property
    def count(self) -> int:
        """N, which a trace of changing shapes keeps as a symbol: `len` makes it a number."""
        return self.heights.shape[0]

    def __getitem__(self, index: int) -> Terrain:
        x, y = self.size[index].tolist()
        return Terrain(self.heights[index, :x, :y], self.min_point[index], self.cell)

    def height_at(self, xy: Tensor) -> Tensor:
        """Height [N, ...] under points [N, ..., 2]; points off the grid take the nearest cell's. No host sync."""
        lead = [1] * (xy.dim() - 2)
        ij = torch.floor((xy - self.min_point.view(-1, *lead, 2)) / self.cell + 0.5).long()
        ij = torch.minimum(ij.clamp_min(0), self.size.view(-1, *lead, 2) - 1)
        flat = (ij[..., 0] * self.heights.shape[2] + ij[..., 1]).flatten(1)
        return self.heights.flatten(1).gather(1, flat).view(xy.shape[:-1])

    def select(self, rows: Tensor) -> "TerrainBatch":
        """Terrains `rows` [M], repeated as often as they are named."""
        return replace(self, heights=self.heights[rows], min_point=self.min_point[rows], size=self.size[rows])

    def put(self, rows: Tensor, others: "TerrainBatch") -> None:
        """Other terrains [K] into rows [K], in place; they are padded to the same grid."""
        parts = ((self.heights, others.heights), (self.min_point, others.min_point), (self.size, others.size))
        for own, part in parts:
            own.index_copy_(0, rows, part)

    def to(self, device: torch.device | str) -> "TerrainBatch":
        """The same batch with its tensors on a device."""
        return replace(self, heights=self.heights.to(device), min_point=self.min_point.to(device), size=self.size.to(device))


def _pad(heights: Tensor, widest: tuple[int, int]) -> Tensor:
    rows = torch.arange(widest[0], device=heights.device).clamp_max(heights.shape[0] - 1)
    columns = torch.arange(widest[1], device=heights.device).clamp_max(heights.shape[1] - 1)
    return heights[rows][:, columns]


def _open_batch(terrain: TerrainBatch) -> tuple[list[Tensor], float]:
    return [terrain.heights, terrain.min_point, terrain.size], terrain.cell


def _close_batch(parts: Any, cell: Any) -> TerrainBatch:
    heights, min_point, size = parts
    return TerrainBatch(heights, min_point, size, cell)


# a tree of tensors, so that compiled functions take it as an argument (`parc.run.compile_traced`)
pytree.register_pytree_node(TerrainBatch, _open_batch, _close_batch, serialized_type_name="parc.TerrainBatch")
