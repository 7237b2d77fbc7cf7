"""When a character has fallen: it lies or lies about for a while, or its simulation broke.

Climbing, crawling and rolling bring the pelvis low or tilt it for a moment; only what lasts is a fall.
"""

from dataclasses import dataclass

from torch import Tensor

from parc.terrain.terrain import Terrain


@dataclass(frozen=True)
class FallSettings:
    height: float = 0.35
    """m: a pelvis nearer to the ground under it than this is down"""
    upright: float = 0.25
    """cosine of the pelvis's tilt below which it is down"""
    patience: float = 0.6
    """s in a row that it has to be down"""


def are_down(terrain: Terrain, root_pos: Tensor, root_rot: Tensor, settings: FallSettings) -> Tensor:
    """[...] for roots at [..., 3] with rotations [..., 4] (xyzw): low, tilted or nowhere."""
    x, y = root_rot[..., 0], root_rot[..., 1]
    up = 1.0 - 2.0 * (x * x + y * y)
    height = root_pos[..., 2] - terrain.height_at(root_pos[..., :2].nan_to_num())
    return (height < settings.height) | (up < settings.upright) | ~root_pos.isfinite().all(-1)


class FallWatch:
    """Counts control steps in a row that the body is down."""

    def __init__(self, settings: FallSettings, control_hz: int) -> None:
        self.settings = settings
        self._limit = max(1, round(settings.patience * control_hz))
        self._down = 0

    def reset(self) -> None:
        self._down = 0

    def look(self, terrain: Terrain, root_pos: Tensor, root_rot: Tensor, broke: bool) -> bool:
        """Whether it has fallen, as of this control step."""
        down = broke or bool(are_down(terrain, root_pos, root_rot, self.settings))
        self._down = self._down + 1 if down else 0
        return broke or self._down >= self._limit
