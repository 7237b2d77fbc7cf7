"""The primitives a body is made of: sphere, capsule, box; fixed in the body frame, uniform density."""

import math
from dataclasses import dataclass

Vector = tuple[float, float, float]


@dataclass(frozen=True)
class Sphere:
    centre: Vector
    radius: float
    density: float
    """kg/m3"""

    @property
    def volume(self) -> float:
        return 4 / 3 * math.pi * self.radius**3

    @property
    def mass(self) -> float:
        return self.density * self.volume


@dataclass(frozen=True)
class Capsule:
    start: Vector
    end: Vector
    radius: float
    density: float

    @property
    def length(self) -> float:
        """Of the axis, caps not counted."""
        return math.dist(self.start, self.end)

    @property
    def volume(self) -> float:
        return math.pi * self.radius**2 * (self.length + 4 / 3 * self.radius)

    @property
    def mass(self) -> float:
        return self.density * self.volume


@dataclass(frozen=True)
class Box:
    centre: Vector
    half: Vector
    density: float
    rotation: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0)
    """xyzw, in the body frame"""

    @property
    def volume(self) -> float:
        return 8 * self.half[0] * self.half[1] * self.half[2]

    @property
    def mass(self) -> float:
        return self.density * self.volume


Shape = Sphere | Capsule | Box
