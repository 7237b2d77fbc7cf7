"""Solids against geometry: areas of silhouettes, exact depths, normals, order in depth; brute-force ray marching as oracle."""

import math

import numpy as np
import pytest
import torch

from parc.character import forward_kinematics, humanoid, surface_points, world_points
from parc.character.rotation import identity
from parc.render.camera import Camera
from parc.render.canvas import Canvas
from parc.render.ray_cast_bodies import Blocks, Rounds, draw_blocks, draw_rounds, matrix, posed

SIZE = (320, 240)
WHITE = np.ones((1, 3), np.float32)


def capsule(a, b, r) -> Rounds:
    return Rounds(np.array([a], float), np.array([b], float), np.array([r], float), WHITE)


def block(centre, half, turn=(0, 0, 0, 1)) -> Blocks:
    q = np.array([turn], float)
    return Blocks(np.array([centre], float), matrix(q / np.linalg.norm(q)), np.array([half], float), WHITE)


def test_area_of_a_sphere_seen_from_far_is_that_of_a_disc():
    canvas = Canvas(Camera((3, -20, 4), (0, 0, 0), span=3.0), SIZE)
    draw_rounds(canvas, Rounds.spheres([[0, 0, 0]], 1.0, [1, 1, 1]))
    area = np.isfinite(canvas.depth).sum() * canvas.camera.pixel(SIZE) ** 2
    assert area == pytest.approx(math.pi, rel=2e-3)
    assert canvas.depth.min() == pytest.approx(math.dist((3, -20, 4), (0, 0, 0)) - 1, abs=1e-3)


def test_area_of_a_sphere_in_perspective_is_that_of_its_tangent_cone():
    camera = Camera((0, -5, 0), (0, 0, 0), field_of_view=40)
    canvas = Canvas(camera, SIZE)
    draw_rounds(canvas, Rounds.spheres([[0, 0, 0]], 1.0, [1, 1, 1]))
    tangent = math.tan(math.asin(1 / 5)) / camera.pixel(SIZE)
    assert np.isfinite(canvas.depth).sum() == pytest.approx(math.pi * tangent**2, rel=5e-3)


def test_area_of_a_capsule_across_the_view():
    canvas = Canvas(Camera((0, -20, 0), (0, 0, 0), span=3.0), SIZE)
    draw_rounds(canvas, capsule([-0.6, 0, -0.3], [0.6, 0, 0.3], 0.25))
    length = math.hypot(1.2, 0.6)
    expected = 2 * 0.25 * length + math.pi * 0.25**2
    assert np.isfinite(canvas.depth).sum() * canvas.camera.pixel(SIZE) ** 2 == pytest.approx(expected, rel=1e-2)


@pytest.mark.parametrize("flat", [True, False])
def test_depths_agree_with_marching_along_the_rays(flat):
    """Sphere tracing of the signed distances: another method, the same first hits."""
    rng = np.random.default_rng(1)
    size = (96, 72)
    camera = Camera((1.5, -6, 2.5), (0, 0, 0), 30, 3.0 if flat else None)
    canvas = Canvas(camera, size)
    a, b, r = rng.uniform(-0.7, 0.7, 3), rng.uniform(-0.7, 0.7, 3), 0.3
    centre, half, q = rng.uniform(-0.7, 0.7, 3), np.array([0.5, 0.3, 0.2]), np.array([0.3, -0.2, 0.5, 0.8])
    draw_rounds(canvas, capsule(a, b, r))
    draw_blocks(canvas, block(centre, half, q))

    columns, rows = np.meshgrid(np.arange(size[0]) + 0.5, np.arange(size[1]) + 0.5)
    pixel = np.stack([np.ones_like(columns), columns, rows], -1)
    o, d = (pixel @ table for table in camera.rays(size))
    stretch = np.linalg.norm(d, axis=-1)
    turn = matrix(q / np.linalg.norm(q))

    def distance(p):
        along = np.clip((p - a) @ (b - a) / ((b - a) @ (b - a)), 0, 1)
        to_capsule = np.linalg.norm(p - a - along[..., None] * (b - a), axis=-1) - r
        local = np.abs((p - centre) @ turn) - half
        to_box = np.linalg.norm(np.maximum(local, 0), axis=-1) + np.minimum(local.max(-1), 0)
        return np.minimum(to_capsule, to_box)

    t = np.zeros(columns.shape)
    for _ in range(300):
        t = t + distance(o + t[..., None] * d) / stretch
    hit = t < 20
    assert (hit != np.isfinite(canvas.depth)).sum() <= 4  # rays that graze the rim
    both = hit & np.isfinite(canvas.depth)
    assert both.sum() > 200
    np.testing.assert_allclose(canvas.depth[both], t[both], atol=2e-3)


def test_what_is_in_front_hides_what_is_behind_whatever_the_order():
    for order in (1, -1):
        canvas = Canvas(Camera((0, -10, 0), (0, 0, 0), span=3.0), SIZE)
        things = [block([0, -2, 0], [0.3, 0.3, 0.3]), block([0, 2, 0], [0.6, 0.3, 0.6])]
        for thing in things[::order]:
            draw_blocks(canvas, thing)
        middle, beside = canvas.depth[120, 160], canvas.depth[120, 160 + int(0.45 * 80)]
        assert middle == pytest.approx(10 - 2 - 0.3, abs=1e-4)
        assert beside == pytest.approx(10 + 2 - 0.3, abs=1e-4)


def test_a_solid_behind_the_eye_is_not_drawn():
    canvas = Canvas(Camera((0, 0, 0), (1, 0, 0)), SIZE)
    draw_rounds(canvas, Rounds.spheres([[-3, 0, 0]], 1.0, [1, 1, 1]))
    draw_blocks(canvas, block([-3, 0, 0], [1, 1, 1]))
    assert not np.isfinite(canvas.depth).any()


def test_surface_points_of_the_humanoid_lie_on_the_drawn_body():
    """The sample points that losses use project inside the silhouette, none of them in front of the surface."""
    character = humanoid()
    pose = forward_kinematics(character, *_standing(character))
    canvas = Canvas(Camera((3, -4, 1.5), (0, 0, 1.0), 30), (400, 400))
    rounds, blocks = posed(character, pose.pos.numpy(), pose.rot.numpy(), np.ones((15, 3), np.float32))
    draw_rounds(canvas, rounds)
    draw_blocks(canvas, blocks)
    points = world_points(surface_points(character), pose).numpy().reshape(-1, 3)
    x, y, depth = canvas.camera.project(points, (400, 400)).T
    around = np.stack([canvas.depth[(y + dy).astype(int), (x + dx).astype(int)] for dx in (-1, 0, 1) for dy in (-1, 0, 1)])
    assert np.isfinite(around).any(0).all()
    assert (depth > around.min(0) - 0.02).all()


def _standing(character):
    return torch.tensor([0.0, 0, 0.9]), identity(), identity((character.num_joints,))
