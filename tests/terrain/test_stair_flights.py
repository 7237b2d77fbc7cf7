from dataclasses import replace

import pytest
import torch

from parc.errors import TerrainError
from parc.terrain.stair_flights import Stairs, flights, stairs


def test_profile_by_hand():
    flight = stairs(Stairs(steps=2, rise=0.25, run=2, landing=1, width=3, base=1.0))
    profile = torch.tensor([1.0, 1.25, 1.25, 1.5, 1.5, 1.5])
    assert torch.equal(flight.heights, profile[:, None].expand(6, 3))


def test_down_is_up_upside_down_and_along_y_is_transposed():
    up = stairs(Stairs(rise=0.2))
    assert torch.equal(stairs(Stairs(rise=-0.2)).heights, -up.heights)
    assert torch.equal(stairs(Stairs(rise=0.2, along="y")).heights, up.heights.T)


@pytest.mark.parametrize("wrong", [{"run": 0}, {"width": 0}, {"steps": -1}, {"steps": 0, "landing": 0}, {"along": "z"}])
def test_impossible_stairs(wrong):
    with pytest.raises(TerrainError):
        stairs(Stairs(**wrong))


def test_flights_in_a_row_go_on_where_the_last_one_ended():
    up, down = Stairs(steps=2, rise=0.2, landing=2, width=3, base=1.0), Stairs(steps=1, rise=-0.5, run=2, landing=1, width=3)
    profile = torch.tensor([1.0, 1.0, 1.2, 1.4, 1.4, 0.9, 0.9, 0.9])
    assert torch.allclose(flights([up, down]).heights, profile[:, None].expand(8, 3))
    assert torch.equal(flights([replace(up, along="y"), replace(down, along="y")]).heights, flights([up, down]).heights.T)
    assert torch.equal(flights([up]).heights, stairs(up).heights)
    for wrong in ([], [up, replace(down, width=4)]):
        with pytest.raises(TerrainError, match="one width"):
            flights(wrong)
