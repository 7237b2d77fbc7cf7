"""The MuJoCo model against the character it was built from."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest

from parc.character.body_shape import Sphere
from parc.character.character import Body, Character
from parc.character.humanoid import humanoid
from parc.errors import CharacterError, SettingsError
from parc.physics.mujoco_model import WINDOW, build_model, excluded_contacts, native_copy, root_height, sealed_contract
from parc.physics.physical_contract import Contract, ContractError

BEFORE = Contract(damping_in_limit=False, self_collision=False, ball_stops=False, torque_scale=3.0)
"""The contract of the first seven releases."""


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
    balls = sum(body.joint.is_ball for body in humanoid().bodies)
    assert model.nu == humanoid().num_dof + 2 * 3 * balls
    for body, start in zip(humanoid().bodies, humanoid().dof_start, strict=True):
        for dof in range(start, start + body.joint.dof):
            assert model.actuator_gainprm[dof, 0] == body.joint.stiffness
            assert model.actuator_forcerange[dof].tolist() == [-body.joint.torque_limit, body.joint.torque_limit]
    motors = slice(0, humanoid().num_dof)
    stronger = build_model(humanoid(), Contract(torque_scale=4, gain_scale=2, friction=0.5, substeps=2))
    assert stronger.actuator_forcerange[0, 1] == 4 * humanoid().bodies[1].joint.torque_limit
    assert np.allclose(stronger.actuator_gainprm[motors, 0], 2 * model.actuator_gainprm[motors, 0])
    assert np.allclose(stronger.actuator_biasprm[motors], 2 * model.actuator_biasprm[motors])
    assert (stronger.geom_friction[:, 0] == 0.5).all()
    assert stronger.opt.timestep == pytest.approx(1 / 60)


def _in_the_air(scene: mujoco.MjModel, velocity: np.ndarray, targets: np.ndarray, steps: int = 4) -> mujoco.MjData:
    """Some steps far above the ground, without joint limits."""
    scene.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_LIMIT
    data = mujoco.MjData(scene)
    data.qpos[2], data.qvel[:] = 5.0, velocity
    data.ctrl[: len(targets)] = targets
    for _ in range(steps):
        mujoco.mj_step(scene, data)
    assert data.ncon == 0
    return data


def test_a_motor_below_its_limit_makes_the_implicit_step(model):
    """Oracle: passive joint damping under MuJoCo's implicitfast integrator, with random velocities and small targets."""
    plain = replace(BEFORE, torque_scale=1e3, damping_as_inertia=False)
    implicit = build_model(humanoid(), plain)
    assert implicit.opt.integrator == mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    draw = np.random.default_rng(3)
    velocity, targets = draw.normal(size=model.nv), 0.3 * draw.normal(size=humanoid().num_dof)
    contracts = (
        plain,
        replace(plain, damping_as_inertia=True),
        Contract(torque_scale=1e3, ball_stops=False, self_collision=False),
    )
    after = [_in_the_air(native_copy(build_model(humanoid(), c)), velocity, targets).qvel.copy() for c in contracts]
    assert np.abs(after[0] - velocity).max() > 1
    np.testing.assert_allclose(after[1], after[0], atol=1e-9)
    np.testing.assert_allclose(after[2], after[0], atol=1e-9)


def test_a_motors_limit_bounds_its_damping_too(model):
    """A knee at 8 rad/s, asked to go on: kp e - kd v = -600 N m, of which the limit leaves 150, and not 150 - 400."""
    knee = humanoid().index("right_shin")
    motor = humanoid().bodies[knee].joint
    asked = {0.2: -500 * 0.8 + 50 * 8.0, -1.0: -500 * 2.0 + 50 * 8.0}
    for target, torque in asked.items():
        for contract in (Contract(), Contract(torque_scale=1.5), BEFORE):
            scene = native_copy(build_model(humanoid(), contract))
            data, joint = mujoco.MjData(scene), scene.joint("right_shin")
            data.qpos[2], data.qpos[joint.qposadr[0]], data.qvel[joint.dofadr[0]] = 5.0, 1.0, -8.0
            data.ctrl[humanoid().dof_start[knee]] = target
            mujoco.mj_forward(scene, data)
            limit = motor.torque_limit * contract.torque_scale
            expected = max(torque, -limit) if contract is not BEFORE else max(torque - 400, -limit) + 400
            given = data.qfrc_actuator[joint.dofadr[0]] + data.qfrc_passive[joint.dofadr[0]]
            assert given == pytest.approx(expected)


def test_saturated_motors_stay_stable(model):
    """Random targets far beyond every range, in the air and on the ground: no world runs away."""
    draw = np.random.default_rng(0)
    for contract in (Contract(), Contract(torque_scale=3.0), Contract(substeps=8)):
        scene = native_copy(build_model(humanoid(), contract))
        data = mujoco.MjData(scene)
        data.qpos[2] = root_height(humanoid())
        for _ in range(60):
            data.ctrl[: humanoid().num_dof] = draw.uniform(-3, 3, humanoid().num_dof)
            for _ in range(contract.substeps):
                mujoco.mj_step(scene, data)
            assert np.isfinite(data.qpos).all() and np.abs(data.qvel).max() < 100


def test_bodies_meet_the_ground_and_each_other_unless_they_are_neighbours(model):
    before = build_model(humanoid(), BEFORE)
    for scene, together in ((model, True), (before, False)):
        ground = np.arange(scene.ngeom) < WINDOW * WINDOW
        assert (scene.geom_bodyid[ground] == 0).all() and (scene.geom_bodyid[~ground] > 0).all()
        meets = (scene.geom_contype[:, None] & scene.geom_conaffinity[None]) != 0
        meets |= meets.T
        assert (meets[ground][:, ~ground]).all() and not meets[ground][:, ground].any()
        assert (meets[~ground][:, ~ground] == together).all()


