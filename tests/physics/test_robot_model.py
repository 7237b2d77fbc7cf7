"""The simulated model of a robot whose links are weighed and whose joints are small motors in a row."""

from pathlib import Path

import mujoco
import numpy as np
import pytest

from parc.character import find_character
from parc.character.mjcf import character_from_mjcf, read_mjcf
from parc.character.self_distance import self_pairs
from parc.errors import CharacterError
from parc.physics.mujoco_model import build_model, excluded_contacts, native_copy, root_height
from parc.physics.physical_contract import Contract

MANNIKIN = Path(__file__).parents[1] / "character" / "robot_mannikin.xml"


@pytest.fixture(scope="module")
def robot():
    return character_from_mjcf(MANNIKIN)


@pytest.fixture(scope="module")
def g1():
    try:
        return find_character("g1")
    except CharacterError as error:
        pytest.skip(str(error))


def _weights(character, file):
    """Largest difference of mass (kg) and of inertia about any axis (kg m2) to MuJoCo's own reading of the file."""
    theirs, ours = mujoco.MjModel.from_xml_path(str(file)), build_model(character, Contract())
    pairs = [(theirs.body(name), ours.body(name)) for name in character.names]
    mass = max(abs(a.mass[0] - b.mass[0]) for a, b in pairs)
    return mass, max(np.abs(np.sort(a.inertia) - np.sort(b.inertia)).max() for a, b in pairs)


def _standing(character, contract, seconds):
    """Height of the root (m) and the fastest coordinate since the start, held at its zero pose by its motors alone."""
    scene = native_copy(build_model(character, contract))
    data = mujoco.MjData(scene)
    data.qpos[2] = root_height(character)
    fastest = 0.0
    for _ in range(int(seconds / contract.timestep)):
        mujoco.mj_step(scene, data)
        fastest = max(fastest, float(np.abs(data.qvel).max()))
    return float(data.qpos[2]), fastest


def test_the_model_weighs_what_the_file_says(robot):
    mass, inertia = _weights(robot, MANNIKIN)
    assert mass < 1e-9 and inertia < 1e-9
    assert build_model(robot, Contract()).body_mass.sum() == pytest.approx(robot.mass)


def test_motors_have_the_limits_that_are_told(robot):
    scene = build_model(robot, Contract())
    assert scene.nu == robot.num_dof
    for body, start in zip(robot.bodies, robot.dof_start, strict=True):
        if body.joint.dof:
            assert scene.actuator_forcerange[start].tolist() == [-body.joint.torque_limit, body.joint.torque_limit]
            assert scene.joint(body.name).range.tolist() == [*body.joint.lower, *body.joint.upper]


def test_a_robot_at_rest_stands(robot):
    height, fastest = _standing(robot, Contract(), 2.0)
    assert height == pytest.approx(root_height(robot), abs=0.01) and fastest < 2


def test_every_pair_collides_but_neighbours_and_what_overlaps_at_rest(robot):
    assert excluded_contacts(robot) == ()
    thigh, hand = robot.index("left_thigh"), robot.index("left_hand")
    assert (thigh, hand) in self_pairs(robot)
    drawn = read_mjcf(MANNIKIN).character.bodies[robot.index("waist")]
    assert not drawn.shapes and drawn.mass == pytest.approx(0.5)


def test_the_g1_weighs_what_its_file_says_and_collides_as_its_makers_have_it(g1):
    from parc.character.named_character import _g1_file

    mass, inertia = _weights(g1, _g1_file())
    assert mass < 1e-9 and inertia < 1e-9
    theirs = mujoco.MjModel.from_xml_path(str(_g1_file()))
    excluded = {frozenset(theirs.body(int(i)).name for i in (s >> 16, s & 0xFFFF)) for s in theirs.exclude_signature}
    assert {frozenset(pair.split("/")) for pair in excluded_contacts(g1)} == excluded


def test_the_g1_stands_with_stiff_motors_inside_its_torque_limits(g1):
    """Its own gains are soft (10 Hz): without a policy the ankles, 28 N m / rad each, cannot hold 33 kg."""
    height, fastest = _standing(g1, Contract(gain_scale=8.0), 1.5)
    assert height == pytest.approx(root_height(g1), abs=0.01) and fastest < 2
    fallen, fastest = _standing(g1, Contract(), 1.5)
    assert fallen < 0.6 and fastest < 50
