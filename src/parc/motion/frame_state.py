"""Frames of motion as batched tensors with rotation matrices: how poses travel between generator, planner and tracker.

6D features and forward kinematics both work on matrices, so no conversion is needed inside a captured window.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from parc.character import rotation
from parc.character.character import Character
from parc.character.kinematics import BodyPose, forward_kinematics_matrix
from parc.motion.motion import Motion


class FrameState(NamedTuple):
    """Frames of a character, any leading dims."""

    root_pos: Tensor
    """[..., 3]"""
    root_rot: Tensor
    """[..., 3, 3]"""
    joint_rot: Tensor
    """[..., B-1, 3, 3] against the parent"""
    contacts: Tensor
    """[..., B]"""

    @classmethod
    def of_motion(cls, motion: Motion) -> "FrameState":
        return cls(motion.root_pos, rotation.to_matrix(motion.root_rot), rotation.to_matrix(motion.joint_rot), motion.contacts)

    def body_pose(self, character: Character) -> BodyPose:
        return forward_kinematics_matrix(character, self.root_pos, self.root_rot, self.joint_rot)

    def select(self, condition: Tensor, other: "FrameState") -> "FrameState":
        """These frames where `condition` [B] holds, the other's elsewhere; leading dim B."""
        parts = [torch.where(condition.view(-1, *[1] * (a.dim() - 1)), a, b) for a, b in zip(self, other, strict=True)]
        return FrameState(*parts)

    def narrow(self, start: int, length: int) -> "FrameState":
        """Frames start .. start+length-1 of states [B, T, ...]."""
        return FrameState(*(part.narrow(1, start, length) for part in self))
