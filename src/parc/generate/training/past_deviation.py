"""Pasts that are not as recorded, by errors in physical units: what a simulated body does instead of its plan.

At the last past frame (age 0) and the one before (age -1 / fps) a window's past is moved by

    root position    position e1 + velocity e2 age                       m along each axis
    root rotation    exp(turn e3 + turn_rate e4 age)                     about the world's axes, rad
    joint rotation   exp(joint e5 + joint_rate e6 age)                   about each axis that the joint has, rad

with standard normal e, one draw for a window. The motion goes on from there: its target is `follow_own_past`, which has no jump
at the seam and returns to the recording. (Noise on standardised features, `StepSettings.past_noise`, leaves the target alone.)
"""

from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor

from parc.character import rotation
from parc.character.character import Character
from parc.errors import SettingsError
from parc.generate.data.frame_table import FPS
from parc.generate.model.prefix_transformer import PAST_FRAMES
from parc.motion.frame_state import FrameState


@dataclass(frozen=True)
class PastDeviation:
    """How far pasts are from the recording, as standard deviations; off by default."""

    share: float = 0.0
    """share of windows whose past deviates; 0: none"""
    position: float = 0.03
    """m along each axis, of the root"""
    velocity: float = 0.2
    """m/s along each axis, of the root"""
    turn: float = 0.05
    """rad about each axis, of the root"""
    turn_rate: float = 0.5
    """rad/s about each axis, of the root"""
    joint: float = 0.06
    """rad about each axis of each joint"""
    joint_rate: float = 1.0
    """rad/s about each axis of each joint"""

    def __post_init__(self) -> None:
        sizes = (self.position, self.velocity, self.turn, self.turn_rate, self.joint, self.joint_rate)
        if not 0 <= self.share <= 1 or not all(0 <= size < float("inf") for size in sizes):
            raise SettingsError(
                f"a share of {self.share:g} of pasts deviates by {', '.join(f'{s:g}' for s in sizes)}: "
                "expected a share from 0 to 1 and numbers of at least 0"
            )


def deviate(character: Character, past: FrameState, settings: PastDeviation, random: torch.Generator) -> FrameState:
    """Pasts [B, 2, ...] in the world, moved by the errors above where the share says so."""
    rows, joints, device = len(past.root_pos), past.joint_rot.shape[2], past.root_pos.device
    moves = torch.rand(rows, 1, 1, 1, generator=random, device=device) < settings.share
    draws = moves * torch.randn(rows, 2, 2 + joints, 3, generator=random, device=device)
    age = torch.arange(1 - PAST_FRAMES, 1, device=device).view(1, -1, 1, 1) / FPS

    def error(size: float, rate: float, which: slice) -> Tensor:
        """[B, 2, parts, 3]"""
        return size * draws[:, :1, which] + rate * draws[:, 1:, which] * age

    root_pos = past.root_pos + error(settings.position, settings.velocity, slice(0, 1))[:, :, 0]
    turn = _exp(error(settings.turn, settings.turn_rate, slice(1, 2))[:, :, 0])
    bend = error(settings.joint, settings.joint_rate, slice(2, None))
    bend = rotation.matrix_rotate(_axes(character, device), bend)
    return past._replace(
        root_pos=root_pos,
        root_rot=rotation.matrix_multiply(turn, past.root_rot),
        joint_rot=rotation.matrix_multiply(past.joint_rot, _exp(bend)),
    )


def _exp(e: Tensor) -> Tensor:
    return rotation.to_matrix(rotation.from_exp(e))


@cache  # captured graphs read this tensor, so it may not be dropped
def _axes(character: Character, device: torch.device) -> Tensor:
    """[B - 1, 3, 3] what of an error is about the axes of each joint; one with two axes is a ball, as in the features."""
    rows = []
    for body in character.bodies[1:]:
        axes = torch.tensor(body.joint.axes, dtype=torch.float32).reshape(-1, 3)
        rows.append(torch.eye(3) if len(axes) > 1 else axes.T @ axes)
    return torch.stack(rows).to(device)
