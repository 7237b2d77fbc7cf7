"""Ground that carries: the floor and the tops of walls and their edges, but not their faces.

A body close to a wall is near the ground and yet has nothing to stand on: what it touches can push it sideways only. So how near
a point is to ground that could hold it up is asked of the way out of the ground there: it must point upwards.
"""

import torch
from torch import Tensor

from parc.terrain.terrain import Terrain, TerrainBatch
from parc.terrain.terrain_distance import Border, nearest_local

UPWARDS = 0.3
"""least height of a unit vector that points upwards: edges carry what is above them by a sixth of a right angle or more"""
NOTHING = 1.0
"""m, said of a point whose nearest ground carries nothing"""


def distances(terrain: Terrain | TerrainBatch, points: Tensor, border: Border = "open") -> tuple[Tensor, Tensor]:
    """Signed distances [...] of points [..., 3] ([N, ..., 3] on N terrains) to the ground, and to ground that carries.

    Exact up to a cell's width; the second is at least `NOTHING` where the nearest ground carries nothing.
    """
    distance, normal = nearest_local(terrain, points, 1, border)
    return distance, torch.where(normal[..., 2] > UPWARDS, distance, distance.clamp_min(NOTHING))


def carrying_distance(terrain: Terrain | TerrainBatch, points: Tensor, border: Border = "open") -> Tensor:
    """Distance of points [.., 3] to terrain that carries, m."""
    return distances(terrain, points, border)[1]
