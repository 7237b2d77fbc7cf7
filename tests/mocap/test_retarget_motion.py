"""Retargeting a character's own joints gives back its motion."""

from dataclasses import replace

import numpy as np
import torch

from parc.character import Character, forward_kinematics, rotation, self_depth
from parc.character.joint_coordinates import dof_to_joints, joints_to_dof
from parc.dataset.clip import Clip
from parc.mocap.subject.body_landmarks import landmarks_of_motion
from parc.mocap.subject.calibrate_subject import Fitted, calibrate, fit_take
from parc.mocap.subject.closed_form_pose import start_pose
from parc.mocap.subject.human_anatomy import Anatomy
from parc.mocap.subject.landmark_fit import FitSettings, retarget
from parc.motion.motion import Motion


def fitted(character: Character, motion: Motion) -> Fitted:
    marks = landmarks_of_motion(character, motion)
    return fit_take(marks, calibrate([marks]), Anatomy.of(character))


def lively(character: Character, frames: int = 40) -> Motion:
    """Every joint turns, within its limits."""
    rng = torch.Generator().manual_seed(1)
    t = torch.linspace(0, 2 * torch.pi, frames)[:, None]
    lower = torch.tensor([x for b in character.bodies for x in b.joint.lower])
    upper = torch.tensor([x for b in character.bodies for x in b.joint.upper])
    middle, reach = 0.35 * (lower + upper), 0.12 * (upper - lower)
    phase = 2 * torch.pi * torch.rand(len(lower), generator=rng)
    dof = middle + reach * torch.sin(t + phase)
    turn = rotation.from_exp(torch.cat([0.2 * torch.sin(t), 0.2 * torch.cos(t), t / 6], -1))
    root = torch.cat([0.1 * t, 0.05 * torch.sin(t), 0.9 + 0.03 * torch.cos(t)], -1)
    return Motion(root, turn, dof_to_joints(character, dof), torch.zeros(frames, len(character)))


def test_the_start_alone_puts_hands_and_feet_in_place(character: Character, flat_walk: Clip) -> None:
    wanted = flat_walk.motion.body_poses(character).pos
    start = start_pose(character, fitted(character, flat_walk.motion))
    got = forward_kinematics(character, start.root_pos, start.root_rot, start.joint_rot).pos
    ends = list(character.key_bodies)
    assert float((got - wanted)[:, ends].norm(dim=-1).mean()) < 0.01


def test_own_joints_give_the_motion_back(character: Character, flat_walk: Clip) -> None:
    motion = flat_walk.motion
    (got,) = retarget([fitted(character, motion)], character)
    error = (got.body_poses(character).pos - motion.body_poses(character).pos).norm(dim=-1)
    assert float(error.mean()) < 0.01
    turned = rotation.angle(rotation.difference(got.body_poses(character).rot, motion.body_poses(character).rot))
    assert float(turned[:, list(character.feet)].mean()) < np.radians(6)


def test_clips_side_by_side_do_not_disturb_each_other(character: Character, flat_walk: Clip) -> None:
    motions = [flat_walk.motion.slice(0, 30), lively(character)]
    takes = [fitted(character, m) for m in motions]
    quick = FitSettings(iterations=25)
    together = retarget(takes, character, quick)
    for take, motion in zip(takes, together, strict=True):
        (alone,) = retarget([take], character, quick)
        assert len(motion) == len(take.landmarks)
        assert float((alone.root_pos - motion.root_pos).abs().max()) < 2e-3
        assert float((alone.body_poses(character).pos - motion.body_poses(character).pos).abs().max()) < 5e-3


def test_hinges_stay_hinges_and_limits_are_kept(character: Character) -> None:
    motion = lively(character)
    take = fitted(character, motion)
    (got,) = retarget([take], character)
    dof = joints_to_dof(character, got.joint_rot)
    lower = torch.tensor([x for b in character.bodies for x in b.joint.lower])
    upper = torch.tensor([x for b in character.bodies for x in b.joint.upper])
    assert float(torch.maximum(lower - dof, dof - upper).max()) < np.radians(12)
    for b, body in enumerate(character.bodies[1:]):
        if body.joint.is_hinge:
            axis = torch.tensor(body.joint.axes[0])
            off = got.joint_rot[:, b, :3] - (got.joint_rot[:, b, :3] @ axis)[:, None] * axis
            assert float(off.abs().max()) < 1e-4
    pos, body = got.body_poses(character).pos.numpy(), Anatomy.of(character).body
    for place in ("left_ankle", "right_ankle", "left_wrist", "right_wrist"):
        assert np.linalg.norm(pos[:, body[place]] - take.landmarks[place], axis=-1).mean() < 0.015


def test_bodies_stay_out_of_each_other(character: Character, flat_walk: Clip) -> None:
    """Landmarks of a walk with its legs turned in, so that they go through each other."""
    motion = flat_walk.motion.slice(0, 40)
    dof = joints_to_dof(character, motion.joint_rot)
    for side, sign in (("right", 1), ("left", -1)):
        dof[:, character.dof_start[character.index(f"{side}_thigh")]] += 0.11 * sign
    crossed = replace(motion, joint_rot=dof_to_joints(character, dof))
    take = fitted(character, crossed)
    free, kept = (retarget([take], character, FitSettings(self_penetration=w))[0] for w in (0.0, FitSettings().self_penetration))
    deepest = [self_depth(character, m.body_poses(character)).amax(-1) for m in (crossed, free, kept)]
    assert (deepest[0] > 0.02).float().mean() > 0.1 and (deepest[1] > 0.02).float().mean() > 0.1
    assert deepest[2].max() < 0.005
    away = kept.body_poses(character).pos - crossed.body_poses(character).pos
    assert float(away.norm(dim=-1).mean()) < 0.02
