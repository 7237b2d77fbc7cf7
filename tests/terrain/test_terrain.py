import pytest
import torch

from parc.errors import TerrainError
from parc.terrain.terrain import Terrain, TerrainBatch


def test_cells_and_points():
    terrain = Terrain(torch.arange(12.0).view(3, 4), torch.tensor([1.0, -1.0]), 0.5)
    ij = torch.cartesian_prod(torch.arange(3), torch.arange(4))
    assert torch.equal(terrain.cell_of(terrain.centre_of(ij)), ij)
    assert torch.equal(terrain.height_at(terrain.centre_of(ij)), torch.arange(12.0))
    low, high = terrain.extent
    assert low.tolist() == [0.75, -1.25] and high.tolist() == [2.25, 0.75]
    assert (
        terrain.contains(torch.stack([low + 1e-3, high - 1e-3])).all()
        and not terrain.contains(torch.stack([low - 1e-3, high + 1e-3])).any()
    )
    assert terrain.height_at(torch.tensor([[-50.0, 50.0]])).item() == 3.0


def test_a_batch_gives_its_terrains_back():
    terrains = [Terrain(torch.randn(n, m), torch.randn(2), 0.3) for n, m in ((2, 5), (4, 1))]
    batch = TerrainBatch.stack(terrains)
    assert len(batch) == 2 and batch.heights.shape == (2, 4, 5)
    for one, other in zip(terrains, (batch[0], batch[1]), strict=True):
        assert torch.equal(one.heights, other.heights) and torch.equal(one.min_point, other.min_point) and other.cell == 0.3
    again = batch.select(torch.tensor([1, 0, 1]))
    assert torch.equal(again[2].heights, terrains[1].heights)
    assert (batch.heights[0, 2:] == batch.heights[0, 1]).all(), "padding repeats the last row"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: Terrain(torch.zeros(0, 3), torch.zeros(2)), "at least one cell"),
        (lambda: Terrain(torch.tensor([[0.0, float("inf")]]), torch.zeros(2)), r"cell \[0, 1\] is not finite"),
        (lambda: Terrain(torch.zeros(2, 2), torch.zeros(3)), "min_point"),
        (lambda: Terrain(torch.zeros(2, 2), torch.zeros(2), 0.0), "cell size is 0.0"),
        (lambda: Terrain(torch.zeros(2, 2), torch.zeros(2), 0.4, torch.zeros(2, 2)), "bounds"),
        (lambda: Terrain.flat((0, 1)), "0 x 1"),
        (lambda: TerrainBatch.stack([]), "at least one terrain"),
        (lambda: TerrainBatch.stack([Terrain.flat((1, 1)), Terrain.flat((1, 1), cell=0.2)]), "different cell sizes"),
    ],
)
def test_wrong_terrains_are_named(wrong, said):
    with pytest.raises(TerrainError, match=said):
        wrong()
