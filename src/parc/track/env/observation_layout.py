"""Which number of an observation means what: named slices, and the settings that shape them.

Numbers that turn with the world come first (all are 3-vectors, so one rotation into the heading frame serves them all), then
what does not turn, then the ground. The row is padded with zeros to a multiple of 64: matrix units run half as fast on odd
widths.

    own vectors      root_x_axis root_y_axis root_velocity root_angular_velocity key_positions
    target vectors   for each of the future frames: root position, x axis, y axis, key positions
    own rest         joint_rotations (6D) joint_velocities (x 0.1) contacts
    target rest      for each of the future frames: joint rotations (6D), contacts
    ground           heights of a grid around the root, relative to the root's height
    own action       the offset of the motor targets that is held from the last control step, in units of action
"""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from parc.errors import SettingsError
from parc.track.env.body_tables import BodyTables

JOINT_VELOCITY_SCALE = 0.1
TARGET_VECTORS = 3
"""root position, root x axis, root y axis; key positions follow"""


@dataclass(frozen=True)
class ObservationSettings:
    """What the policy is shown."""

    target_steps: tuple[int, ...] = (1, 2, 3, 10, 20, 30)
    """control steps ahead at which the reference is shown"""
    grid: tuple[int, int] = (16, 11)
    """points of the height grid along and across the heading"""
    grid_back: float = 0.6
    """m of the grid behind the root"""
    grid_front: float = 2.4
    """m of the grid before the root"""
    grid_side: float = 1.0
    """m of the grid to each side"""
    height_range: tuple[float, float] = (-2.5, 2.0)
    """m, heights relative to the root are clamped to this"""
    held: bool = True
    """show the held offset of the motor targets (`parc.track.env.motor_action`)"""
    pad_to: int = 64
    """numbers; the row's length is a multiple of it"""

    @staticmethod
    def completed(stored: dict[str, Any]) -> dict[str, Any]:
        """Settings from a file, with what older files leave unsaid."""
        return {"held": False} | stored

    def __post_init__(self) -> None:
        if not self.target_steps or min(self.target_steps) < 0:
            raise SettingsError(f"target_steps are {self.target_steps}, expected at least one, none negative")
        if min(self.grid) < 1 or self.pad_to < 1:
            raise SettingsError(f"grid is {self.grid} and pad_to {self.pad_to}, expected positive numbers")

    def grid_points(self, device: torch.device | str) -> Tensor:
        """[G, 2] in the heading frame, x slowest; the mirror image of the grid is the grid."""
        x = torch.linspace(-self.grid_back, self.grid_front, self.grid[0])
        side = torch.linspace(-self.grid_side, self.grid_side, self.grid[1])
        y = 0.5 * (side - side.flip(0))
        return torch.cartesian_prod(x, y).reshape(-1, 2).to(device)


class ObservationLayout:
    """Slices by name, in order; `width` numbers are used, `size` is the padded length."""

    def __init__(self, anatomy: BodyTables, settings: ObservationSettings) -> None:
        bodies, joints, keys = anatomy.character.num_bodies, anatomy.num_joints, anatomy.num_keys
        steps = len(settings.target_steps)
        self.target_vectors = TARGET_VECTORS + keys
        self.target_rest = 6 * joints + bodies
        lengths = {
            "root_x_axis": 3,
            "root_y_axis": 3,
            "root_velocity": 3,
            "root_angular_velocity": 3,
            "key_positions": 3 * keys,
            "target_vectors": 3 * self.target_vectors * steps,
            "joint_rotations": 6 * joints,
            "joint_velocities": anatomy.character.num_dof,
            "contacts": bodies,
            "target_rest": self.target_rest * steps,
            "heights": math.prod(settings.grid),
            "held": anatomy.character.num_dof if settings.held else 0,
        }
        self.slices: dict[str, slice] = {}
        start = 0
        for name, length in lengths.items():
            self.slices[name] = slice(start, start + length)
            start += length
        self.width = start
        self.size = -(-start // settings.pad_to) * settings.pad_to

    def __getitem__(self, name: str) -> slice:
        return self.slices[name]
