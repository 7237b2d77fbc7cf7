"""The pace that a motion is asked for: a speed in the plane, m/s, or none.

Inside tensors NaN stands for none. The network reads two numbers of it, so that none is not taken for a speed of zero:

    wanted     speed / 2, 1
    none       0, 0
"""

from typing import Literal

import torch
from torch import Tensor

from parc.errors import SettingsError

PaceName = Literal["walk", "jog", "run", "sprint"]
PACES: dict[str, float] = {"walk": 1.4, "jog": 2.4, "run": 3.4, "sprint": 5.0}
"""m/s"""
FASTEST = 12.0
"""m/s: nobody runs faster"""
NUMBERS = 2
"""that the network reads of a pace"""
_UNIT = 2.0
"""m/s that the network reads as 1"""


def speed_of(pace: float | PaceName | None) -> float:
    """m/s of a pace by name or number; NaN for none."""
    if pace is None:
        return float("nan")
    speed = PACES.get(pace) if isinstance(pace, str) else float(pace)
    if speed is None or not 0 <= speed <= FASTEST:
        raise SettingsError(f"the pace is {pace}, expected {', '.join(PACES)} or a speed from 0 to {FASTEST:g} m/s")
    return speed


def pace_features(pace: Tensor) -> Tensor:
    """Speeds [...], NaN for none, as the network reads them [..., 2]."""
    known = ~pace.isnan()
    return torch.stack([torch.where(known, pace / _UNIT, torch.zeros_like(pace)), known.to(pace.dtype)], -1)
