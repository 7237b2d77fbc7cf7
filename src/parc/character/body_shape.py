"""The primitives a body is made of: sphere, capsule, box; fixed in the body frame, uniform density."""

import math
from dataclasses import dataclass

Vector = tuple[float, float, float]
Bounds = tuple[Vector, Vector]
"""lowest and highest corner along the axes of the body frame"""


def _around(centre: Vector, half: Vector) -> Bounds:
    x, y, z = centre
    dx, dy, dz = half
    return (x - dx, y - dy, z - dz), (x + dx, y + dy, z + dz)


@dataclass(frozen=True)
class Sphere:
    """A ball fixed to a body."""

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

    @property
    def bounds(self) -> Bounds:
        return _around(self.centre, (self.radius, self.radius, self.radius))


@dataclass(frozen=True)
class Capsule:
    """A cylinder with round ends, fixed to a body."""

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

    @property
    def bounds(self) -> Bounds:
        (ax, ay, az), (bx, by, bz), r = self.start, self.end, self.radius
        centre = ((ax + bx) / 2, (ay + by) / 2, (az + bz) / 2)
        return _around(centre, (abs(ax - bx) / 2 + r, abs(ay - by) / 2 + r, abs(az - bz) / 2 + r))


@dataclass(frozen=True)
class Box:
    """A cuboid fixed to a body."""

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

    @property
    def bounds(self) -> Bounds:
        x, y, z, w = self.rotation
        hx, hy, hz = self.half
        reach_x = abs(1 - 2 * (y * y + z * z)) * hx + abs(2 * (x * y - z * w)) * hy + abs(2 * (x * z + y * w)) * hz
        reach_y = abs(2 * (x * y + z * w)) * hx + abs(1 - 2 * (x * x + z * z)) * hy + abs(2 * (y * z - x * w)) * hz
        reach_z = abs(2 * (x * z - y * w)) * hx + abs(2 * (y * z + x * w)) * hy + abs(1 - 2 * (x * x + y * y)) * hz
        return _around(self.centre, (reach_x, reach_y, reach_z))


Shape = Sphere | Capsule | Box
