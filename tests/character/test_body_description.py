"""A description beside an MJCF file is taken, its mistakes are one sentence, and what nobody told is reported."""

import math
import shutil
from pathlib import Path

import mujoco
import numpy as np
import pytest

from parc.character import Box
from parc.character.mjcf import read_mjcf
from parc.character.robot.body_description import BodyDescription, description_beside, read_description, shipped_description
from parc.character.robot.character_report import character_report
from parc.errors import CharacterError

MANNIKIN = Path(__file__).parent / "robot_mannikin.xml"


@pytest.fixture(scope="module")
def read():
    return read_mjcf(MANNIKIN)


@pytest.fixture(scope="module")
def plain():
    return read_mjcf(MANNIKIN, description=BodyDescription())


def test_what_is_told_is_on_the_body(read):
    robot = read.character
    assert robot.name == "mannikin" and robot.is_hinged and robot.is_weighed
    knee, hand = (robot.bodies[robot.index(name)] for name in ("left_shin", "right_hand"))
    assert (knee.joint.torque_limit, knee.joint.speed_limit, knee.joint.armature) == (90, 20, 0.02)
    turn = 2 * math.pi * 30
    assert knee.joint.stiffness == pytest.approx(0.02 * turn**2) and knee.joint.damping == pytest.approx(2 * 0.02 * turn)
    assert hand.is_key and not hand.is_foot and hand.joint.weight == 0.3
    (sole,) = robot.bodies[robot.index("left_foot")].shapes
    assert isinstance(sole, Box) and sole.half == (0.1, 0.035, 0.01) and sole.mass == pytest.approx(0.6)
    palms = {mark.place: mark for mark in robot.landmarks}
    assert palms["left_wrist"].point == (0.06, 0, 0) and robot.names[palms["left_wrist"].body] == "left_hand"


def test_what_nobody_tells_is_found_and_said(read, plain):
    same, told = plain.character, read.character
    assert same.fingerprint == told.fingerprint and same.mirror_of == told.mirror_of
    assert same.feet == told.feet and same.key_bodies == told.key_bodies
    said = " ".join(plain.guesses)
    for words in ("feet are the lowest ends", "limits follow from mass", "no speed limit", "landmarks of a person"):
        assert words in said and words not in " ".join(read.guesses)
    text = character_report(told, read.notes, read.guesses)
    assert "24 degrees of freedom" in text and "left_shin" in text and "touches nothing: its geoms are drawings" in text


def test_links_are_weighed_as_the_file_says_and_drawings_touch_nothing(read):
    """Oracle: MuJoCo's own masses and moments."""
    model = mujoco.MjModel.from_xml_path(str(MANNIKIN))
    for body, i in zip(read.character.bodies, read.frames.mujoco_body, strict=True):
        assert body.mass == pytest.approx(model.body_mass[i])
        xx, yy, zz, xy, xz, yz = body.inertial.moments
        moments = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        assert np.allclose(moments, np.sort(model.body_inertia[i]))
    bare = {body.name for body in read.character.bodies if not body.shapes}
    assert {"left_hip_a", "waist", "left_ankle", "right_shoulder_b"} <= bare


def test_a_description_that_tells_mirror_images_is_believed(tmp_path):
    file = shutil.copy(MANNIKIN, tmp_path / "robot.xml")
    description_beside(file).write_text('[mirror]\nleft_foot = "right_foot"\n')
    robot = read_mjcf(file).character
    left, right = robot.index("left_foot"), robot.index("right_foot")
    assert robot.mirror_of[left] == right and robot.mirror_of[right] == left and robot.mirror_of[robot.index("left_shin")] != left


@pytest.mark.parametrize(
    "text, said",
    [
        ("legs = 2", "tells 'legs', which no description has"),
        ("feet = 'left_foot'", "must be a list of names"),
        ("feet = ['toe']", "no body is called 'toe' to be a foot"),
        ("[[motors]]\nbodies = ['pelvis']\ntorque = 3", "body 'pelvis' has no joint"),
        ("[[motors]]\nbodies = ['*_shin']\ntorque = -3", "torque is -3, expected a positive number"),
        ("[[motors]]\nbodies = ['*_shin']\nforce = 3", "a motor has no 'force'"),
        ("[landmarks]\nleft_knee = {body = 'knee'}", "no body 'knee' to be left_knee"),
        ("[gains]\nfrequency = 'high'", "is not a description of a character"),
        ("feet = [", "is not a readable description"),
    ],
)
def test_a_wrong_description_is_one_sentence(tmp_path, text, said):
    file = shutil.copy(MANNIKIN, tmp_path / "robot.xml")
    description_beside(file).write_text(text)
    with pytest.raises(CharacterError, match=said) as error:
        read_mjcf(file)
    assert "\n" not in str(error.value)


def test_the_description_in_the_package_is_taken_by_the_names_of_bodies():
    from parc.character import robot

    told = read_description(Path(robot.__file__).parent / "g1.toml")
    names = ["pelvis", *told.feet, *told.keys, *(body for body, _ in told.landmarks.values())]
    assert shipped_description(names) == told and shipped_description(names[:3]) is None


def test_a_mesh_that_is_long_and_round_is_a_capsule(tmp_path):
    ring = [(0.1 * np.cos(a), 0.1 * np.sin(a), z) for a in np.arange(0, 2 * np.pi, 0.3) for z in (-0.3, 0.0, 0.3)]
    ends = [(0.0, 0.0, 0.38), (0.0, 0.0, -0.38)]
    vertices = " ".join(f"{v:.5f}" for point in ring + ends for v in point)
    file = tmp_path / "robot.xml"
    file.write_text(
        f"<mujoco><asset><mesh name='m' vertex='{vertices}'/></asset><worldbody><body name='a'><freejoint/>"
        "<geom type='mesh' mesh='m'/></body></worldbody></mujoco>"
    )
    read = read_mjcf(file)
    (shape,) = read.character.bodies[0].shapes
    assert shape.radius == pytest.approx(0.1, abs=2e-3) and abs(shape.end[2] - shape.start[2]) == pytest.approx(0.6, abs=0.05)
    assert "read as the capsule around it" in read.notes[0]
