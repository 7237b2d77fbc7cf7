"""Laws of mechanics, against a simulator and by hand."""

import mujoco
import numpy as np
import pytest
import torch

from parc.character import BodyPose, forward_kinematics, humanoid, rotation
from parc.character.inertia import centre_of_mass
from parc.fit import contact_mechanics
from parc.fit.contact_mechanics import MechanicsSettings
from parc.motion.mujoco_qpos import qpos_to_frames, standing_qpos
from parc.physics.mujoco_model import build_model
from parc.physics.physical_contract import Contract


@pytest.fixture(scope="module")
def pose() -> BodyPose:
    """Two clips of five frames, smooth and turning."""
    generator = torch.Generator().manual_seed(0)
    t = torch.arange(5).view(1, 5, 1) / 30
    start, rate = torch.randn(2, 1, 3, generator=generator), torch.randn(2, 1, 3, generator=generator)
    turn = torch.randn(2, 1, 14, 3, generator=generator) * 0.5 * t.unsqueeze(-1)
    quaternion = forward_kinematics(humanoid(), start + rate * t, rotation.from_exp(2 * rate * t), rotation.from_exp(turn))
    return quaternion


def _matrices(pose: BodyPose) -> BodyPose:
    return BodyPose(pose.pos, rotation.to_matrix(pose.rot))


def test_point_masses_have_the_characters_centre_of_mass(pose: BodyPose) -> None:
    masses = contact_mechanics.point_masses(humanoid())
    points = contact_mechanics.place_masses(masses, _matrices(pose))
    centre = (points * masses.share.unsqueeze(-1)).sum(-2)
    assert torch.allclose(centre, centre_of_mass(humanoid(), pose), atol=1e-5)
    assert float(masses.share.sum()) == pytest.approx(1.0, abs=1e-5)


def test_point_masses_have_nearly_the_inertia_of_the_simulated_body() -> None:
    model = build_model(humanoid(), Contract())
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    body = model.body("pelvis").id
    mujoco.mj_subtreeVel(model, data)
    names = [model.body(i).name for i in range(model.nbody)]
    rows = [names.index(n) for n in humanoid().names]
    exact = np.zeros((3, 3))
    centre = data.subtree_com[body]
    for i in rows:
        turn = data.ximat[i].reshape(3, 3)
        arm = data.xipos[i] - centre
        exact += turn @ np.diag(model.body_inertia[i]) @ turn.T + model.body_mass[i] * (
            arm @ arm * np.eye(3) - np.outer(arm, arm)
        )
    identity = rotation.identity((1, 1, 14))
    still = forward_kinematics(humanoid(), torch.zeros(1, 1, 3), rotation.identity((1, 1)), identity)
    masses = contact_mechanics.point_masses(humanoid())
    points = contact_mechanics.place_masses(masses, _matrices(still))[0, 0].double().numpy()
    share = masses.share.double().numpy() * humanoid().mass
    arms = points - (points * share[:, None]).sum(0) / share.sum()
    ours = sum(m * (a @ a * np.eye(3) - np.outer(a, a)) for m, a in zip(share, arms, strict=True))
    assert np.allclose(np.diag(ours), np.diag(exact), rtol=0.08)


def test_who_falls_freely_and_spins_needs_no_contact() -> None:
    t = torch.arange(9).double() / 30
    arm = torch.tensor([0.3, 0.0, 0.2], dtype=torch.float64)
    spin = rotation.to_matrix(rotation.from_axis_angle(torch.tensor([0.0, 1.0, 0.0], dtype=torch.float64), 4 * t))
    centre = torch.stack([2 * t, 0 * t, 3 * t - 0.5 * 9.81 * t**2], -1)
    points = torch.stack([centre + spin @ arm, centre - spin @ arm], 1).unsqueeze(0)
    wrench = contact_mechanics.needed(points, torch.tensor([0.5, 0.5], dtype=torch.float64), 30.0)
    assert wrench.force.abs().max() < 1e-9
    assert wrench.moment.abs().max() < 1e-9


