"""The painted ground against a brute-force cast of every ray, and the shadow it throws."""

import numpy as np
import pytest
import torch

from parc.render.camera import Camera
from parc.render.canvas import Canvas
from parc.render.picture_scene import Scene
from parc.render.sun_light import SUN, lit_share
from parc.render.terrain_columns import TerrainColumns
from parc.terrain.terrain import Terrain


def rough(seed: int, size=(9, 7)) -> Terrain:
    heights = np.random.default_rng(seed).integers(0, 4, size) * 0.4
    return Terrain(torch.tensor(heights, dtype=torch.float32), torch.tensor([-1.5, 0.3]), 0.4)


def cast(ground: TerrainColumns, camera: Camera, size) -> np.ndarray:
    """First hit of every ray with every column, as boxes."""
    columns, rows = np.meshgrid(np.arange(size[0]) + 0.5, np.arange(size[1]) + 0.5)
    o, d = (np.stack([np.ones_like(columns), columns, rows], -1) @ table for table in camera.rays(size))
    d = np.where(np.abs(d) < 1e-12, 1e-12, d)
    nearest = np.full(columns.shape, np.inf)
    base = ground.outline[:, 2].min()
    for (i, j), top in np.ndenumerate(ground.heights):
        low = np.array([*(ground.low + ground.cell * np.array([i, j])), base])
        high = np.array([*(low[:2] + ground.cell), top])
        a, b = (low - o) / d, (high - o) / d
        enter, leave = np.minimum(a, b).max(-1), np.maximum(a, b).min(-1)
        nearest = np.where((enter <= leave) & (enter > 0), np.minimum(nearest, enter), nearest)
    return nearest


@pytest.mark.parametrize(
    "camera",
    [
        Camera((3, -3, 3), (0, 1, 0.5), 40),
        Camera((-4, 5, 1.2), (0, 1, 0.5), 50),
        Camera((0.1, 1.4, 9), (0.1, 1.4, 0), 30),
        Camera((0.0, 1.2, 2.2), (1.5, 2.5, 0.3), 80),
        Camera((5, -6, 6), (0, 1, 0), span=5.0),
        Camera((-5, 8, 9), (0, 1, 0), span=4.0),
    ],
)
def test_depth_agrees_with_a_cast_of_every_ray(camera):
    size = (240, 180)
    ground = TerrainColumns.of(rough(2))
    canvas = Canvas(camera, size)
    ground.draw(canvas)
    truth = cast(ground, camera, size)
    same = np.isclose(canvas.depth, truth, atol=2e-3) | (~np.isfinite(canvas.depth) & ~np.isfinite(truth))
    # Outlines are snapped to whole pixels: where a pixel differs, it lies beside the outline of a face.
    faces = ground.faces_seen(camera, size)
    beside = np.zeros_like(same)
    for rows in (-1, 0, 1):
        for columns in (-1, 0, 1):
            beside |= np.roll(faces, (rows, columns), (0, 1)) != faces
    assert same[~beside].all()
    assert same.mean() > 0.97
    assert np.isfinite(truth).mean() > 0.2


def test_faces_are_tops_and_the_walls_over_lower_neighbours_only():
    heights = torch.zeros(3, 3)
    heights[1, 1] = 1.0
    ground = TerrainColumns.of(Terrain(heights, torch.zeros(2)))
    assert (ground.faces.axis == 2).sum() == 9
    assert (ground.faces.axis != 2).sum() == 4 + 12  # around the tower, and around the map's rim


def test_a_tower_shades_the_side_away_from_the_sun_and_only_that():
    heights = torch.zeros(31, 31)
    heights[15, 15] = 1.6
    terrain = Terrain(heights, torch.tensor([-6.0, -6.0]))
    scene = Scene.on(terrain)
    size = (310, 310)
    canvas = Canvas(Camera((0, 0, 50), (0, 0, 0), span=12.4), size)
    scene.ground.draw(canvas)
    lit = lit_share(canvas, scene.sun_canvas())
    for along, expected in ((0.5, 0.0), (0.9, 0.0), (1.35, 1.0), (-0.5, 1.0), (-1.0, 1.0)):
        # Height of the sun ray's foot: a tower of height h throws its shadow h / tan(elevation) far.
        place = -SUN[:2] / SUN[2] * 1.6 * along
        x, y, _ = canvas.camera.project([*place, 0], size)
        assert lit[int(y), int(x)] == pytest.approx(expected, abs=0.05), along
    assert 0.9 < lit.mean() < 1.0
