"""Forward kinematics against MuJoCo's, on a model written out here from the character's numbers, every joint a free ball."""

import math

import mujoco
import numpy as np
import pytest
import torch
from torch.autograd import gradcheck

from parc.character import Box, Capsule, Sphere, forward_kinematics, forward_kinematics_matrix, humanoid, rotation
from parc.errors import CharacterError


def numbers(*values):
    return " ".join(repr(float(v)) for v in values)


def geom(shape):
    if isinstance(shape, Sphere):
        form = f'type="sphere" size="{shape.radius}" pos="{numbers(*shape.centre)}"'
    elif isinstance(shape, Capsule):
        form = f'type="capsule" size="{shape.radius}" fromto="{numbers(*shape.start, *shape.end)}"'
    else:
        assert isinstance(shape, Box)
        x, y, z, w = shape.rotation
        form = f'type="box" size="{numbers(*shape.half)}" pos="{numbers(*shape.centre)}" quat="{numbers(w, x, y, z)}"'
    return f'<geom {form} density="{shape.density}"/>'


def ball_model(character):
    def element(i):
        body = character.bodies[i]
        joint = "<freejoint/>" if i == 0 else '<joint type="ball"/>'
        inside = "".join(geom(s) for s in body.shapes) + "".join(element(c) for c, p in enumerate(character.parents) if p == i)
        return f'<body name="{body.name}" pos="{numbers(*body.offset)}">{joint}{inside}</body>'

    return mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{element(0)}</worldbody></mujoco>")


@pytest.fixture(scope="module")
def poses():
    """1000 random poses of the humanoid and where MuJoCo puts its bodies."""
    character = humanoid()
    model = ball_model(character)
    data = mujoco.MjData(model)
    generator = np.random.default_rng(0)
    root_pos = generator.normal(size=(1000, 3)) * 3
    rots = generator.normal(size=(1000, character.num_bodies, 4))
    rots /= np.linalg.norm(rots, axis=-1, keepdims=True)
    at = [model.body(name).id for name in character.names]
    qpos_at = [3] + [model.jnt_qposadr[model.body_jntadr[b]] for b in at[1:]]
    pos, rot = [], []
    for p, q in zip(root_pos, rots, strict=True):
        data.qpos[:3] = p
        for k, address in enumerate(qpos_at):
            data.qpos[address : address + 4] = q[k, [3, 0, 1, 2]]
        mujoco.mj_kinematics(model, data)
        pos.append(data.xpos[at].copy())
        rot.append(data.xmat[at].reshape(-1, 3, 3).copy())
    return [torch.tensor(np.array(a), dtype=torch.float32) for a in (root_pos, rots[:, 0], rots[:, 1:], pos, rot)]


def test_equals_mujoco_on_random_poses(poses):
    root_pos, root_rot, joint_rot, pos, rot = poses
    ours = forward_kinematics(humanoid(), root_pos, root_rot, joint_rot)
    assert (ours.pos - pos).abs().max() < 1e-5
    assert (rotation.to_matrix(ours.rot) - rot).abs().max() < 1e-5


def test_matrix_version_equals_mujoco_on_random_poses(poses):
    root_pos, root_rot, joint_rot, pos, rot = poses
    ours = forward_kinematics_matrix(humanoid(), root_pos, rotation.to_matrix(root_rot), rotation.to_matrix(joint_rot))
    assert (ours.pos - pos).abs().max() < 1e-5
    assert (ours.rot - rot).abs().max() < 1e-5


def test_mass_is_that_of_mujoco():
    model = ball_model(humanoid())
    assert abs(model.body_mass.sum() - 50.05) < 0.05
    for body in humanoid().bodies:
        assert math.isclose(model.body(body.name).mass[0], sum(s.mass for s in body.shapes), rel_tol=1e-9)


def test_gradients_are_those_of_finite_differences(character, random_rotations):
    root_pos = torch.randn(2, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(5), requires_grad=True)
    root_rot, joint_rot = random_rotations(2), random_rotations(2, character.num_joints)
    for fk, inputs in (
        (forward_kinematics, (root_rot, joint_rot)),
        (forward_kinematics_matrix, (rotation.to_matrix(root_rot), rotation.to_matrix(joint_rot))),
    ):
        assert gradcheck(
            lambda *a, fk=fk: tuple(fk(character, *a)), (root_pos, *(x.requires_grad_() for x in inputs)), fast_mode=True
        )


def test_both_versions_and_any_batch_shape_agree(character, random_rotations):
    root_pos = torch.randn(2, 3, 5, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(6))
    root_rot, joint_rot = random_rotations(2, 3, 5), random_rotations(2, 3, 5, character.num_joints)
    many = forward_kinematics(character, root_pos, root_rot, joint_rot)
    one = forward_kinematics(character, root_pos[1, 2, 3], root_rot[1, 2, 3], joint_rot[1, 2, 3])
    matrices = forward_kinematics_matrix(character, root_pos, rotation.to_matrix(root_rot), rotation.to_matrix(joint_rot))
    assert many.pos.shape == (2, 3, 5, character.num_bodies, 3)
    assert torch.equal(many.pos[1, 2, 3], one.pos) and torch.equal(many.rot[1, 2, 3], one.rot)
    assert torch.allclose(matrices.pos, many.pos, atol=1e-12) and torch.allclose(
        matrices.rot, rotation.to_matrix(many.rot), atol=1e-12
    )


def test_moving_the_root_moves_everything_with_it(character, random_rotations):
    joint_rot, root_rot, turn = random_rotations(4, character.num_joints), random_rotations(4), random_rotations(1)
    root_pos = torch.randn(4, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(7))
    shift = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    still = forward_kinematics(character, root_pos, root_rot, joint_rot)
    moved = forward_kinematics(character, rotation.rotate(turn, root_pos) + shift, rotation.multiply(turn, root_rot), joint_rot)
    assert torch.allclose(moved.pos, rotation.rotate(turn.unsqueeze(1), still.pos) + shift, atol=1e-12)
    assert torch.allclose(moved.rot, rotation.multiply(turn.unsqueeze(1), still.rot), atol=1e-12)


def test_constants_first_built_in_inference_mode_serve_training(random_rotations):
    from dataclasses import replace

    fresh = replace(humanoid(), bodies=tuple(replace(b, name=f"{b.name}_inference") for b in humanoid().bodies))
    root_rot, joint_rot = random_rotations(2, dtype=torch.float32), random_rotations(2, 14, dtype=torch.float32)
    with torch.inference_mode():
        forward_kinematics(fresh, torch.zeros(2, 3), root_rot, joint_rot)
    joint_rot.requires_grad_()
    forward_kinematics(fresh, torch.zeros(2, 3), root_rot, joint_rot).pos.sum().backward()
    assert joint_rot.grad.isfinite().all() and joint_rot.grad.abs().sum() > 0


def test_wrong_number_of_joints_is_refused():
    with pytest.raises(CharacterError, match="rotations for 13 joints given, character 'humanoid' has 14"):
        forward_kinematics(humanoid(), torch.zeros(3), rotation.identity(), rotation.identity((13,)))