def test_who_stands_needs_the_weight_and_no_moment_and_feet_beside_give_it() -> None:
    points = torch.tensor([[0.0, 0.3, 1.0], [0.0, -0.3, 1.0]]).expand(1, 3, 2, 3)
    wrench = contact_mechanics.needed(points, torch.tensor([0.5, 0.5]), 30.0)
    assert torch.allclose(wrench.force, torch.tensor([0.0, 0.0, 1.0]).expand(1, 1, 3), atol=1e-6)
    force = torch.zeros(1, 1, 6, 3)
    force[..., :2, 2] = 0.5
    at = torch.zeros(1, 1, 6, 3)
    at[..., 0, 1], at[..., 1, 1] = 0.1, -0.1
    total, moment = contact_mechanics.given(force, at, wrench.centre[:, 1:-1])
    assert torch.allclose(total, wrench.force, atol=1e-6)
    assert moment.abs().max() < 1e-6
    at[..., :2, 0] = 0.2
    assert float(contact_mechanics.given(force, at, wrench.centre[:, 1:-1])[1][0, 0, 1]) == pytest.approx(-0.2)


@pytest.mark.parametrize(
    ("force", "excess"),
    [((0.0, 0.0, 0.5), 0.0), ((0.3, 0.0, 0.5), 0.0), ((0.6, 0.0, 0.5), 0.2), ((0.0, 0.0, -0.4), 0.4), ((0.0, 0.0, 3.5), 0.5)],
)
def test_forces_push_within_the_cone(force: tuple[float, float, float], excess: float) -> None:
    forces = torch.zeros(6, 3)
    forces[0] = torch.tensor(force)
    normal = torch.tensor([0.0, 0.0, 1.0]).expand(6, 3)
    over = contact_mechanics.over_the_cone(forces, normal, MechanicsSettings(friction=0.8, foot_push=3.0))
    assert float(over[0]) == pytest.approx(excess, abs=2e-3)


def test_angular_acceleration_is_the_rise_of_the_angular_velocity_in_the_world() -> None:
    rate, fps = torch.tensor([0.4, -1.0, 2.0]), 30.0
    start = rotation.from_exp(torch.tensor([0.3, 0.8, -0.5]))
    times = torch.arange(4).unsqueeze(-1) / fps

    def turned(angle: torch.Tensor) -> torch.Tensor:
        return rotation.to_matrix(rotation.multiply(rotation.from_exp(angle), start.expand(4, 4))).view(1, 4, 1, 3, 3)

    assert contact_mechanics.angular_acceleration(turned(rate * times), fps).abs().max() < 1e-2
    found = contact_mechanics.angular_acceleration(turned(0.5 * rate * (times - times.mean()).square()), fps)
    assert found.shape == (1, 2, 1, 3)
    assert torch.allclose(found[0, :, 0], rate.expand(2, 3), rtol=1e-2, atol=1e-2)


def _torques(force: torch.Tensor, at: torch.Tensor, pose: BodyPose, acceleration: torch.Tensor) -> dict[str, float]:
    """N m of every motor of a body that has no weight, from the forces in weights."""
    character = humanoid()
    motors = contact_mechanics.joint_motors(character)
    nothing = torch.zeros(motors.masses.shape[1], 3)
    torques = contact_mechanics.joint_torques(force, at, nothing, nothing, pose, acceleration, motors) * character.mass * 9.81
    return {character.names[int(row)]: float(torque) for row, torque in zip(motors.joint, torques, strict=True)}


def _still() -> tuple[torch.Tensor, torch.Tensor, BodyPose, torch.Tensor]:
    """No forces on the six parts, all of them and all bodies at the origin, unturned and at rest."""
    bodies = len(humanoid())
    pose = BodyPose(torch.zeros(bodies, 3), torch.eye(3).expand(bodies, 3, 3).clone())
    return torch.zeros(6, 3), torch.zeros(6, 3), pose, torch.zeros(bodies, 3)


def test_a_hand_far_from_the_shoulder_asks_much_of_it_and_of_the_waist_and_nothing_of_the_other_limbs() -> None:
    force, at, pose, acceleration = _still()
    force[4, 1], at[4, 0] = 0.5, 0.6
    torques = _torques(force, at, pose, acceleration)
    wanted = 0.3 * humanoid().mass * 9.81
    for name, torque in torques.items():
        assert torque == pytest.approx(
            wanted if name in ("left_upper_arm", "left_lower_arm", "torso") else 0.0, rel=1e-3, abs=0.1
        )


def test_a_hinge_bears_what_does_not_turn_it() -> None:
    force, at, pose, acceleration = _still()
    force[4, 2], at[4, 0] = 0.5, 0.6
    torques = _torques(force, at, pose, acceleration)
    assert torques["left_lower_arm"] == pytest.approx(0.0, abs=0.1)
    assert torques["left_upper_arm"] == pytest.approx(0.3 * humanoid().mass * 9.81, rel=1e-3)


