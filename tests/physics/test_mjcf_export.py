"""The exported scene, opened by MuJoCo from its file."""

import mujoco
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from parc.author.procedural_walk import stroll
from parc.character.humanoid import humanoid
from parc.character.mjcf import character_from_mjcf
from parc.path.terrain_path import TerrainPath
from parc.physics.mjcf_export import export_mjcf, merge_plateaus
from parc.physics.physical_contract import Contract
from parc.terrain.terrain import Terrain


@given(arrays.arrays(float, st.tuples(st.integers(1, 6), st.integers(1, 6)), elements=st.sampled_from([0.0, 0.4, -1.0])))
def test_plateaus_tile_the_map(heights):
    covered = np.full(heights.shape, np.nan)
    for p in merge_plateaus(heights):
        patch = covered[p.i0 : p.i1, p.j0 : p.j1]
        assert patch.size and np.isnan(patch).all(), "two plateaus overlap"
        covered[p.i0 : p.i1, p.j0 : p.j1] = p.height
    assert (covered == heights).all()


def test_flat_ground_is_one_box():
    assert len(merge_plateaus(np.zeros((30, 40)))) == 1


@pytest.mark.parametrize("name", ["humanoid", "crawler"])
def test_the_character_stands_on_the_exported_ground(name, request, tmp_path):
    character = humanoid() if name == "humanoid" else request.getfixturevalue(name)
    heights = torch.zeros(9, 11)
    heights[3:7, 4:8] = 0.6
    terrain = Terrain(heights, torch.tensor([-2.0, 5.0]))
    export_mjcf(character, terrain, tmp_path / "scene.xml")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "scene.xml"))
    data = mujoco.MjData(model)
    assert model.body_mass.sum() == pytest.approx(character.mass, rel=1e-4)
    assert model.opt.integrator == mujoco.mjtIntegrator.mjINT_EULER
    assert model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_EULERDAMP
    assert data.qpos[:2].tolist() == pytest.approx([-2.0 + 4 * 0.4, 5.0 + 5 * 0.4])
    while data.time < 1:
        mujoco.mj_step(model, data)
    lowest = min(data.contact.pos[:, 2])
    assert data.ncon >= 3 and lowest == pytest.approx(0.6, abs=0.01)
    assert np.abs(data.qvel).max() < 0.5


def test_a_motion_begins_at_the_keyframe(tmp_path):
    path = TerrainPath(torch.tensor([[0.4, 1.2, 0.0], [4.4, 1.2, 0.0]]))
    clip = stroll(Terrain.flat((14, 8)), path)
    export_mjcf(humanoid(), clip.terrain, tmp_path / "scene.xml", motion=clip.motion)
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "scene.xml"))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, model.key("start").id)
    mujoco.mj_kinematics(model, data)
    np.testing.assert_allclose(data.xpos[1:], clip.motion.body_poses(humanoid()).pos[0].numpy(), atol=1e-4)
    ahead = clip.motion.root_pos[1] - clip.motion.root_pos[0]
    np.testing.assert_allclose(data.qvel[:3], clip.motion.fps * ahead.numpy(), atol=0.2)


def test_the_exported_body_has_the_motors_of_the_contract(tmp_path):
    """Read again as a character, every joint has the gains and the limit it had; the stops of its balls are no motors."""
    export_mjcf(humanoid(), Terrain.flat((3, 3)), tmp_path / "scene.xml", Contract(torque_scale=1.5))
    again = character_from_mjcf(tmp_path / "scene.xml")
    for ours, theirs in zip(humanoid().bodies[1:], again.bodies[1:], strict=True):
        assert theirs.name == ours.name
        if ours.joint.dof:
            read = (theirs.joint.stiffness, theirs.joint.damping, theirs.joint.torque_limit)
            assert read == pytest.approx((ours.joint.stiffness, ours.joint.damping, 1.5 * ours.joint.torque_limit))
