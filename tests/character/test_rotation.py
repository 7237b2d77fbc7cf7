import math

import pytest
import roma
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import gradcheck

from parc.character import rotation

NEAR = {torch.float32: 2e-6, torch.float64: 1e-12}
IDENTITY = torch.tensor([0.0, 0.0, 0.0, 1.0], dtype=torch.float64)
X, Y, Z = torch.eye(3, dtype=torch.float64)

quaternions = (
    st.tuples(*[st.floats(-1, 1)] * 4)
    .filter(lambda v: math.hypot(*v) > 0.1)
    .map(lambda v: rotation.normalize(torch.tensor(v, dtype=torch.float64)))
)
vectors = st.tuples(*[st.floats(-10, 10)] * 3).map(lambda v: torch.tensor(v, dtype=torch.float64))
laws = settings(max_examples=60, deadline=None)


def same(a, b, atol=1e-9):
    return torch.allclose(a, b, atol=atol, rtol=0)


def same_rotation(a, b, atol=1e-9):
    return bool((1 - (a * b).sum(-1).abs() < atol).all())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_agrees_with_roma(random_rotations, dtype):
    a, b = random_rotations(500, dtype=dtype), random_rotations(500, dtype=dtype)
    v = torch.randn(500, 3, dtype=dtype, generator=torch.Generator().manual_seed(1))
    near = NEAR[dtype]
    assert same(rotation.multiply(a, b), roma.quat_product(a, b), near)
    assert same(rotation.conjugate(a), roma.quat_conjugation(a), near)
    assert same(rotation.rotate(a, v), roma.quat_action(a, v), 4 * near)
    assert same(rotation.to_matrix(a), roma.unitquat_to_rotmat(a), near)
    assert same_rotation(rotation.from_matrix(roma.unitquat_to_rotmat(a)), a, near)
    assert same(rotation.to_exp(a), roma.unitquat_to_rotvec(a), 10 * near)
    assert same(rotation.from_exp(v), roma.rotvec_to_unitquat(v), 4 * near)
    six = torch.randn(500, 6, dtype=dtype, generator=torch.Generator().manual_seed(2))
    gram_schmidt = roma.special_gramschmidt(six.unflatten(-1, (2, 3)).transpose(-1, -2))
    assert same(rotation.sixd_to_matrix(six), gram_schmidt, 50 * near)
    t = torch.rand(500, dtype=dtype, generator=torch.Generator().manual_seed(3))
    step = roma.unitquat_slerp(a[:1], b[:1], t, shortest_arc=True).squeeze(1)
    assert same_rotation(rotation.slerp(a[:1], b[:1], t), step, 10 * near)
    assert same(rotation.angle(rotation.difference(a, b)), roma.unitquat_geodesic_distance(a, b), 10 * near)
    assert same(
        rotation.matrix_multiply(rotation.to_matrix(a), rotation.to_matrix(b)),
        rotation.to_matrix(a) @ rotation.to_matrix(b),
        near,
    )
    assert same(rotation.matrix_rotate(rotation.to_matrix(a), v), rotation.rotate(a, v), 4 * near)


@laws
@given(quaternions, quaternions, quaternions, vectors)
def test_group_axioms_and_action(a, b, c, v):
    product = rotation.multiply
    assert same(product(product(a, b), c), product(a, product(b, c)))
    assert same(product(a, IDENTITY), a) and same(product(IDENTITY, a), a)
    assert same(product(a, rotation.conjugate(a)), IDENTITY)
    assert same(product(a, rotation.difference(a, b)), b)
    assert same(rotation.rotate(product(a, b), v), rotation.rotate(a, rotation.rotate(b, v)))
    assert same(rotation.rotate(a, v).norm(), v.norm())
    assert same(rotation.rotate(-a, v), rotation.rotate(a, v))
    assert same(rotation.reflect(product(a, b)), product(rotation.reflect(a), rotation.reflect(b)))


@pytest.mark.parametrize(
    "angle", [0.0, 1e-20, 1e-12, 1e-7, 1.9e-4, 2.1e-4, 1e-2, 1.0, 3.0, math.pi - 1e-4, math.pi - 1e-9, math.pi]
)
def test_round_trips_from_zero_to_pi(angle):
    axes = torch.nn.functional.normalize(
        torch.randn(40, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0)), dim=-1
    )
    exp = axes * angle
    q = rotation.from_exp(exp)
    assert same(q, rotation.from_axis_angle(axes, torch.full((40,), angle, dtype=torch.float64)), 1e-15)
    back = rotation.to_exp(q)
    assert same(back, exp, 1e-12) or (angle == math.pi and same(back.abs(), exp.abs(), 1e-12))
    assert same_rotation(rotation.from_matrix(rotation.to_matrix(q)), q, 1e-14)
    assert same(rotation.sixd_to_matrix(rotation.to_sixd(q)), rotation.to_matrix(q), 1e-14)
    assert same(rotation.angle(q), torch.full((40,), angle, dtype=torch.float64), 1e-12)
    assert same(rotation.to_exp(-rotation.from_exp(exp)), rotation.to_exp(rotation.from_exp(exp)), 1e-12) or angle == math.pi


