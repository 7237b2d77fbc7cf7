"""The MuJoCo model against the character it was built from."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest

from parc.character.character import Body, Character
from parc.character.humanoid import humanoid
from parc.errors import CharacterError, SettingsError
from parc.physics.contract import Contract, ContractError
from parc.physics.model import WINDOW, build_model, native_copy, root_height, sealed_contract


@pytest.fixture(scope="module")
def model() -> mujoco.MjModel:
    return build_model(humanoid(), Contract())


def test_every_body_weighs_what_its_shapes_weigh(model, crawler):
    for character, built in ((humanoid(), model), (crawler, build_model(crawler, Contract()))):
        for body in character.bodies:
            assert built.body(body.name).mass[0] == pytest.approx(sum(s.mass for s in body.shapes), rel=1e-9)
        assert built.body_mass.sum() == pytest.approx(character.mass, rel=1e-9)


def test_the_contract_is_in_the_model(model):
    assert model.opt.timestep == pytest.approx(1 / 120)
    assert model.nu == humanoid().num_dof
    for body, start in zip(humanoid().bodies, humanoid().dof_start, strict=True):
        for dof in range(start, start + body.joint.dof):
            assert model.actuator_gainprm[dof, 0] == body.joint.stiffness
            assert model.actuator_forcerange[dof].tolist() == [-3 * body.joint.torque_limit, 3 * body.joint.torque_limit]
    stronger = build_model(humanoid(), Contract(torque_scale=4, gain_scale=2, friction=0.5, substeps=2))
    assert stronger.actuator_forcerange[0, 1] == 4 * humanoid().bodies[1].joint.torque_limit
    assert np.allclose(stronger.actuator_gainprm[:, 0], 2 * model.actuator_gainprm[:, 0])
    assert np.allclose(stronger.dof_damping, 2 * model.dof_damping)
    assert (stronger.geom_friction[:, 0] == 0.5).all()
    assert stronger.opt.timestep == pytest.approx(1 / 60)


def test_damping_is_passive_so_that_a_saturated_motor_keeps_it(model):
    assert (model.actuator_biasprm[:, 2] == 0).all()
    assert model.dof_damping[6:].min() > 0 and (model.dof_damping[:6] == 0).all()


def test_bodies_meet_the_ground_and_not_each_other(model):
    ground = np.arange(model.ngeom) < WINDOW * WINDOW
    assert (model.geom_bodyid[ground] == 0).all() and (model.geom_bodyid[~ground] > 0).all()
    meets = (model.geom_contype[:, None] & model.geom_conaffinity[None]) != 0
    meets |= meets.T
    assert (meets == (ground[:, None] ^ ground[None])).all()


def test_hinges_are_limited_and_balls_are_not(model):
    for body in humanoid().bodies[1:]:
        if body.joint.is_hinge:
            assert model.joint(body.name).range == pytest.approx([body.joint.lower[0], body.joint.upper[0]])
            assert model.jnt_limited[model.joint(body.name).id]
        elif body.joint.is_ball:
            assert not model.jnt_limited[model.joint(body.name).id]


def test_the_native_copy_leaves_the_shared_model_alone(model):
    before = model.opt.disableflags
    assert native_copy(model).opt.disableflags != before
    assert model.opt.disableflags == before


def test_root_height_is_where_the_soles_touch(crawler):
    assert root_height(humanoid()) == pytest.approx(0.421546 + 0.409870 + 0.0225 + 0.0275)
    assert root_height(crawler) == pytest.approx(0.25)


def test_a_contract_for_another_character_is_refused(crawler):
    contract = sealed_contract(humanoid(), Contract())
    assert contract.character == humanoid().fingerprint
    with pytest.raises(ContractError, match=crawler.fingerprint):
        sealed_contract(crawler, contract)


def test_a_policy_for_other_physics_is_refused():
    with pytest.raises(ContractError, match=r"substeps is 2, the policy needs 4"):
        Contract(substeps=2).check_matches(Contract())
    Contract().check_matches(replace(Contract()))


def test_contracts_from_before_contacts_were_part_of_them_keep_their_soft_ground(model):
    old = Contract(**Contract.completed({"substeps": 4}))
    soft = build_model(humanoid(), old)
    assert soft.geom_solref[0].tolist() == [0.015, 1.0] and soft.geom_solimp[0, :3].tolist() == [0.9, 0.95, 0.001]
    assert not soft.geom_margin.any()
    assert model.geom_margin[0] + model.geom_margin[-1] == pytest.approx(Contract().contact_margin)
    assert "contact_margin is 0.0007, the policy needs 0.0" in Contract().differences(old)
    with pytest.raises(SettingsError, match=r"contact_impedance is \(0.9, 1.0\)"):
        Contract(contact_impedance=(0.9, 1.0))


def test_a_standing_body_rests_just_above_the_ground(model):
    """At rest no contact is closer than 0 nor farther than the margin; with the old contacts it sinks."""

    def rest(model: mujoco.MjModel) -> np.ndarray:
        data = mujoco.MjData(model)
        data.qpos[2] = root_height(humanoid()) + 0.005
        for _ in range(60):
            mujoco.mj_step(model, data)
        return data.contact.dist

    ours, old = rest(native_copy(model)), rest(native_copy(build_model(humanoid(), Contract(**Contract.completed({})))))
    assert len(ours) == 8 and ours.min() > 0.0001 and ours.max() < Contract().contact_margin
    assert len(old) == 8 and old.max() < 0


def test_damping_as_inertia_is_the_implicit_step_when_nothing_touches(model):
    """Oracle: MuJoCo's implicitfast integrator, in the air, far from joint limits, with random velocities and motor targets."""
    implicit = build_model(humanoid(), replace(Contract(), damping_as_inertia=False))
    assert implicit.opt.integrator == mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    draw = np.random.default_rng(3)
    velocity, targets = draw.normal(size=model.nv), draw.normal(size=model.nu)
    after = []
    for scene in (native_copy(model), native_copy(implicit)):
        scene.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_LIMIT
        data = mujoco.MjData(scene)
        data.qpos[2], data.qvel[:], data.ctrl[:] = 5.0, velocity, targets
        for _ in range(4):
            mujoco.mj_step(scene, data)
        assert data.ncon == 0
        after.append(data.qvel.copy())
    assert np.abs(after[0] - velocity).max() > 1
    np.testing.assert_allclose(after[0], after[1], atol=1e-9)


def test_damping_as_inertia_keeps_feet_on_the_ground(model):
    """Motor targets that wobble by 0.1 rad every control step: soles stay, under the implicit integrator they slide."""

    def slide(scene: mujoco.MjModel) -> float:
        data = mujoco.MjData(scene)
        data.qpos[2] = root_height(humanoid())
        sole = [scene.body(f"{side}_foot").id for side in ("left", "right")]
        speeds = []
        for step in range(15):
            before = data.xpos[sole].copy()
            data.ctrl[:] = 0.1 * (-1) ** step
            for _ in range(4):
                mujoco.mj_step(scene, data)
            speeds.append(np.linalg.norm(data.xpos[sole, :2] - before[:, :2], axis=-1).mean() * 30)
        return float(np.mean(speeds[5:]))

    ours = slide(native_copy(model))
    assert ours < 0.5 * slide(native_copy(build_model(humanoid(), replace(Contract(), damping_as_inertia=False))))


def test_a_moving_body_without_mass_is_refused_in_words(crawler):
    ghost = Character("ghost", (*crawler.bodies[:2], Body("air", 0, (0, 0, 1), crawler.bodies[2].joint)))
    with pytest.raises(CharacterError, match="ghost"):
        build_model(ghost, Contract())
