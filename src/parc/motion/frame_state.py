"""Frames of motion as batched tensors with rotation matrices: how poses travel between generator, planner and tracker.

6D features and forward kinematics both work on matrices, so no conversion is needed inside a captured window.
"""

from collections.abc import Sequence
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
        """All frames of a motion."""
        return cls(motion.root_pos, rotation.to_matrix(motion.root_rot), rotation.to_matrix(motion.joint_rot), motion.contacts)

    @classmethod
    def cat(cls, parts: "Sequence[FrameState]", dim: int = 1) -> "FrameState":
        """One after the other, of states [B, T, ...]; of frames [T, ...] with dim 0."""
        return cls(*(torch.cat(columns, dim) for columns in zip(*parts, strict=True)))

    @classmethod
    def stack(cls, rows: "Sequence[FrameState]") -> "FrameState":
        """Side by side, [B, ...]."""
        return cls(*(torch.stack(columns) for columns in zip(*rows, strict=True)))

    def row(self, index: int | slice) -> "FrameState":
        """One of B, or a part of the leading dim."""
        return FrameState(*(part[index] for part in self))

    def to(self, device: torch.device) -> "FrameState":
        """On a device."""
        return FrameState(*(part.to(device) for part in self))

    def clone(self) -> "FrameState":
        """In tensors of its own."""
        return FrameState(*(part.clone() for part in self))

    def body_pose(self, character: Character) -> BodyPose:
        """Where all bodies are, by forward kinematics."""
        return forward_kinematics_matrix(character, self.root_pos, self.root_rot, self.joint_rot)

    def select(self, condition: Tensor, other: "FrameState") -> "FrameState":
        """These frames where `condition` [B] holds, the other's elsewhere; leading dim B."""
        parts = [torch.where(condition.view(-1, *[1] * (a.dim() - 1)), a, b) for a, b in zip(self, other, strict=True)]
        return FrameState(*parts)

    def narrow(self, start: int, length: int) -> "FrameState":
        """Frames start .. start+length-1 of states [B, T, ...]."""
        return FrameState(*(part.narrow(1, start, length) for part in self))