@laws
@given(quaternions)
def test_exp_map_takes_the_short_way(q):
    e = rotation.to_exp(q)
    assert e.norm() <= math.pi + 1e-9
    assert same_rotation(rotation.from_exp(e), q)


@pytest.mark.parametrize("scale", [0.0, 1e-9, 1e-5, 1e-3, 0.5, 3.0])
def test_gradients_are_those_of_finite_differences(scale):
    generator = torch.Generator().manual_seed(4)
    e = (scale * torch.randn(6, 3, dtype=torch.float64, generator=generator)).requires_grad_()
    v = torch.randn(6, 3, dtype=torch.float64, generator=generator)
    assert gradcheck(rotation.from_exp, e)
    assert gradcheck(lambda e: rotation.to_exp(rotation.from_exp(e)), e)
    assert gradcheck(lambda e: rotation.rotate(rotation.from_exp(e), v), e)
    assert gradcheck(lambda e: rotation.from_matrix(rotation.to_matrix(rotation.from_exp(e))), e)
    assert gradcheck(lambda e: rotation.sixd_to_matrix(rotation.to_sixd(rotation.from_exp(e))), e)
    assert gradcheck(lambda e: rotation.to_angle_about(rotation.from_exp(e), Z), e)
    assert gradcheck(lambda e: rotation.yaw(rotation.from_exp(e)), e)


def test_gradient_of_the_exp_map_at_the_identity_is_the_identity():
    jacobian = torch.autograd.functional.jacobian(lambda e: rotation.to_exp(rotation.from_exp(e)), torch.zeros(3))
    assert torch.equal(jacobian, torch.eye(3))


@pytest.mark.parametrize("q", [[0, 0, 0, 1], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, math.sqrt(0.5), 0, math.sqrt(0.5)]])
@pytest.mark.parametrize(
    "function",
    [
        rotation.to_exp,
        rotation.yaw,
        rotation.heading,
        rotation.angle,
        rotation.normalize,
        lambda q: rotation.to_angle_about(q, Y.float()),
    ],
)
def test_values_and_gradients_are_finite_at_half_turns_and_straight_down(q, function):
    q = torch.tensor(q, dtype=torch.float32, requires_grad=True)
    out = function(q)
    out.sum().backward()
    assert out.isfinite().all() and q.grad.isfinite().all()


def test_slerp_ends_and_middle(random_rotations):
    a, b = random_rotations(50), random_rotations(50)
    assert same_rotation(rotation.slerp(a, b, torch.zeros(50, dtype=torch.float64)), a)
    assert same_rotation(rotation.slerp(a, b, torch.ones(50, dtype=torch.float64)), b)
    middle = rotation.slerp(a, b, torch.full((50,), 0.5, dtype=torch.float64))
    to_middle, whole = rotation.angle(rotation.difference(a, middle)), rotation.angle(rotation.difference(a, b))
    assert same(to_middle, whole / 2) and same(rotation.angle(rotation.difference(middle, b)), whole / 2)
    assert same(rotation.slerp(a, a, torch.full((50,), 0.3, dtype=torch.float64)), a)


@laws
@given(quaternions, st.floats(-3, 3))
def test_heading_turns_with_the_body(q, yaw):
    if rotation.rotate(q, X)[:2].norm() < 1e-3:
        return
    turn = rotation.from_yaw(torch.tensor(yaw, dtype=torch.float64))
    assert same_rotation(rotation.heading(rotation.multiply(turn, q)), rotation.multiply(turn, rotation.heading(q)))
    facing = rotation.rotate(rotation.heading(q), X)
    assert same(facing[:2], torch.nn.functional.normalize(rotation.rotate(q, X)[:2], dim=0), 1e-7)
    assert same(rotation.rotate(rotation.heading(q), Z), Z)


def test_angle_about_reads_a_hinge(random_rotations):
    axes = rotation.rotate(random_rotations(200), X.expand(200, 3))
    angles = torch.linspace(-math.pi + 1e-6, math.pi - 1e-6, 200, dtype=torch.float64)
    q = rotation.from_axis_angle(axes, angles)
    assert same(rotation.to_angle_about(q, axes), angles)
    assert same(rotation.to_angle_about(-q, axes), angles)


def test_angular_velocity_of_a_steady_spin():
    omega = torch.tensor([0.3, -2.0, 1.1], dtype=torch.float64)
    times = torch.arange(20, dtype=torch.float64) / 30
    start = rotation.normalize(torch.tensor([0.2, 0.5, -0.1, 0.8], dtype=torch.float64))
    q = rotation.multiply(rotation.from_exp(times[:, None] * omega), start.expand(20, 4))
    assert same(rotation.angular_velocity(q, 1 / 30), omega.expand(19, 3))


@laws
@given(quaternions, vectors)
def test_reflection_is_that_of_vectors(q, v):
    flip = torch.tensor([1.0, -1.0, 1.0], dtype=torch.float64)
    assert same(flip * rotation.rotate(q, v), rotation.rotate(rotation.reflect(q), flip * v))
    assert torch.equal(rotation.reflect(rotation.reflect(q)), q)


def test_identity_has_the_shape_asked_for():
    q = rotation.identity((2, 3), dtype=torch.float64)
    assert q.shape == (2, 3, 4) and torch.equal(q, IDENTITY.expand(2, 3, 4))
