"""Ground that carries, against the nearest point of all columns found by brute force."""

import pytest
import torch
from torch import Tensor

from parc.terrain.carrying_surface import NOTHING, UPWARDS, carrying_distance, distances
from parc.terrain.terrain import Terrain, TerrainBatch

CELL = 0.4


def step() -> Terrain:
    """Floor at 0 and from x = 1.0 on a block 2 m high."""
    heights = torch.zeros(6, 3)
    heights[3:] = 2.0
    return Terrain(heights, torch.zeros(2), CELL)


@pytest.mark.parametrize(
    ("point", "carries"),
    [
        ((0.4, 0.4, 0.03), True),  # above the floor
        ((1.4, 0.4, 2.03), True),  # above the block
        ((0.98, 0.4, 1.0), False),  # beside its face
        ((0.98, 0.4, 1.99), False),  # beside its face, below the edge
        ((0.99, 0.4, 2.02), True),  # over the edge
        ((0.95, 0.4, 2.005), False),  # beside the edge
        ((1.4, 0.4, 1.99), True),  # sunk into the top
        ((1.02, 0.4, 1.0), False),  # sunk into the face
    ],
)
def test_floors_tops_and_edges_carry_and_faces_do_not(point: tuple[float, float, float], carries: bool) -> None:
    distance, carrying = distances(step(), torch.tensor([point]))
    assert abs(distance.item()) < 0.06
    assert carrying.item() == (distance.item() if carries else NOTHING)


def way_out(terrain: Terrain, points: Tensor) -> Tensor:
    """Unit vector from the nearest point of any column to each point [M, 3] in the air."""
    ij = torch.cartesian_prod(*(torch.arange(n) for n in terrain.size)).view(-1, 2)
    centres = terrain.min_point + terrain.cell * ij
    flat = torch.minimum(torch.maximum(points[:, None, :2], centres - CELL / 2), centres + CELL / 2)
    top = torch.minimum(points[:, None, 2], terrain.heights.flatten())
    away = points[:, None] - torch.cat([flat, top.unsqueeze(-1)], -1)
    nearest = away.norm(dim=-1).argmin(1)
    found = away[torch.arange(len(points)), nearest]
    return found / found.norm(dim=-1, keepdim=True)


def test_what_carries_is_below_the_nearest_point_by_brute_force() -> None:
    generator = torch.Generator().manual_seed(0)
    terrains = [Terrain(torch.randn(7, 9, generator=generator).double(), torch.zeros(2).double(), CELL) for _ in range(5)]
    extent = torch.tensor([6 * CELL, 8 * CELL, 0.0]).double()
    points = torch.rand(5, 2000, 3, generator=generator).double() * extent
    points[..., 2] = 2.5 * torch.randn(5, 2000, generator=generator).double()
    distance, carrying = distances(TerrainBatch.stack(terrains), points)
    seen = 0
    for terrain, p, d, c in zip(terrains, points, distance, carrying, strict=True):
        near = (d > 1e-6) & (d < CELL)
        height = way_out(terrain, p[near])[:, 2]
        clear = (height - UPWARDS).abs() > 1e-6
        assert torch.equal((c[near] < NOTHING)[clear], (height > UPWARDS)[clear])
        assert torch.equal(c[near][height > UPWARDS + 1e-6], d[near][height > UPWARDS + 1e-6])
        seen += int(near.sum())
    assert seen > 500


def test_the_distance_that_carries_pulls_along_the_way_out() -> None:
    point = torch.tensor([[0.4, 0.4, 0.03]], requires_grad=True)
    carrying_distance(step(), point).sum().backward()
    assert torch.equal(point.grad, torch.tensor([[0.0, 0.0, 1.0]]))
