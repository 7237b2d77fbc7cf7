"""Frames and MuJoCo's coordinates: MuJoCo's own kinematics, difference and integration are the oracles."""

import mujoco
import numpy as np
import pytest
import torch

from parc.character import rotation
from parc.character.humanoid import humanoid
from parc.character.joint_coordinates import dof_to_joints, joints_to_dof
from parc.motion.motion import Motion
from parc.motion.mujoco_qpos import (
    frames_to_qpos,
    motion_to_qpos,
    motion_to_qvel,
    qpos_difference,
    qpos_to_bodies,
    qpos_to_dof,
    qpos_to_frames,
    standing_qpos,
    state_layout,
)
from parc.physics.mujoco_model import build_model, joint_names
from parc.physics.physical_contract import Contract


@pytest.fixture(scope="module", params=["humanoid", "crawler"])
def character(request):
    return humanoid() if request.param == "humanoid" else request.getfixturevalue("crawler")


@pytest.fixture(scope="module")
def model(character):
    return build_model(character, Contract())


def wobble(character, frames: int = 12, seed: int = 0) -> Motion:
    """A smooth random motion in float64."""
    g = torch.Generator().manual_seed(seed)
    t = torch.linspace(0, 1, frames, dtype=torch.float64).unsqueeze(-1)
    rate = torch.randn(character.num_dof, generator=g, dtype=torch.float64)
    root = rotation.from_exp(torch.randn(3, generator=g, dtype=torch.float64) + 2 * t * torch.randn(3, generator=g))
    signs = torch.ones(frames, 1, dtype=torch.float64)
    signs[::3] = -1  # q and -q are one rotation
    joints = dof_to_joints(character, 0.8 * torch.sin(3 * t * rate + rate))
    return Motion(
        root_pos=torch.cat([t, t * t, 1 + t], -1),
        root_rot=root * signs,
        joint_rot=joints * signs.unsqueeze(-1),
        contacts=torch.zeros(frames, character.num_bodies),
    )


def test_the_layout_is_mujocos(character, model):
    layout = state_layout(character)
    assert (layout.nq, layout.nv) == (model.nq, model.nv)
    for i, body in enumerate(character.bodies):
        assert model.body(layout.order.index(i) + 1).name == body.name
        if i and body.joint.dof:
            first = model.joint(joint_names(body)[0])
            assert (layout.qpos_start[i], layout.qvel_start[i]) == (first.qposadr[0], first.dofadr[0])


def test_frames_come_back(character):
    motion = wobble(character)
    root_pos, root_rot, joint_rot = qpos_to_frames(character, motion_to_qpos(character, motion))
    assert torch.allclose(root_pos, motion.root_pos)
    assert rotation.angle(rotation.difference(root_rot, motion.root_rot)).max() < 1e-7
    assert rotation.angle(rotation.difference(joint_rot, motion.joint_rot)).max() < 1e-7


def test_fixed_joints_read_as_the_identity(crawler):
    foot = crawler.index("front_foot") - 1
    joints = qpos_to_frames(crawler, motion_to_qpos(crawler, wobble(crawler)))[2]
    assert (joints[:, foot] == torch.tensor([0.0, 0, 0, 1], dtype=joints.dtype)).all()


def test_bodies_stand_where_mujoco_puts_them(character, model):
    qpos = motion_to_qpos(character, wobble(character))
    pose, data = qpos_to_bodies(character, qpos), mujoco.MjData(model)
    for t in range(len(qpos)):
        data.qpos[:] = qpos[t]
        mujoco.mj_kinematics(model, data)
        for i, name in enumerate(character.names):
            assert pose.pos[t, i].numpy() == pytest.approx(data.body(name).xpos, abs=1e-9)
            x, y, z, w = pose.rot[t, i].tolist()
            assert abs(np.dot([w, x, y, z], data.body(name).xquat)) == pytest.approx(1, abs=1e-9)


def test_velocities_are_mujocos_central_differences(character, model):
    motion = wobble(character)
    qpos, qvel = motion_to_qpos(character, motion), motion_to_qvel(character, motion)
    expected = np.zeros(model.nv)
    for t in range(len(motion)):
        a, b = max(t - 1, 0), min(t + 1, len(motion) - 1)
        mujoco.mj_differentiatePos(model, expected, (b - a) / motion.fps, qpos[a].numpy(), qpos[b].numpy())
        assert qvel[t].numpy() == pytest.approx(expected, abs=1e-7)


def test_integrating_the_velocity_leads_to_the_next_frame(character, model):
    motion = wobble(character)
    qpos = motion_to_qpos(character, motion)
    velocity = qpos_difference(character, qpos[:-1], qpos[1:], 1 / motion.fps)
    for t in range(len(motion) - 1):
        reached = qpos[t].numpy().copy()
        mujoco.mj_integratePos(model, reached, velocity[t].numpy(), 1 / motion.fps)
        there = qpos_to_bodies(character, torch.from_numpy(reached))
        assert torch.allclose(there.pos, qpos_to_bodies(character, qpos[t + 1]).pos, atol=1e-8)


def test_a_single_frame_is_at_rest(character):
    assert (motion_to_qvel(character, wobble(character).frame(3)) == 0).all()


def test_dof_are_the_motors_lengths(character, model):
    """A motor at its target pulls with nothing: its length, measured by MuJoCo, is the coordinate."""
    motion = wobble(character)
    qpos, data = motion_to_qpos(character, motion), mujoco.MjData(model)
    dof = qpos_to_dof(character, qpos)
    assert torch.allclose(dof, joints_to_dof(character, motion.joint_rot), atol=1e-9)
    for t in range(len(motion)):
        data.qpos[:] = qpos[t]
        mujoco.mj_fwdPosition(model, data)
        assert data.actuator_length[: character.num_dof] == pytest.approx(dof[t].numpy(), abs=1e-9)


def test_standing_is_all_zeros(character):
    qpos = standing_qpos(character, torch.tensor([[1.0, 2.0, 3.0]]))
    assert (qpos_to_dof(character, qpos) == 0).all()
    assert qpos[0, :7].tolist() == [1, 2, 3, 1, 0, 0, 0]


def test_leading_dimensions_are_free(character):
    qpos = motion_to_qpos(character, wobble(character)).reshape(3, 4, -1)
    frames = qpos_to_frames(character, qpos)
    assert torch.allclose(frames_to_qpos(character, *frames), qpos)
