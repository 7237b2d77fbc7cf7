"""Inverse kinematics of the legs: feet come to where they are wanted and keep their orientation, the rest does not move."""

import torch

from parc.character import humanoid
from parc.fit.two_bone_ik import bend_legs, legs_of
from parc.motion.frame_state import FrameState


def test_feet_reach_what_is_in_reach(walk):
    character = humanoid()
    state = FrameState(*(part[10:30].unsqueeze(0) for part in FrameState.of_motion(walk.motion)))
    pose = state.body_pose(character)
    feet = list(character.feet)
    shift = torch.randn(1, 20, 2, 3, generator=torch.Generator().manual_seed(0)) * 0.03
    shift[..., 2] = shift[..., 2].abs()
    goal = pose.pos[..., feet, :] + shift
    bent = bend_legs(legs_of(character, torch.device("cpu")), state, pose, goal).body_pose(character)
    torch.testing.assert_close(bent.pos[..., feet, :], goal, atol=2e-3, rtol=0)
    torch.testing.assert_close(bent.rot[..., feet, :, :], pose.rot[..., feet, :, :], atol=1e-4, rtol=0)
    others = [b for b in range(15) if character.names[b].split("_")[-1] not in ("thigh", "shin", "foot")]
    torch.testing.assert_close(bent.pos[..., others, :], pose.pos[..., others, :])


def test_bodies_without_such_legs_have_none(hopper):
    assert legs_of(hopper, torch.device("cpu")) is None
