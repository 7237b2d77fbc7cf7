"""Nothing knows the humanoid: a hopper with a joint of two axes, no hands and no mirror image trains too."""

from dataclasses import replace

import torch

from parc.character import rotation
from parc.character.body_shape import Capsule, Sphere
from parc.character.character import BALL_AXES, Body, Character, Joint
from parc.character.joint_coordinates import dof_to_joints
from parc.dataset.clip import Clip
from parc.motion.motion import Motion
from parc.physics.choose_engine import make_world
from parc.run.distributed import Group
from parc.terrain.terrain import Terrain
from parc.track.env.reference_library import build_library
from parc.track.learn.tracker_training import TrackerTrainer, TrainingPlan
from parc.track.tracker_settings import TrackerSettings


def hopper() -> Character:
    motor = {"stiffness": 200.0, "damping": 20.0, "armature": 0.01, "torque_limit": 100.0, "weight": 1.0}
    hip = Joint(((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)), (-1.0, -1.0), (1.0, 1.0), **motor)
    knee = Joint(((0.0, 1.0, 0.0),), (0.0,), (2.0,), **motor)
    neck = Joint(BALL_AXES, (-1.0,) * 3, (1.0,) * 3, **motor)
    leg = Capsule((0, 0, -0.05), (0, 0, -0.25), 0.04, 1000)
    return Character(
        "hopper",
        (
            Body("trunk", -1, (0, 0, 0), shapes=(Sphere((0, 0, 0), 0.1, 1000),)),
            Body("thigh", 0, (0, 0, -0.1), hip, (leg,)),
            Body("shin", 1, (0, 0, -0.3), knee, (leg,)),
            Body("foot", 2, (0, 0, -0.3), Joint(), (Sphere((0, 0, 0), 0.06, 1000),), is_key=True, is_foot=True),
            Body("head", 0, (0, 0, 0.2), neck, (Sphere((0, 0, 0), 0.08, 500),)),
        ),
    )


def test_another_character_trains() -> None:
    character, frames = hopper(), 30
    dof = torch.zeros(frames, character.num_dof)
    dof[:, 2] = torch.linspace(0, 0.3, frames)
    root = torch.tensor([0.0, 0.0, 0.76]).expand(frames, 3).clone()
    contacts = torch.zeros(frames, 5)
    motion = Motion(root, rotation.identity((frames,)), dof_to_joints(character, dof), contacts)
    clip = Clip("hop", motion, Terrain(torch.zeros(6, 6), torch.tensor([-1.0, -1.0])), character=character.name)
    base = TrackerSettings.small()
    settings = replace(
        base, policy=replace(base.policy, hidden=(16,), symmetry="none"), ppo=replace(base.ppo, steps=4, minibatch=16)
    )
    library = build_library(character, [clip])
    torch.testing.assert_close(library.dof, dof, atol=1e-5, rtol=0)
    world = make_world(character, settings.contract, 8, "cpu", threads=1)
    trainer = TrackerTrainer(character, library, world, settings, TrainingPlan(worlds=8), Group(0, 1, torch.device("cpu")))
    trainer.env.restart_all()
    metrics = [trainer._iteration() for _ in range(3)][-1]
    assert trainer.env.observation.shape[1] % 64 == 0
    assert metrics["broken"] == 0 and metrics["reward"] > 0
