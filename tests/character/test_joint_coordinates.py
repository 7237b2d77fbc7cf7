import math
from dataclasses import replace

import pytest
import torch

from parc.character import Body, Character, Joint, humanoid, rotation
from parc.character.character import BALL_AXES
from parc.character.joint_coordinates import beyond_limits, dof_to_joints, joints_to_dof

PI = math.pi


def mixed():
    """Kinds interleaved, so that a wrong order shows: fixed, pair, ball, hinge, pair, fixed, ball."""
    slant = (0.6, 0.0, 0.8)

    def joint(*axes):
        return Joint(tuple(axes), (-PI,) * len(axes), (PI,) * len(axes))

    joints = [Joint(), Joint(), joint((0.0, 0.0, 1.0), (1.0, 0.0, 0.0)), joint(*BALL_AXES), joint(slant),
              joint(slant, (-0.8, 0.0, 0.6)), Joint(), joint(*BALL_AXES)]  # fmt: skip
    return Character("mixed", tuple(Body(f"b{i}", i - 1, (0.0, 0.0, 0.1), j) for i, j in enumerate(joints)))


def random_dof(character, count, limit=1.5):
    generator = torch.Generator().manual_seed(0)
    return (2 * torch.rand(count, character.num_dof, dtype=torch.float64, generator=generator) - 1) * limit


def test_dof_to_joints_and_back(character):
    for c in (character, mixed()):
        dof = random_dof(c, 300)
        joints = dof_to_joints(c, dof)
        assert joints.shape == (300, c.num_joints, 4)
        assert torch.allclose(joints.norm(dim=-1), torch.ones(()).double(), atol=1e-12)
        assert torch.allclose(joints_to_dof(c, joints), dof, atol=1e-9)
        assert torch.allclose(joints_to_dof(c, -joints), dof, atol=1e-9)


def test_each_joint_turns_as_its_axes_say(character):
    for c in (character, mixed()):
        dof = random_dof(c, 5)
        joints = dof_to_joints(c, dof)
        for row, (body, start) in enumerate(zip(c.bodies[1:], c.dof_start[1:], strict=True)):
            values = dof[:, start : start + body.joint.dof]
            expected = rotation.identity((5,), dtype=torch.float64)
            if body.joint.is_ball:
                expected = rotation.from_exp(values)
            else:
                for k, axis in enumerate(body.joint.axes):
                    expected = rotation.multiply(
                        expected, rotation.from_exp(values[:, k : k + 1] * torch.tensor(axis, dtype=torch.float64))
                    )
            assert torch.allclose(joints[:, row], expected, atol=1e-8)


def test_batch_dims_are_free():
    dof = random_dof(humanoid(), 12)
    shaped = dof_to_joints(humanoid(), dof.reshape(2, 3, 2, -1))
    assert torch.equal(shaped.reshape(12, 14, 4), dof_to_joints(humanoid(), dof))
    assert torch.equal(joints_to_dof(humanoid(), shaped).reshape(12, -1), joints_to_dof(humanoid(), shaped.reshape(12, 14, 4)))
    assert torch.equal(dof_to_joints(humanoid(), dof[0]), dof_to_joints(humanoid(), dof)[0])


def test_turns_off_a_hinges_axis_are_dropped():
    knee = humanoid().index("left_shin")
    joints = rotation.identity((14,), dtype=torch.float64)
    about_y = rotation.from_exp(torch.tensor([0.0, 0.7, 0.0], dtype=torch.float64))
    joints[knee - 1] = rotation.multiply(about_y, rotation.from_exp(torch.tensor([0.2, 0.0, 0.0], dtype=torch.float64)))
    dof = joints_to_dof(humanoid(), joints)
    expected = torch.zeros(28, dtype=torch.float64)
    expected[humanoid().dof_start[knee]] = 0.7
    assert torch.allclose(dof, expected, atol=1e-12)


def test_gradients(character):
    dof = random_dof(character, 2).requires_grad_()
    assert torch.autograd.gradcheck(lambda d: dof_to_joints(character, d), dof, fast_mode=True)
    assert torch.autograd.gradcheck(lambda d: joints_to_dof(character, dof_to_joints(character, d)), dof, fast_mode=True)


@pytest.mark.parametrize("joint", [Joint(), Joint(((0.0, 1.0, 0.0),), (-1.0,), (1.0,))])
def test_characters_of_one_kind_of_joint(joint):
    c = Character("rod", (Body("a", -1, (0, 0, 0)), Body("b", 0, (0, 0, 1), joint)))
    dof = torch.full((3, c.num_dof), 0.5)
    assert torch.allclose(joints_to_dof(c, dof_to_joints(c, dof)), dof)


@pytest.mark.parametrize("side", ["lower", "upper"])
def test_what_is_beyond_the_limits_is_measured_from_them(side):
    body = humanoid()
    limits = torch.tensor([x for b in body.bodies for x in getattr(b.joint, side)], dtype=torch.float64)
    past = torch.diag(limits + (0.1 if side == "upper" else -0.1))
    beyond = beyond_limits(body, dof_to_joints(body, past))
    assert torch.allclose(beyond, 0.1 * torch.eye(body.num_dof, dtype=torch.float64), atol=1e-9)
    assert beyond_limits(body, dof_to_joints(body, torch.diag(limits))).max() < 1e-9


def test_a_joint_without_a_range_is_never_beyond_it():
    free = replace(humanoid().bodies[4].joint, lower=(0.0,), upper=(0.0,))
    bodies = tuple(replace(b, joint=free) if k == 4 else b for k, b in enumerate(humanoid().bodies))
    dof = torch.zeros(28)
    dof[humanoid().dof_start[4]] = -2.0
    for body, expected in ((humanoid(), 2.0), (replace(humanoid(), bodies=bodies), 0.0)):
        assert beyond_limits(body, dof_to_joints(body, dof)).sum() == pytest.approx(expected)
