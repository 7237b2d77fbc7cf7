"""A person's motion on a robot of hinges: contacts are kept, ranges and speeds are held, limbs bend as a person's."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from parc.character import find_character, rotation
from parc.character.joint_coordinates import joints_to_dof
from parc.character.mjcf import character_from_mjcf
from parc.character.robot.body_description import BodyDescription
from parc.character.robot.joint_ranges import violations
from parc.errors import CharacterError
from parc.mocap.make.make_clip import MocapSettings, make_clip
from parc.mocap.subject.body_landmarks import landmarks_of_motion
from parc.mocap.subject.calibrate_subject import calibrate, fit_take
from parc.mocap.subject.closed_form_pose import start_pose
from parc.mocap.subject.human_anatomy import Anatomy
from parc.mocap.subject.landmark_fit import FitSettings, retarget
from parc.mocap.terrain.refine_on_terrain import RefineSettings
from parc.motion.motion import Motion

MANNIKIN = Path(__file__).parents[1] / "character" / "robot_mannikin.xml"
QUICK = MocapSettings(retarget=FitSettings(iterations=40), refine=RefineSettings(fit=FitSettings(iterations=60, foot_turn=0.02)))


@pytest.fixture(scope="module")
def robot():
    return character_from_mjcf(MANNIKIN)


@pytest.fixture(scope="module")
def take(character, step_walk):
    """The first 1.5 s of a walk over steps."""
    return landmarks_of_motion(character, step_walk.motion, "walk").moved(lambda track: track[:45])


@pytest.fixture(scope="module")
def made(take, robot):
    return make_clip(take, robot, settings=QUICK)


def test_places_of_a_robot_are_points_of_its_bodies(robot):
    anatomy = Anatomy.of(robot)
    assert anatomy.leg == pytest.approx(0.31 + 0.32, abs=0.01) and anatomy.ankle_drop == pytest.approx(0.04)
    assert [robot.names[anatomy.carrier[f"left_{part}"]] for part in ("hip", "shoulder")] == ["pelvis", "chest"]
    assert [robot.names[b] for b in anatomy.segments(robot, anatomy.limbs[0])] == ["left_thigh", "left_shin", "left_foot"]
    guessed = Anatomy.of(character_from_mjcf(MANNIKIN, description=BodyDescription()))
    assert [guessed.body[f"{side}_{part}"] for part in ("knee", "ankle", "elbow") for side in ("left", "right")] == [
        anatomy.body[f"{side}_{part}"] for part in ("knee", "ankle", "elbow") for side in ("left", "right")
    ]


def test_the_start_has_the_limbs_where_the_person_has_them(take, robot):
    """Before any fit: hinges of hips and shoulders found in closed form put ankles and palms near their places."""
    anatomy = Anatomy.of(robot)
    fitted = fit_take(take, calibrate([take]), anatomy)
    start = start_pose(robot, fitted)
    still = torch.zeros(len(fitted.landmarks), len(robot))
    found = landmarks_of_motion(robot, Motion(start.root_pos, start.root_rot, start.joint_rot, still))
    for place, most in (("left_ankle", 0.03), ("right_knee", 0.06), ("left_wrist", 0.12), ("right_elbow", 0.12)):
        assert np.linalg.norm(found[place] - fitted.landmarks[place], axis=-1).mean() < most, place


def test_a_walk_over_steps_fits_a_robot(made, robot):
    quality = made.quality.named
    assert quality["feet"] < 3 and quality["hands"] < 5 and quality["penetration"] < 5 and quality["self_deep"] == 0
    assert made.clip.motion.contacts[:, list(robot.feet)].max() == 1 and len(made.ground.levels) >= 2
    assert violations(robot, made.clip.motion.joint_rot, made.clip.motion.fps) == (0, 0)


def test_knees_and_elbows_bend_as_a_persons(made, robot):
    """A knee's range is -5 to 150 degrees, an elbow is straight at 90 and bends to -60."""
    dof = torch.rad2deg(joints_to_dof(robot, made.clip.motion.joint_rot))
    for side in ("left", "right"):
        knee, elbow = (dof[:, robot.dof_start[robot.index(f"{side}_{part}")]] for part in ("shin", "forearm"))
        assert knee.max() > 20 and knee.min() > -5.01 and elbow.max() < 90.01
    up = rotation.to_matrix(made.clip.motion.root_rot)[:, 2, 2]
    assert up.min() > 0.9


def _fitted_to(robot, take):
    """The first fit alone, without terrain."""
    fitted = fit_take(take, calibrate([take]), Anatomy.of(robot))
    fitted = replace(fitted, landmarks=fitted.landmarks.resampled(30.0))
    (motion,) = retarget([fitted], robot, FitSettings(iterations=20))
    found = landmarks_of_motion(robot, motion)
    off = [np.linalg.norm(found[p] - fitted.landmarks[p], axis=-1).mean() for p in ("left_ankle", "right_ankle")]
    return violations(robot, motion.joint_rot, motion.fps), max(off)


def test_motors_too_slow_for_a_walk_are_never_too_slow_for_its_clip(take, robot):
    slow = replace(
        robot, bodies=tuple(replace(b, joint=replace(b.joint, speed_limit=1.5)) if b.joint.dof else b for b in robot.bodies)
    )
    kept, off = _fitted_to(slow, take)
    assert kept == (0, 0) and off > 0.03


def test_a_walk_fits_the_g1(take):
    try:
        robot = find_character("g1")
    except CharacterError as error:
        pytest.skip(str(error))
    kept, off = _fitted_to(robot, take)
    assert kept == (0, 0) and off < 0.03