def _touching(scene: mujoco.MjModel, qpos: np.ndarray) -> set[frozenset[str]]:
    """Pairs of bodies, the world left out, that have contacts."""
    data = mujoco.MjData(scene)
    data.qpos[:] = qpos
    mujoco.mj_forward(scene, data)
    pairs = [[scene.body(scene.geom_bodyid[g]).name for g in contact.geom] for contact in data.contact]
    return {frozenset(pair) for pair in pairs if "world" not in pair}


def test_crossed_legs_collide_and_a_body_at_rest_does_not(model):
    scene = native_copy(model)
    data = mujoco.MjData(scene)
    data.qpos[2] = 5.0
    assert not _touching(scene, data.qpos)
    for side, turn in (("right", 0.14), ("left", -0.14)):
        start = scene.joint(f"{side}_thigh").qposadr[0]
        data.qpos[start : start + 4] = np.cos(turn / 2), np.sin(turn / 2), 0, 0
    assert frozenset(("right_shin", "left_shin")) in _touching(scene, data.qpos)
    assert not _touching(native_copy(build_model(humanoid(), BEFORE)), data.qpos)


def test_bodies_that_overlap_at_rest_never_collide(crawler):
    assert excluded_contacts(humanoid()) == ()
    head = humanoid().bodies[2]
    grown = replace(head, shapes=(*head.shapes, Sphere((0.0, 0.0, -0.3), 0.12, 500)))
    wide = Character("wide", (*humanoid().bodies[:2], grown, *humanoid().bodies[3:]), humanoid().mirror_of)
    assert excluded_contacts(wide) == ("pelvis/head",)
    contract = sealed_contract(wide, Contract())
    assert contract.excluded_contacts == ("pelvis/head",)
    at_rest = mujoco.MjData(build_model(wide, Contract())).qpos.copy()
    at_rest[2] = 5.0
    assert not _touching(native_copy(build_model(wide, Contract())), at_rest)
    with pytest.raises(ContractError, match="excludes the contacts pelvis/head"):
        sealed_contract(humanoid(), replace(contract, character=""))
    with pytest.raises(SettingsError, match="damping_in_limit"):
        Contract(damping_as_inertia=False)


def test_every_joint_has_limits(model):
    """Motors pull with all they have, the arms and legs fall on top: no coordinate leaves its range by more than 5 degrees."""
    for body in humanoid().bodies[1:]:
        if body.joint.is_hinge:
            assert model.joint(body.name).range == pytest.approx([body.joint.lower[0], body.joint.upper[0]])
            assert model.jnt_limited[model.joint(body.name).id]
    for body, start in zip(humanoid().bodies, humanoid().dof_start, strict=True):
        if not body.joint.is_ball:
            continue
        worst = {}
        for contract in (Contract(), BEFORE):
            scene, found = native_copy(build_model(humanoid(), contract)), []
            joint = scene.joint(body.name)
            for k in range(3):
                for end, push in ((body.joint.lower[k], -1.0), (body.joint.upper[k], 1.0)):
                    data = mujoco.MjData(scene)
                    data.qpos[2] = 5.0
                    data.ctrl[start + k] = end + push
                    for _ in range(60):
                        mujoco.mj_step(scene, data)
                    w, *xyz = data.qpos[joint.qposadr[0] : joint.qposadr[0] + 4]
                    turn = 2 * np.arctan2(np.linalg.norm(xyz), w) * np.array(xyz)[k] / max(np.linalg.norm(xyz), 1e-9)
                    found.append(push * (turn - end))
            worst[contract] = np.degrees(max(found))
        assert worst[Contract()] < 5 < worst[BEFORE], body.name


def test_stops_do_nothing_inside_the_range(model):
    """Slowly moving joints near the middle of their ranges feel no stop."""
    draw = np.random.default_rng(1)
    velocity, targets = 0.2 * draw.normal(size=model.nv), 0.1 * draw.normal(size=humanoid().num_dof)
    free = build_model(humanoid(), Contract(ball_stops=False))
    with_stops, without = (_in_the_air(native_copy(m), velocity, targets).qvel for m in (model, free))
    np.testing.assert_allclose(with_stops, without, atol=1e-12)


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


def test_damping_as_inertia_keeps_feet_on_the_ground(model):
    """Motor targets that wobble by 0.1 rad every control step: soles stay, under the implicit integrator they slide."""

    def slide(scene: mujoco.MjModel) -> float:
        data = mujoco.MjData(scene)
        data.qpos[2] = root_height(humanoid())
        sole = [scene.body(f"{side}_foot").id for side in ("left", "right")]
        speeds = []
        for step in range(15):
            before = data.xpos[sole].copy()
            data.ctrl[: humanoid().num_dof] = 0.1 * (-1) ** step
            for _ in range(4):
                mujoco.mj_step(scene, data)
            speeds.append(np.linalg.norm(data.xpos[sole, :2] - before[:, :2], axis=-1).mean() * 30)
        return float(np.mean(speeds[5:]))

    ours = slide(native_copy(model))
    assert ours < 0.5 * slide(native_copy(build_model(humanoid(), replace(BEFORE, damping_as_inertia=False))))


def test_a_moving_body_without_mass_is_refused_in_words(crawler):
    ghost = Character("ghost", (*crawler.bodies[:2], Body("air", 0, (0, 0, 1), crawler.bodies[2].joint)))
    with pytest.raises(CharacterError, match="ghost"):
        build_model(ghost, Contract())
