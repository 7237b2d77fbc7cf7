"""From which side to look at a motion: across its direction of travel, and where the ground hides least of it."""

import math

import numpy as np
from numpy.typing import NDArray

from parc.path.terrain_path import TerrainPath
from parc.render.camera import direction_of
from parc.terrain.terrain import Terrain

ELEVATION = 24.0
"""degrees above the horizon for pictures of motions"""
_STEEPER = (40.0, 56.0, 72.0)
"""degrees, taken one after the other where the ground hides too much"""
_HIDDEN = 0.25
"""share of the body's places that may be hidden"""
_USUAL = -60.0
"""degrees; the sunny side, taken where nothing speaks for another"""


def hidden_share(terrain: Terrain, points: NDArray, azimuth: float, elevation: float = ELEVATION, reach: float = 8.0) -> float:
    """Share of `points` [N, 3] that the ground hides from a far eye in direction azimuth, elevation (degrees)."""
    towards = direction_of(azimuth, elevation)
    steps = np.arange(0.5 * terrain.cell, reach, 0.5 * terrain.cell)
    places = points[:, None] + steps[:, None] * towards
    heights, low = terrain.heights.detach().cpu().numpy(), terrain.min_point.detach().cpu().numpy()
    ij = np.floor((places[..., :2] - low) / terrain.cell + 0.5).astype(int)
    inside = ((ij >= 0) & (ij < heights.shape)).all(-1)
    ij = ij.clip(0, np.array(heights.shape) - 1)
    return float((inside & (heights[ij[..., 0], ij[..., 1]] > places[..., 2])).any(1).mean())


def best_azimuth(terrain: Terrain, pos: NDArray, elevation: float = ELEVATION) -> float:
    """Degrees from which body positions `pos` [T, B, 3] are best seen."""
    root = pos[:, 0, :2]
    spread = root - root.mean(0)
    values, vectors = np.linalg.eigh(spread.T @ spread / len(root))
    along = vectors[:, 1]
    elongated = 1 - math.sqrt(max(values[0], 0) / max(values[1], 1e-9)) if values[1] > 0.04 else 0.0
    sample = pos[:: max(len(pos) // 24, 1)].reshape(-1, 3)

    def cost(azimuth: float) -> float:
        a = math.radians(azimuth)
        end_on = abs(math.cos(a) * along[0] + math.sin(a) * along[1]) * elongated
        unusual = 0.5 - 0.5 * math.cos(a - math.radians(_USUAL))
        return 2.0 * hidden_share(terrain, sample, azimuth, elevation) + 0.8 * max(end_on - 0.35, 0) + 0.25 * unusual

    return min(np.arange(-180.0, 180.0, 15.0).tolist(), key=cost)


def clear_view(terrain: Terrain, pos: NDArray) -> tuple[float, float]:
    """Azimuth and elevation, degrees, for body positions `pos` [T, B, 3]; steeper than usual only where a pit asks for it."""
    sample = pos[:: max(len(pos) // 24, 1)].reshape(-1, 3)
    for elevation in (ELEVATION, *_STEEPER):
        azimuth = best_azimuth(terrain, pos, elevation)
        if hidden_share(terrain, sample, azimuth, elevation) <= _HIDDEN:
            break
    return azimuth, elevation


def overview_azimuth(terrain: Terrain, path: TerrainPath | None, elevation: float = 40.0) -> float:
    """Degrees of the corner from which most of a path is seen; the usual one where there is none."""
    if path is None:
        return _USUAL
    points = path.nodes.detach().cpu().double().numpy() + [0, 0, 0.1]
    corners = [_USUAL, _USUAL + 90, _USUAL - 90, _USUAL + 180]
    return min(corners, key=lambda a: hidden_share(terrain, points, a, elevation) + (0.0 if a == _USUAL else 0.05))
