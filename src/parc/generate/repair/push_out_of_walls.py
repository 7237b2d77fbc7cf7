"""A root does not go through walls: where a plan takes it into one, the body is put back beside the wall.

The root is the middle of the pelvis, so a true motion never has it inside the ground. A body that has fallen into a slot and is
asked to go on would otherwise creep into the wall, and once inside it nothing tells it the way out.
"""

from torch import Tensor
from torch.nn.functional import pad

from parc.terrain.terrain import TerrainBatch
from parc.terrain.terrain_distance import nearest_local


def push_out_of_walls(root_pos: Tensor, terrain: TerrainBatch) -> Tensor:
    """[B, T, 3] horizontal shifts that bring roots [B, T, 3] out of walls; B / N rows in turn are on each of N terrains."""
    distance, normal = nearest_local(terrain, root_pos.unflatten(0, (terrain.count, -1)))
    return pad(-distance.clamp_max(0).unsqueeze(-1) * normal[..., :2], (0, 1)).flatten(0, 1)
