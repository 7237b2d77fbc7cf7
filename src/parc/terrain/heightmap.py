"""What a walker sees of the ground: heights sampled on a grid that moves and turns with it.

Sample (a, b) of a grid at origin o with yaw t is the height of the cell under o + R(t) (x_a, y_b); off the map the
nearest cell's. All index tensors live on the device, so sampling can be captured in a CUDA graph.
"""

from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor

from parc.errors import TerrainError
from parc.terrain.terrain import Terrain, TerrainBatch


@dataclass(frozen=True)
class HeightmapGrid:
    """Samples in the heading frame (x forward, y left); the default is the paper's 31 x 31 of the generator."""

    x: tuple[float, float] = (-2.0, 4.0)
    """first and last sample along the heading, m"""
    y: tuple[float, float] = (-3.0, 3.0)
    """first and last sample across the heading, m"""
    shape: tuple[int, int] = (31, 31)
    """number of samples along and across"""

    def __post_init__(self) -> None:
        if min(self.shape) < 1:
            raise TerrainError(f"a heightmap needs at least one sample, got {self.shape[0]} x {self.shape[1]}")

    @property
    def spacing(self) -> tuple[float, float]:
        """Distance between samples along and across, m."""
        along, across = ((last - first) / max(n - 1, 1) for (first, last), n in zip((self.x, self.y), self.shape, strict=True))
        return along, across


@cache  # captured graphs read these tensors, so none may be dropped
def grid_points(grid: HeightmapGrid, device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32) -> Tensor:
    """Samples [nx, ny, 2] in the heading frame; kept for the next call, so write to a copy."""
    lines = (
        torch.linspace(first, last, n, device=device, dtype=dtype)
        for (first, last), n in zip((grid.x, grid.y), grid.shape, strict=True)
    )
    return torch.stack(torch.meshgrid(*lines, indexing="ij"), -1)


def grid_world_xy(grid: HeightmapGrid, origin_xy: Tensor, yaw: Tensor) -> Tensor:
    """Samples in the world [..., nx, ny, 2] for origins [..., 2] and yaws [...] (rad)."""
    x, y = grid_points(grid, origin_xy.device, origin_xy.dtype).unbind(-1)
    cos, sin = torch.cos(yaw)[..., None, None], torch.sin(yaw)[..., None, None]
    turned = torch.stack([cos * x - sin * y, sin * x + cos * y], -1)
    return origin_xy[..., None, None, :] + turned


def sample_heightmap(terrain: Terrain | TerrainBatch, grid: HeightmapGrid, origin_xy: Tensor, yaw: Tensor) -> Tensor:
    """Heights (world z, m) [..., nx, ny] around origins [..., 2] with yaws [...].

    For a TerrainBatch of N the leading dimension is N: origins [N, ..., 2], each row on its own terrain.
    """
    return heights_at(terrain, grid_world_xy(grid, origin_xy, yaw))


def relative_heightmap(heights: Tensor, z: Tensor, limit: float = 3.0) -> Tensor:
    """Heights [..., nx, ny] above z [...], kept within +-limit m (the paper: root height, 3 m)."""
    return (heights - z[..., None, None]).clamp(-limit, limit)


def heights_at(terrain: Terrain | TerrainBatch, xy: Tensor) -> Tensor:
    """Height [...] under points [..., 2] of one terrain, or [N, ...] under [N, ..., 2] of N; off the map the nearest cell's."""
    if isinstance(terrain, Terrain):
        return terrain.height_at(xy)
    if xy.shape[0] != terrain.count:
        raise TerrainError(f"points have shape {list(xy.shape)}, expected [{terrain.count}, ..., 2], a row a terrain")
    inner = (1,) * (xy.dim() - 2)
    ij = torch.floor((xy - terrain.min_point.view(-1, *inner, 2)) / terrain.cell + 0.5).long()
    ij = ij.clamp_min(0).minimum(terrain.size.view(-1, *inner, 2) - 1)
    flat = ij[..., 0] * terrain.heights.shape[2] + ij[..., 1]
    return terrain.heights.flatten(1).gather(1, flat.flatten(1)).view(xy.shape[:-1])
