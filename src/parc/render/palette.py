"""The colours of every picture: calm ground, blue figures, orange where a body touches.

Colours are kept linear (proportional to light) while they are shaded and mixed, and turned into sRGB at the very end.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Colour = NDArray[np.float32]


def linear(code: str) -> Colour:
    """'#rrggbb' to linear light [3] in 0..1."""
    srgb = np.array([int(code[i : i + 2], 16) for i in (1, 3, 5)], np.float32) / 255
    return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4).astype(np.float32)


_LEVELS = 4096


def to_srgb(light: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Linear light to 8-bit sRGB."""
    steps = np.linspace(0, 1, _LEVELS)
    table = np.where(steps <= 0.0031308, 12.92 * steps, 1.055 * steps ** (1 / 2.4) - 0.055)
    index = (np.clip(light, 0, 1) * (_LEVELS - 1) + 0.5).astype(np.int16)
    return np.round(255 * table).astype(np.uint8)[index]


def code(colour: Sequence[float] | Colour) -> str:
    """Linear light back to '#rrggbb'."""
    return "#" + "".join(f"{v:02x}" for v in to_srgb(np.asarray(colour, np.float32)))


SKY_TOP, SKY_BOTTOM = "#f5f7fa", "#d9e0e8"
GROUND_LOW, GROUND_MIDDLE, GROUND_HIGH = "#8ea6b6", "#d8d4c6", "#f4e8cc"
CONTACT = "#f57c1f"
PATH = "#0f8a7e"
JUMP = "#d1345b"
WALK = "#44546a"
GOAL = "#d1345b"
INK = "#2b3440"
FIGURES = ("#3a74c4", "#7a4fa3", "#3a8f5b", "#a3473f", "#8a7a2c", "#3d8a94")
"""One for each motion shown side by side; the first is the reference or the only one."""
