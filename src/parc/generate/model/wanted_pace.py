"""The pace that a motion is asked for: a speed in the plane, m/s, or none.

Inside tensors NaN stands for none. The network reads two numbers of it, so that none is not taken for a speed of zero:

    wanted     speed / 2, 1
    none       0, 0
"""

import torch
from torch import Tensor

from parc.errors import SettingsError

PACES: dict[str, float] = {"walk": 1.4, "jog": 2.4, "run": 3.4, "sprint": 5.0}
"""m/s"""
FASTEST = 12.0
"""m/s: nobody runs faster"""
NUMBERS = 2
"""that the network reads of a pace"""
_UNIT = 2.0
"""m/s that the network reads as 1"""


def read_pace(text: str) -> float:
    """m/s of a pace by name or number."""
    try:
        speed = PACES[text] if text in PACES else float(text)
    except ValueError:
        speed = -1.0
    check_speed(speed, text)
    return speed


def check_speed(speed: float, told: object) -> None:
    """Refuse what nobody runs, as it was told."""
    if not 0 <= speed <= FASTEST:
        raise SettingsError(f"the pace is {told}, expected {', '.join(PACES)} or a speed from 0 to {FASTEST:g} m/s")


def pace_features(pace: Tensor) -> Tensor:
    """Speeds [...], NaN for none, as the network reads them [..., 2]."""
    known = ~pace.isnan()
    return torch.stack([torch.where(known, pace / _UNIT, torch.zeros_like(pace)), known.to(pace.dtype)], -1)
