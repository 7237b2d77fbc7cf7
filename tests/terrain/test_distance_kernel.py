"""The kernel against the plain search: on the GPU where there is one, else in Triton's interpreter."""

import pytest
import torch

from parc.terrain.terrain import Terrain, TerrainBatch
from parc.terrain.terrain_distance import local_distance, measure_local

CUDA = torch.cuda.is_available()


@pytest.fixture(scope="module")
def measure(triton_module):
    return triton_module("parc.terrain.distance_kernel").measure_on_gpu


def ground_and_points(seed: int) -> tuple[TerrainBatch, torch.Tensor]:
    """Four maps of different sizes, and points in, on, above and beside them."""
    random = torch.Generator().manual_seed(seed)
    terrains = []
    for rows, columns in ((1, 1), (3, 7), (8, 8), (5, 2)):
        heights = torch.randn(rows, columns, generator=random)
        terrains.append(Terrain(heights, torch.randn(2, generator=random)))
    batch = TerrainBatch.stack(terrains)
    points = []
    for terrain in terrains:
        low, high = terrain.extent
        spread = torch.rand(150, 3, generator=random)
        xy = low - 0.7 + (high - low + 1.4) * spread[:, :2]
        points.append(torch.cat([xy, 4 * spread[:, 2:] - 2], -1))
    return batch, torch.stack(points)


@pytest.mark.parametrize("wall", [False, True])
@pytest.mark.parametrize("reach", [1, 2])
def test_distance_and_gradient_are_those_of_the_plain_search(measure, wall, reach):
    batch, points = ground_and_points(reach)
    device = "cuda" if CUDA else "cpu"
    batch, points = batch.to(device), points.to(device)
    arguments = (points, batch.heights, batch.min_point, batch.size, batch.cell, reach, wall)
    expected, expected_normal = measure_local(*arguments, True)
    got, normal = measure(*arguments, True)
    torch.testing.assert_close(got, expected, atol=2e-6, rtol=0)
    # a point equally far from two cells has two gradients
    same = ((normal - expected_normal).norm(dim=-1) < 1e-3).float().mean()
    assert same > 0.99
    only, none = measure(*arguments, False)
    torch.testing.assert_close(only, got, atol=1e-6 if CUDA else 0, rtol=0)  # compiled apart, so rounded apart
    assert none.numel() == 0


def test_the_operator_is_well_formed():
    batch, points = ground_and_points(0)
    points.requires_grad_()
    arguments = (points, batch.heights, batch.min_point, batch.size, batch.cell, 1, False, True)
    torch.library.opcheck(local_distance, arguments)
