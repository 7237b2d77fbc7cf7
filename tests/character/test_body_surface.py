import numpy as np
import pytest
import torch

from parc.character import (
    BodyPose,
    Box,
    Capsule,
    Sphere,
    forward_kinematics,
    humanoid,
    min_per_body,
    rotation,
    surface_points,
    world_points,
)  # fmt: skip


def depth_under_surface(shape, points):
    """Signed distance of points to the shape, worked out here."""
    if isinstance(shape, Sphere):
        return np.linalg.norm(points - shape.centre, axis=-1) - shape.radius
    if isinstance(shape, Capsule):
        a, b = np.array(shape.start), np.array(shape.end)
        t = np.clip((points - a) @ (b - a) / ((b - a) @ (b - a)), 0, 1)
        return np.linalg.norm(points - (a + t[:, None] * (b - a)), axis=-1) - shape.radius
    assert isinstance(shape, Box)
    inverse = rotation.conjugate(torch.tensor(shape.rotation, dtype=torch.float64))
    local = rotation.rotate(inverse, torch.tensor(points - np.array(shape.centre))).numpy()
    return np.max(np.abs(local) - shape.half, axis=-1)


def test_points_lie_on_a_shape_of_their_body(character):
    surface = surface_points(character, dtype=torch.float64)
    for i, body in enumerate(character.bodies):
        points = surface.points[surface.body == i].numpy()
        nearest = np.min([np.abs(depth_under_surface(s, points)) for s in body.shapes], axis=0)
        assert nearest.max() < 1e-9


def test_humanoid_has_the_papers_counts():
    counts = torch.bincount(surface_points(humanoid()).body).tolist()
    assert counts == [24, 44, 12, 16, 16, 12, 16, 16, 12, 16, 16, 36, 16, 16, 36]


def test_soles_have_points_at_the_corners():
    foot = humanoid().index("left_foot")
    box = humanoid().bodies[foot].shapes[0]
    points = surface_points(humanoid(), dtype=torch.float64)
    points = points.points[points.body == foot].numpy()
    for sx in (-1, 1):
        for sy in (-1, 1):
            corner = np.array(box.centre) + np.array(box.half) * [sx, sy, -1]
            assert np.linalg.norm(points - corner, axis=-1).min() < 1e-12


@pytest.fixture
def pose(character, random_rotations):
    root_pos = torch.randn(3, 2, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(8))
    return forward_kinematics(character, root_pos, random_rotations(3, 2), random_rotations(3, 2, character.num_joints))


def test_world_points_are_the_points_one_by_one(character, pose):
    surface = surface_points(character, dtype=torch.float64)
    points = world_points(surface, pose)
    assert points.shape == (3, 2, len(surface.points), 3)
    for k, (body, local) in enumerate(zip(surface.body.tolist(), surface.points, strict=True)):
        expected = pose.pos[..., body, :] + rotation.rotate(pose.rot[..., body, :], local)
        assert torch.allclose(points[..., k, :], expected, atol=1e-12)
    matrices = BodyPose(pose.pos, rotation.to_matrix(pose.rot))
    assert torch.allclose(world_points(surface, matrices), points, atol=1e-12)
    assert torch.allclose(world_points(surface, BodyPose(pose.pos[1, 1], pose.rot[1, 1])), points[1, 1], atol=1e-12)


def test_world_points_stay_exact_far_away_and_under_autocast():
    surface = surface_points(humanoid())
    rest = BodyPose(torch.full((1, 15, 3), 100.0), rotation.identity((1, 15)))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        points = world_points(surface, rest)
    assert points.dtype == torch.float32
    assert (points - 100.0 - surface.points).abs().max() < 1e-5


def test_gradient_of_world_points(character, pose):
    surface = surface_points(character, dtype=torch.float64)
    pos, rot = pose.pos[0, 0].clone().requires_grad_(), pose.rot[0, 0].clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda p, r: world_points(surface, BodyPose(p, r)), (pos, rot), fast_mode=True)


def test_min_per_body_is_a_loop(character):
    surface = surface_points(character)
    values = torch.randn(4, 5, len(surface.points), generator=torch.Generator().manual_seed(9))
    expected = torch.stack([values[..., surface.body == b].amin(-1) for b in range(character.num_bodies)], -1)
    assert torch.equal(min_per_body(surface, values), expected)
