"""A body in a pit is looked at from above, on open ground from the usual height."""

import numpy as np
import torch

from parc.render.viewpoint import ELEVATION, clear_view, hidden_share
from parc.terrain import Terrain


def test_a_pit_is_looked_into() -> None:
    heights = torch.full((15, 15), 2.0)
    heights[6:9, 6:9] = 0.0
    pit = Terrain(heights, torch.zeros(2))
    body = np.array([[[2.8, 2.8, z] for z in (0.1, 0.9, 1.5)]] * 5)
    azimuth, elevation = clear_view(pit, body)
    assert elevation > ELEVATION
    assert hidden_share(pit, body.reshape(-1, 3), azimuth, elevation) < hidden_share(pit, body.reshape(-1, 3), azimuth)
    assert clear_view(Terrain.flat((15, 15)), body)[1] == ELEVATION
