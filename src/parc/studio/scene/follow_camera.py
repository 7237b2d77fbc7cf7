"""A camera that stays behind the driven character: smooth, above the ground, with the character in view."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from parc.terrain.terrain import Terrain

_UP = 0.42
"""m of height for each m of distance"""
_LOWER = 0.1
"""m for each m of distance that it looks below the character, which so stands above the playback bar"""
_CLEAR = 0.5
"""m that the camera stays above the ground"""
_TURN, _MOVE = 0.55, 0.22
"""s in which the camera makes up for most of a turn and of a step"""
_SIGHT = np.linspace(0.15, 1.0, 7)
"""places between the character and the camera where the ground must not be in the way"""


@dataclass(frozen=True)
class CameraPlace:
    """Where the camera is and what it looks at, m."""

    eye: NDArray[np.float64]
    target: NDArray[np.float64]


class FollowCamera:
    """Call `move` a few times a second with where the character is."""

    def __init__(self) -> None:
        self._yaw: float | None = None
        self._root = np.zeros(3)

    def move(self, root: NDArray, heading: float, seconds: float, distance: float, terrain: Terrain) -> CameraPlace:
        """The place behind a root [3] that faces `heading` rad, `seconds` after the last one."""
        if self._yaw is None:
            self._yaw, self._root = heading, np.array(root, float)
        turn = math.remainder(heading - self._yaw, math.tau)
        self._yaw += turn * (1 - math.exp(-seconds / _TURN))
        self._root = self._root + (root - self._root) * (1 - math.exp(-seconds / _MOVE))
        back = -np.array([math.cos(self._yaw), math.sin(self._yaw), 0.0])
        target = self._root + [0.0, 0.0, 0.15]
        eye = target + distance * back + [0.0, 0.0, _UP * distance]
        line = target + _SIGHT[:, None] * (eye - target)
        ground = terrain.height_at(torch.tensor(line[:, :2], dtype=torch.float32)).double().cpu().numpy() + _CLEAR * _SIGHT
        lift = float(np.max((ground - line[:, 2]) / _SIGHT, initial=0.0))
        return CameraPlace(eye + [0.0, 0.0, min(lift, 4.0 * distance)], target - [0.0, 0.0, _LOWER * distance])

    def forget(self) -> None:
        """The next place is right behind the character."""
        self._yaw = None
