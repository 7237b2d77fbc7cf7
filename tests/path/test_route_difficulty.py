"""Climb, drop and gap of paths by hand."""

import pytest
import torch

from parc.path import TerrainPath, difficulty_of, plan_path
from parc.terrain.terrain import Terrain


def ground(rows: list[float], width: int = 3) -> Terrain:
    """The same profile along x at every y."""
    return Terrain(torch.tensor(rows)[:, None].repeat(1, width), torch.tensor([3.0, -2.0]))


def straight(terrain: Terrain) -> tuple[float, ...]:
    middle = terrain.size[1] // 2
    return tuple(difficulty_of(terrain, plan_path(terrain, (0, middle), (terrain.size[0] - 1, middle))))


def test_steps() -> None:
    assert straight(ground([0.0, 0.0, 0.5, 1.75, 1.5, 0.2])) == pytest.approx((1.25, 1.3, 0.0))


def test_flat_ground_and_a_single_waypoint() -> None:
    assert straight(ground([1.0] * 5)) == (0.0, 0.0, 0.0)
    assert difficulty_of(ground([1.0] * 5), TerrainPath(torch.tensor([[3.4, -1.6, 1.0]]))) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("cells", [1, 2, 3, 5, 6])
def test_a_gap_is_as_wide_as_it_is_and_no_drop(cells: int) -> None:
    assert straight(ground([0.0, 0.0, *[-3.0] * cells, 0.25, 0.25], 1)) == pytest.approx((0.25, 0.0, 0.4 * cells))


def test_a_pit_that_is_walked_through_is_a_drop_and_a_climb() -> None:
    terrain = ground([0.0, 0.0, *[-1.0] * 12, 0.0, 0.0])
    assert straight(terrain) == pytest.approx((1.0, 1.0, 0.0))


def test_a_leap_askew_is_longer() -> None:
    """From the middle of one corner tower to the middle of the other: the line leaves and enters at corners."""
    heights = torch.full((5, 5), -3.0)
    heights[0, 0] = heights[3, 3] = 0.0
    terrain = Terrain(heights, torch.zeros(2))
    assert difficulty_of(terrain, plan_path(terrain, (0, 0), (3, 3))).gap == pytest.approx(2 * 0.4 * 2**0.5)


def test_a_tower_that_is_flown_over_parts_the_gap() -> None:
    """A leap over a cell as high as its ends is two gaps, and the wider one counts."""
    heights = torch.tensor([[0.0], [-3.0], [-3.0], [0.0], [-3.0], [0.0]])
    nodes = torch.stack([0.4 * torch.arange(6), torch.zeros(6), torch.zeros(6)], 1)
    assert difficulty_of(Terrain(heights, torch.zeros(2)), TerrainPath(nodes)).gap == pytest.approx(0.8)
