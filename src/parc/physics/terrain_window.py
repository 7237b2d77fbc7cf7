"""The ground under a character: a 7 x 7 window of boxes that follows the root, cell by cell.

At every control step the window is centred on the root's grid cell and each of its boxes gets the height of the cell it stands
for. Boxes sit exactly on the terrain's grid, so a character cannot tell the window from the whole map; what lies
beyond (1.2 m and more from the root's cell) it cannot reach within a step.

Off the map the nearest cell's height goes on, as in `Terrain.height_at`: the ground never ends under a character.
"""

from functools import cache

import torch
from torch import Tensor

from parc.physics.mujoco_model import HALF_HEIGHT, WINDOW
from parc.terrain.terrain import TerrainBatch


@cache  # captured graphs read these tensors, so none may be dropped
def _offsets(device: torch.device) -> Tensor:
    """[49, 2] cells of the window relative to its middle, in the order of the model's geoms."""
    with torch.inference_mode(False):  # the cache outlives the caller's mode
        steps = torch.arange(WINDOW, device=device) - WINDOW // 2
        return torch.cartesian_prod(steps, steps)


def window_boxes(bank: TerrainBatch, row: Tensor, root_xy: Tensor) -> Tensor:
    """Centres [N, 49, 3] of the boxes for roots at root_xy [N, 2] on the terrains `row` [N] of the bank.

    In the precision of root_xy; no host sync once called on a device.
    """
    low = bank.min_point.to(root_xy.dtype).index_select(0, row)
    middle = torch.floor((root_xy - low) / bank.cell + 0.5).long()
    ij = middle.unsqueeze(1) + _offsets(root_xy.device)
    centre = low.unsqueeze(1) + bank.cell * ij.to(root_xy.dtype)
    last = bank.size.index_select(0, row).unsqueeze(1) - 1
    inside = torch.minimum(ij.clamp_min(0), last)
    columns, rows = bank.heights.shape[2], bank.heights.shape[1]
    flat = (row.unsqueeze(1) * rows + inside[..., 0]) * columns + inside[..., 1]
    top = bank.heights.flatten()[flat].to(root_xy.dtype)
    return torch.cat([centre, (top - HALF_HEIGHT).unsqueeze(-1)], -1)
