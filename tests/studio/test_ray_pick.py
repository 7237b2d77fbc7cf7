"""Rays against columns and triangles, by brute force."""

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from parc.studio.scene.ray_pick import pick_cell, pick_triangle
from parc.terrain import Terrain


def first_box(terrain: Terrain, origin: np.ndarray, direction: np.ndarray) -> tuple[tuple[int, int], float] | None:
    """Every column as a box from far below, by the slab test."""
    best = None
    for i, j in np.ndindex(*terrain.size):
        centre = terrain.min_point.double().numpy() + terrain.cell * np.array([i, j])
        low = np.append(centre - terrain.cell / 2, -1e6)
        high = np.append(centre + terrain.cell / 2, float(terrain.heights[i, j]))
        with np.errstate(divide="ignore", invalid="ignore"):
            slabs = np.stack([(low - origin) / direction, (high - origin) / direction])
        enter, leave = slabs.min(0).max(), slabs.max(0).min()
        if leave >= max(enter, 0) and (best is None or max(enter, 0) < best[1]):
            best = (i, j), max(enter, 0)
    return best


@given(st.integers(0, 10_000))
@settings(max_examples=60, deadline=None)
def test_a_ray_meets_the_column_that_brute_force_finds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = rng.integers(1, 7, 2)
    terrain = Terrain(torch.tensor(rng.uniform(-1, 1, size), dtype=torch.float32), torch.tensor(rng.uniform(-2, 2, 2)).float())
    origin = rng.uniform(-4, 4, 3) + [0, 0, 3]
    direction = np.append(terrain.min_point.numpy() + rng.uniform(-0.5, 3, 2), rng.uniform(-2, 1)) - origin
    expected, hit = first_box(terrain, origin, direction), pick_cell(terrain, origin, direction)
    assert (hit is None) == (expected is None)
    if hit is not None and expected is not None:
        np.testing.assert_allclose(hit.distance, expected[1], atol=1e-6)
        np.testing.assert_allclose(hit.point, origin + hit.distance * direction, atol=1e-9)
        assert hit.cell == expected[0]


def test_straight_down_along_an_axis_and_away() -> None:
    terrain = Terrain(torch.tensor([[0.0, 1.0], [2.0, 3.0]]), torch.zeros(2), 1.0)
    hit = pick_cell(terrain, (0.2, 1.3, 9.0), (0.0, 0.0, -1.0))
    assert hit is not None and hit.cell == (0, 1) and hit.on_top and hit.point[2] == 1.0
    wall = pick_cell(terrain, (-5.0, 0.0, 1.5), (1.0, 0.0, 0.0))
    assert wall is not None and wall.cell == (1, 0) and not wall.on_top and wall.point[0] == 0.5
    assert pick_cell(terrain, (0.0, 0.0, 9.0), (0.0, 0.0, 1.0)) is None
    assert pick_cell(terrain, (9.0, 0.0, 9.0), (0.0, 0.0, -1.0)) is None
    assert pick_cell(terrain, (0.0, 0.0, 9.0), (0.0, 0.0, 0.0)) is None
    assert pick_cell(terrain, (float("nan"), 0.0, 9.0), (0.0, 0.0, -1.0)) is None


def test_the_nearest_triangle_is_found() -> None:
    shape = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    corners = np.stack([shape, shape + [0, 0, 2], shape + [5, 0, 3]])
    assert pick_triangle(corners, (0.2, 0.2, 5.0), (0.0, 0.0, -1.0)) == (1, 3.0)
    assert pick_triangle(corners, (0.2, 0.2, -5.0), (0.0, 0.0, 1.0)) == (0, 5.0)
    assert pick_triangle(corners, (0.8, 0.8, 5.0), (0.0, 0.0, -1.0)) is None
    assert pick_triangle(corners, (0.2, 0.2, 5.0), (0.0, 0.0, 1.0)) is None
