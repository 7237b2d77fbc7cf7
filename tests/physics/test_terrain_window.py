"""The window under a root, against the terrain's own lookup."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from parc.physics.mujoco_model import HALF_HEIGHT, WINDOW
from parc.physics.terrain_window import window_boxes
from parc.terrain.terrain import Terrain, TerrainBatch


def bank(cell: float = 0.4) -> TerrainBatch:
    g = torch.Generator().manual_seed(3)
    return TerrainBatch.stack(
        [Terrain(torch.rand(*size, generator=g), torch.randn(2, generator=g), cell) for size in ((5, 9), (12, 4), (1, 1))]
    )


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2), st.floats(-8, 8), st.floats(-8, 8), st.sampled_from([0.4, 0.25]))
def test_boxes_are_the_cells_around_the_root(row, x, y, cell):
    terrains, root = bank(cell), torch.tensor([[x, y]], dtype=torch.float64)
    boxes = window_boxes(terrains, torch.tensor([row]), root)[0]
    assert boxes.shape == (WINDOW * WINDOW, 3)
    centres = boxes[:, :2].float()
    terrain = terrains[row]
    assert torch.allclose(boxes[:, 2].float() + HALF_HEIGHT, terrain.height_at(centres), atol=1e-6)
    grid = (boxes[:, :2] - terrain.min_point.double()) / cell
    assert torch.allclose(grid, grid.round(), atol=1e-9)
    middle = boxes[WINDOW * WINDOW // 2, :2]
    assert (root[0] - middle).abs().max() <= cell / 2 + 1e-9
    assert len({tuple(c) for c in grid.round().long().tolist()}) == WINDOW * WINDOW


def test_worlds_look_up_their_own_terrain():
    terrains, rows = bank(), torch.tensor([2, 0, 1, 0])
    root = torch.tensor([[0.0, 0], [1, 1], [2, 0], [-1, 2]])
    together = window_boxes(terrains, rows, root)
    for i in range(4):
        assert torch.equal(together[i : i + 1], window_boxes(terrains, rows[i : i + 1], root[i : i + 1]))
