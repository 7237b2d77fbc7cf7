"""Body poses from the bare model, against MuJoCo's whole one and against our own kinematics."""

import mujoco
import numpy as np
import pytest
import torch

from parc.character.character import Character
from parc.character.humanoid import humanoid
from parc.motion.mujoco_qpos import qpos_to_bodies, state_layout
from parc.physics.mujoco_model import build_model
from parc.physics.native_skeleton import NativeSkeleton
from parc.physics.physical_contract import Contract

N = 6


def states(character: Character) -> np.ndarray:
    """Any numbers, quaternions of unit length."""
    qpos = np.random.default_rng(0).normal(size=(N, state_layout(character).nq))
    qpos[:, 3:7] /= np.linalg.norm(qpos[:, 3:7], axis=-1, keepdims=True)
    for body, at in enumerate(state_layout(character).qpos_start):
        if at >= 0 and character.bodies[body].joint.is_ball:
            qpos[:, at : at + 4] /= np.linalg.norm(qpos[:, at : at + 4], axis=-1, keepdims=True)
    return qpos


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", ["humanoid", "crawler"])
def test_poses_are_mujocos_and_ours(kind: str, threads: int, crawler: Character) -> None:
    character = humanoid() if kind == "humanoid" else crawler
    model, qpos = build_model(character, Contract()), states(character)
    skeleton = NativeSkeleton(character, model, N, threads)
    pos, rot = torch.zeros(N, character.num_bodies, 3), torch.zeros(N, character.num_bodies, 4)
    skeleton.pose(qpos, pos, rot)

    ours = qpos_to_bodies(character, torch.from_numpy(qpos))
    torch.testing.assert_close(pos, ours.pos.float(), atol=1e-6, rtol=1e-6)
    torch.testing.assert_close(rot, ours.rot.float(), atol=1e-6, rtol=0)
    data = mujoco.MjData(model)
    data.qpos[:] = qpos[2]
    mujoco.mj_forward(model, data)
    for place, body in enumerate(state_layout(character).order):
        np.testing.assert_allclose(pos[2, body], data.xpos[place + 1], atol=1e-6)
        np.testing.assert_allclose(rot[2, body].roll(1), data.xquat[place + 1], atol=1e-6)


def test_the_model_it_is_made_from_stays_as_it_is() -> None:
    model = build_model(humanoid(), Contract())
    before = int(model.opt.disableflags)
    NativeSkeleton(humanoid(), model, 1, 1)
    assert int(model.opt.disableflags) == before