def test_speed_costs_a_motor_nothing_and_acceleration_what_the_step_adds_to_the_armature() -> None:
    """A knee has an armature of 0.02 kg m2 and 50 / 120 from its damping."""
    force, at, pose, acceleration = _still()
    for name in ("left_shin", "left_foot"):
        acceleration[humanoid().names.index(name), 1] = 100.0
    assert _torques(force, at, pose, acceleration)["left_shin"] == pytest.approx(100 * (0.02 + 50 / 120), rel=1e-3)


def test_the_limits_are_those_of_the_simulated_body() -> None:
    contract = Contract()
    assert contract.torque_scale == contact_mechanics.TORQUE_SCALE
    assert pytest.approx(contract.timestep) == contact_mechanics.TIMESTEP
    assert contract.damping_in_limit and contract.damping_as_inertia
    assert MechanicsSettings().torque < contract.torque_scale
    model, motors = build_model(humanoid(), contract), contact_mechanics.joint_motors(humanoid())
    first = [humanoid().dof_start[int(row)] for row in motors.joint]
    weight = humanoid().mass * 9.81
    assert np.allclose(motors.limit * weight, model.actuator_forcerange[first, 1])
    names = [humanoid().names[int(row)] for row in motors.joint]
    armature = [model.dof_armature[model.body(name).dofadr[0]] for name in names]
    assert np.allclose(motors.armature * weight, armature, rtol=1e-5)


def test_torques_are_those_of_the_simulators_inverse_dynamics() -> None:
    """Of a body that flies, turns, moves its limbs and is pushed at hands and feet; point masses are not quite the bodies."""
    character, contract = humanoid(), Contract()
    model, generator, fps = build_model(character, contract), np.random.default_rng(3), 200.0
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_ACTUATION
    data, motors = mujoco.MjData(model), contact_mechanics.joint_motors(character)
    start, rate = (
        standing_qpos(character, torch.tensor([[0.3, -0.2, 1.0]]))[0].double().numpy(),
        generator.normal(0, 1.0, model.nv),
    )
    mujoco.mj_integratePos(model, start, generator.normal(0, 0.4, model.nv), 1.0)
    acceleration = generator.normal(0, 20.0, model.nv)
    frames = []
    for side in (-1, 0, 1):
        qpos = start.copy()
        mujoco.mj_integratePos(model, qpos, rate + 0.5 * side * acceleration / fps, side / fps)
        frames.append(qpos)
    data.qpos[:], data.qvel[:], data.qacc[:] = start, rate, acceleration
    mujoco.mj_inverse(model, data)

    pose = _matrices(forward_kinematics(character, *qpos_to_frames(character, torch.as_tensor(np.stack(frames)))))
    pose = BodyPose(pose.pos.unsqueeze(0), pose.rot.unsqueeze(0))
    masses = contact_mechanics.point_masses(character)
    masses = masses._replace(share=masses.share.double(), turn=masses.turn.double())
    points = contact_mechanics.place_masses(masses, pose)
    load = contact_mechanics.needed(points, masses.share, fps).load
    ends = [character.names.index(n) for n in ("left_foot", "right_foot", "left_foot", "right_foot", "left_hand", "right_hand")]
    force, at = torch.as_tensor(generator.normal(0, 0.4, (1, 1, 6, 3))), pose.pos[:, 1:2, ends]
    pushed, weight = np.zeros(model.nv), character.mass * 9.81
    for k, body in enumerate(ends):
        row = model.body(character.names[body]).id
        mujoco.mj_applyFT(model, data, weight * force[0, 0, k].numpy(), np.zeros(3), at[0, 0, k].numpy(), row, pushed)
    inner = BodyPose(pose.pos[:, 1:-1], pose.rot[:, 1:-1])
    doubles = motors._replace(
        **{name: getattr(motors, name).double() for name in ("parts", "masses", "axis", "limit", "armature")}
    )
    torques = (
        contact_mechanics.joint_torques(
            force, at, load, points[:, 1:-1], inner, contact_mechanics.angular_acceleration(pose.rot, fps), doubles
        )[0, 0]
        * weight
    )
    wanted = data.qfrc_inverse - pushed
    for row, torque in zip(motors.joint.tolist(), torques.tolist(), strict=True):
        first, count = model.body(character.names[row]).dofadr[0], model.body(character.names[row]).dofnum[0]
        exact = np.linalg.norm(wanted[first : first + count])
        assert torque == pytest.approx(exact, rel=0.02, abs=0.5)
