"""What a spatial variation changes: heights, distances, headings, and what stands around.

    rise       heights above the lowest level are scaled
    stretch    the plane is stretched along the axes of the clip's grid: wider gaps, longer treads
    yaw        all of it is turned against the grid; obstacles stay along it if the angle is a quarter turn, else they get jagged
    bend       the route turns at a place where the body walks on the level, and what comes after turns with it
    lift       what comes after a flight is higher or lower: a jump on the level becomes one up or down
    pit        the ground under that flight is lower
    leap       a jump in place goes somewhere, so that there is ground to land on that may be lifted
    terraces   steps up and down between footholds of a walk or a run on the level (`parc.vary.walk_terraces`)
    boxes      seed of boxes put where the body is not (`parc.terrain.random_augmentation`)

How far heights may be scaled depends on how they are overcome (`highest_rise`): a step up without hands has its limit, a drop has
another.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from parc.errors import SettingsError

Array = NDArray[np.float64]
_QUARTER = 0.5 * np.pi


@dataclass(frozen=True)
class Variation:
    """One variation of one clip."""

    rise: float = 1.0
    """factor of heights above the lowest level"""
    levels: Mapping[float, float] | None = None
    """m: heights and what they become instead, those between by interpolation"""
    stretch: tuple[float, float] = (1.0, 1.0)
    """factors along the grid's x and y"""
    yaw: float = 0.0
    """rad, of the whole clip"""
    bend: float = 0.0
    """rad, of what comes after the bend"""
    bend_at: float = 0.5
    """where among the frames that allow it"""
    lift: float = 0.0
    """m, of the ground after a flight"""
    pit: float = 0.0
    """m, depth of the ground under it"""
    flight: float = 0.5
    """which flight, among those that are long enough, 0..1"""
    leap: float = 0.0
    """m forward that a jump in place goes"""
    terraces: tuple[tuple[float, float], ...] = ()
    """steps of the ground: where among the places that allow one, 0..1, and how high, m"""
    boxes: int | None = None
    """seed of boxes around; none without"""

    def __post_init__(self) -> None:
        if not 0 <= self.rise <= 5 or not all(0.5 <= s <= 3 for s in self.stretch):
            raise SettingsError(f"a variation by rise {self.rise} and stretch {self.stretch} is not between 0..5 and 0.5..3")
        if not (abs(self.yaw) <= 2 * np.pi and abs(self.bend) <= np.pi and 0 <= self.bend_at <= 1):
            raise SettingsError(
                f"a variation by yaw {self.yaw}, bend {self.bend} at {self.bend_at} is not within 2 pi, pi and 0..1"
            )
        if not (abs(self.lift) <= 3 and 0 <= self.pit <= 5 and 0 <= self.flight <= 1):
            raise SettingsError(
                f"a variation by lift {self.lift}, pit {self.pit} at flight {self.flight} is not within 3, 5 and 0..1"
            )
        if not 0 <= self.leap <= 1.5:
            raise SettingsError(f"a variation by a leap of {self.leap} m is not within 0..1.5")
        if not all(0 <= share <= 1 and abs(step) <= 0.6 for share, step in self.terraces):
            raise SettingsError(f"a variation by terraces {self.terraces} is not of places within 0..1 and steps within 0.6 m")

    def height(self, z: Array, ground: float) -> Array:
        """What heights become, m."""
        if self.levels is not None:
            old = sorted(self.levels)
            return z + np.interp(z, old, [self.levels[k] - k for k in old])
        return ground + self.rise * (z - ground)

    def milder(self, times: int) -> "Variation":
        """The same asked for with less: first along the grid, then without bend and steps, then half of all, then a quarter."""
        if times == 0:
            return self
        yaw, bend = (_QUARTER * round(angle / _QUARTER) for angle in (self.yaw, self.bend))
        if times == 1:
            return replace(self, yaw=yaw, bend=bend, pit=0.0)
        share = 0.5 ** (times - 2)
        return replace(
            self,
            yaw=yaw,
            bend=0.0,
            lift=0.0,
            pit=0.0,
            leap=0.0,
            terraces=(),
            rise=1 + share * (self.rise - 1),
            stretch=(1 + share * (self.stretch[0] - 1), 1 + share * (self.stretch[1] - 1)),
        )

    def __str__(self) -> str:
        heights = " ".join(f"{a:g}->{b:g}" for a, b in self.levels.items()) if self.levels else f"x{self.rise:.3f}"
        turns = "".join(
            f", {name} {np.degrees(angle):.1f} deg" for name, angle in (("yaw", self.yaw), ("bend", self.bend)) if angle
        )
        steps = "".join(f", {name} {z:.2f} m" for name, z in (("lift", self.lift), ("pit", self.pit), ("leap", self.leap)) if z)
        if self.terraces:
            steps += f", steps {' '.join(f'{step:+.2f}' for _, step in self.terraces)} m"
        return f"heights {heights}, stretch {self.stretch[0]:.3f} {self.stretch[1]:.3f}{turns}{steps}"


