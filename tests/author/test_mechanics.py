"""Laws of mechanics, against a simulator and by hand."""

import numpy as np
import pytest
import torch

from parc.author import mechanics
from parc.author.mechanics import MechanicsSettings
from parc.character import BodyPose, forward_kinematics, humanoid, rotation
from parc.character.inertia import centre_of_mass


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
    masses = mechanics.point_masses(humanoid())
    points = mechanics.place_masses(masses, _matrices(pose))
    centre = (points * masses.share.unsqueeze(-1)).sum(-2)
    assert torch.allclose(centre, centre_of_mass(humanoid(), pose), atol=1e-5)
    assert float(masses.share.sum()) == pytest.approx(1.0, abs=1e-5)


def test_point_masses_have_nearly_the_inertia_of_the_simulated_body() -> None:
    mujoco = pytest.importorskip("mujoco")
    from parc.physics.contract import Contract
    from parc.physics.model import build_model

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
    masses = mechanics.point_masses(humanoid())
    points = mechanics.place_masses(masses, _matrices(still))[0, 0].double().numpy()
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
    wrench = mechanics.needed(points, torch.tensor([0.5, 0.5], dtype=torch.float64), 30.0)
    assert wrench.force.abs().max() < 1e-9
    assert wrench.moment.abs().max() < 1e-9


def test_who_stands_needs_the_weight_and_no_moment_and_feet_beside_give_it() -> None:
    points = torch.tensor([[0.0, 0.3, 1.0], [0.0, -0.3, 1.0]]).expand(1, 3, 2, 3)
    wrench = mechanics.needed(points, torch.tensor([0.5, 0.5]), 30.0)
    assert torch.allclose(wrench.force, torch.tensor([0.0, 0.0, 1.0]).expand(1, 1, 3), atol=1e-6)
    force = torch.zeros(1, 1, 6, 3)
    force[..., :2, 2] = 0.5
    at = torch.zeros(1, 1, 6, 3)
    at[..., 0, 1], at[..., 1, 1] = 0.1, -0.1
    total, moment = mechanics.given(force, at, wrench.centre[:, 1:-1])
    assert torch.allclose(total, wrench.force, atol=1e-6)
    assert moment.abs().max() < 1e-6
    at[..., :2, 0] = 0.2
    assert float(mechanics.given(force, at, wrench.centre[:, 1:-1])[1][0, 0, 1]) == pytest.approx(-0.2)


@pytest.mark.parametrize(
    ("force", "excess"),
    [((0.0, 0.0, 0.5), 0.0), ((0.3, 0.0, 0.5), 0.0), ((0.6, 0.0, 0.5), 0.2), ((0.0, 0.0, -0.4), 0.4), ((0.0, 0.0, 3.5), 0.5)],
)
def test_forces_push_within_the_cone(force: tuple[float, float, float], excess: float) -> None:
    forces = torch.zeros(6, 3)
    forces[0] = torch.tensor(force)
    normal = torch.tensor([0.0, 0.0, 1.0]).expand(6, 3)
    over = mechanics.over_the_cone(forces, normal, MechanicsSettings(friction=0.8, foot_push=3.0))
    assert float(over[0]) == pytest.approx(excess, abs=2e-3)


def test_turning_is_the_angular_velocity_in_the_world() -> None:
    rate, fps = torch.tensor([0.4, -1.0, 2.0]), 30.0
    start = rotation.from_exp(torch.tensor([0.3, 0.8, -0.5]))
    times = torch.arange(4).unsqueeze(-1) / fps
    rot = rotation.to_matrix(rotation.multiply(rotation.from_exp(rate * times), start.expand(4, 4)))
    spin = mechanics.turning(rot.view(1, 4, 1, 3, 3), fps)
    assert spin.shape == (1, 2, 1, 3)
    assert torch.allclose(spin[0, :, 0], rate.expand(2, 3), rtol=5e-3)


def _still() -> tuple[torch.Tensor, torch.Tensor, BodyPose, torch.Tensor]:
    """No forces on the six parts, all of them and all bodies at the origin, unturned and at rest."""
    bodies = len(humanoid())
    pose = BodyPose(torch.zeros(bodies, 3), torch.eye(3).expand(bodies, 3, 3).clone())
    return torch.zeros(6, 3), torch.zeros(6, 3), pose, torch.zeros(bodies, 3)


def test_a_hand_far_from_the_shoulder_is_too_much_for_it() -> None:
    character = humanoid()
    limbs, settings = mechanics.limb_joints(character), MechanicsSettings(torque=1.0)
    force, at, pose, spin = _still()
    force[4, 1] = 0.5
    at[4, 0] = 0.1
    assert float(mechanics.over_torque(force, at, pose, spin, limbs, settings)) == pytest.approx(0.0, abs=1e-7)
    at[4, 0] = 0.6
    elbow, shoulder = 70 / (character.mass * 9.81), 100 / (character.mass * 9.81)
    wanted = (0.3 - elbow) ** 2 + (0.3 - shoulder) ** 2
    assert float(mechanics.over_torque(force, at, pose, spin, limbs, settings)) == pytest.approx(wanted, rel=1e-3)


def test_a_hinge_bears_what_does_not_turn_it() -> None:
    character = humanoid()
    force, at, pose, spin = _still()
    force[4, 2], at[4, 0] = 0.5, 0.6
    shoulder = 100 / (character.mass * 9.81)
    over = mechanics.over_torque(force, at, pose, spin, mechanics.limb_joints(character), MechanicsSettings(torque=1.0))
    assert float(over) == pytest.approx((0.3 - shoulder) ** 2, rel=1e-3)


@pytest.mark.parametrize(("rate", "pushes"), [(2.9, 0.0), (3.1, 0.0), (2.0, 0.25), (-2.0, 0.25)])
def test_damping_uses_up_a_motor_that_is_fast(rate: float, pushes: float) -> None:
    """A knee has 150 N m and a damping of 50 N m s: at 3 rad/s nothing is left to push with, while braking is helped by it."""
    character = humanoid()
    force, at, pose, spin = _still()
    for name in ("left_shin", "left_foot"):
        spin[character.names.index(name), 1] = rate
    force[2], at[2] = torch.tensor([pushes, 0.0, 0.0]), torch.tensor([0.0, 0.0, -0.8])
    for name in ("left_foot", "left_thigh"):
        pose.pos[character.names.index(name)] = at[2]
    over = mechanics.over_torque(force, at, pose, spin, mechanics.limb_joints(character), MechanicsSettings(torque=1.0))
    motor = abs(50 * rate / (character.mass * 9.81) - (-0.8 * pushes))
    assert float(over) == pytest.approx(max(motor - 150 / (character.mass * 9.81), 0.0) ** 2, abs=1e-6)
