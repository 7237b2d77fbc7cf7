"""Measured values against limits, and the sentence that says what is over them.

A profile is a frozen dataclass of limits. Its `measures` say which row of the table (`parc.quality.measure_table`) each of its
names stands for; a name without a limit is written down and not judged.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from parc.errors import SettingsError
from parc.quality.measure_table import MEASURES


def fault(measure: str, value: float, limit: float, frame: int | None = None, nan_passes: bool = True) -> str | None:
    """What is wrong with a value of a measure, in one sentence; None if it is within the limit.

    NaN says that a measure has no meaning for a clip (no flight, no contact); where all must be measured it is a fault.
    """
    unit, _, is_least = MEASURES[measure]
    if math.isnan(value) and nan_passes:
        return None
    if value >= limit if is_least else value <= limit:
        return None
    place = "" if frame is None else f" at frame {frame}"
    told = " ".join([f"{value:.4g}", *([unit] if unit else [])])
    return f"{measure} is {told}{place}, {limit:g} is the {'least' if is_least else 'limit'}"


@dataclass(frozen=True)
class Limits:
    """What every profile of limits can do."""

    measures: ClassVar[Mapping[str, str]] = {}
    """row of the table by the name in this profile, in the order in which faults are told"""
    nan_passes: ClassVar[bool] = True
    """whether a measure without a meaning for a clip passes"""
    prefix: ClassVar[str] = ""
    """of this profile's names in a clip's provenance"""

    def __post_init__(self) -> None:
        for name in self.measures:
            limit = getattr(self, name, 0.0)
            if math.isnan(limit):
                raise SettingsError(f"{type(self).__name__}.{name} is {limit}, expected a number")

    def faults(self, values: Mapping[str, float], frames: Mapping[str, int] | None = None) -> tuple[str, ...]:
        """Why not to keep a clip with these values, by measure; empty if there is no reason. `frames`: where they are worst."""
        found = [
            fault(measure, values[measure], getattr(self, name), (frames or {}).get(measure), self.nan_passes)
            for name, measure in self.measures.items()
            if hasattr(self, name)
        ]
        return tuple(sentence for sentence in found if sentence)

    @classmethod
    def units(cls) -> dict[str, str]:
        """Unit by the name in this profile."""
        return {name: MEASURES[measure].unit for name, measure in cls.measures.items()}


@dataclass(frozen=True)
class ClipQuality:
    """What was measured of one clip for a profile of limits."""

    values: Mapping[str, float]
    """by measure"""
    profile: type[Limits]

    def __getitem__(self, name: str) -> float:
        """By the name in the profile."""
        return self.values[self.profile.measures[name]]

    @property
    def named(self) -> dict[str, float]:
        """By the names in the profile."""
        return {name: self.values[measure] for name, measure in self.profile.measures.items()}

    def faults(self, limits: Limits | None = None) -> tuple[str, ...]:
        """Why not to keep the clip; empty if there is no reason. Without `limits` the profile's own."""
        return (limits or self.profile()).faults(self.values)

    def as_losses(self) -> dict[str, float]:
        """For a clip's provenance; values that have no meaning are left out."""
        return {f"{self.profile.prefix}{name}": float(v) for name, v in self.named.items() if math.isfinite(v)}