@dataclass(frozen=True)
class VariationRanges:
    """What variations are drawn from."""

    rise: tuple[float, float] = (0.5, 2.5)
    """least and greatest factor of heights; the greatest only where `highest_rise` allows"""
    stretch: tuple[float, float] = (0.85, 1.25)
    """the same along the plane"""
    aligned: float = 0.5
    """share of variations whose yaw and bend are quarter turns"""
    yaw: float = 0.6
    """rad, greatest yaw of the others besides quarter turns"""
    bend: float = 1.0
    """rad, greatest bend of the others"""
    straight: float = 0.4
    """share of variations without a bend"""
    lift: tuple[float, float] = (-1.6, 0.5)
    """m, least and greatest lift after a flight"""
    lifted: float = 0.5
    """share of variations with one, of clips that fly"""
    pit: tuple[float, float] = (0.2, 1.5)
    """m, least and greatest depth under a flight"""
    pitted: float = 0.4
    """share of variations with one, of clips that fly"""
    leap: tuple[float, float] = (0.6, 1.0)
    """m, least and greatest way that a jump in place goes"""
    leapt: float = 0.7
    """share of variations with one, of clips that jump in place"""
    terraces: tuple[int, int] = (1, 4)
    """least and greatest number of steps between footholds"""
    step: tuple[float, float] = (0.08, 0.25)
    """m, least and greatest height of one, all up or all down in half of the variations"""
    terraced: float = 0.5
    """share of variations with some"""
    boxes: float = 0.5
    """share of variations with boxes around"""


def random_variation(
    generator: np.random.Generator, ranges: VariationRanges = VariationRanges(), highest_rise: float = np.inf
) -> Variation:
    """One of them; heights grow by `highest_rise` at most."""
    low, high = ranges.rise
    high = max(min(high, highest_rise), min(1.0, high), low)
    quarters = _QUARTER * int(generator.integers(-1, 3))
    aligned, straight = generator.random() < ranges.aligned, generator.random() < ranges.straight
    yaw = quarters + (0.0 if aligned else float(generator.uniform(-ranges.yaw, ranges.yaw)))
    bend = _QUARTER * float(generator.choice([-1, 1])) if aligned else float(generator.uniform(-ranges.bend, ranges.bend))
    return Variation(
        rise=float(np.exp(generator.uniform(np.log(low), np.log(high)))),
        stretch=(float(generator.uniform(*ranges.stretch)), float(generator.uniform(*ranges.stretch))),
        yaw=yaw,
        bend=0.0 if straight else bend,
        bend_at=float(generator.random()),
        lift=float(generator.uniform(*ranges.lift)) if generator.random() < ranges.lifted else 0.0,
        pit=float(generator.uniform(*ranges.pit)) if generator.random() < ranges.pitted else 0.0,
        flight=float(generator.random()),
        boxes=int(generator.integers(1 << 31)) if generator.random() < ranges.boxes else None,
        leap=float(generator.uniform(*ranges.leap)) if generator.random() < ranges.leapt else 0.0,
        terraces=_terraces(generator, ranges) if generator.random() < ranges.terraced else (),
    )


def _terraces(generator: np.random.Generator, ranges: VariationRanges) -> tuple[tuple[float, float], ...]:
    count = int(generator.integers(ranges.terraces[0], ranges.terraces[1] + 1))
    signs = np.full(count, generator.choice([-1, 1])) if generator.random() < 0.5 else generator.choice([-1, 1], count)
    steps = signs * generator.uniform(*ranges.step, count)
    return tuple((float(share), float(step)) for share, step in zip(generator.random(count), steps, strict=True))
