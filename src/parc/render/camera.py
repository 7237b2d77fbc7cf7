"""Where a picture is taken from.

A pixel's ray is affine in its position: with q = (1, px, py) the ray is o + t d, o = q O and d = q D, where O and D are
3 x 3 (rows 1, px, py; columns world x, y, z). Perspective moves d and keeps o, an orthographic view moves o and keeps d;
t is the depth along the viewing direction in metres for both, so depths of one picture compare.
Pixel (0, 0) covers [0, 1) x [0, 1), y points down.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parc.errors import SettingsError

Vector = tuple[float, float, float]
Size = tuple[int, int]


class Rays(NamedTuple):
    """The rays through all pixels of a picture."""

    origin: NDArray[np.float64]
    """[3, 3] O of the module's docstring"""
    direction: NDArray[np.float64]
    """[3, 3] D"""


@dataclass(frozen=True)
class Camera:
    """Where a picture is taken from, in perspective or orthographic."""

    eye: Vector
    """m"""
    target: Vector
    """m, in the middle of the picture"""
    field_of_view: float = 30.0
    """vertical opening angle of a perspective view, degrees"""
    span: float | None = None
    """height of the visible slab in metres; makes the view orthographic"""

    def __post_init__(self) -> None:
        if not np.isfinite([*self.eye, *self.target]).all() or math.dist(self.eye, self.target) < 1e-6:
            raise SettingsError(f"a camera at {self.eye} cannot look at {self.target}; give two different finite points")
        if self.span is None and not 0.1 <= self.field_of_view <= 150:
            raise SettingsError(f"the field of view is {self.field_of_view} degrees, expected 0.1 to 150")
        if self.span is not None and not self.span > 0:
            raise SettingsError(f"the span of an orthographic camera is {self.span}, expected a positive number of metres")

    @cached_property
    def axes(self) -> NDArray[np.float64]:
        """[3, 3] rows right, up, forward."""
        forward = np.subtract(self.target, self.eye, dtype=float)
        forward /= np.linalg.norm(forward)
        above = np.array([0.0, 0.0, 1.0]) if abs(forward[2]) < 0.9999 else np.array([0.0, 1.0, 0.0])
        right = np.cross(forward, above)
        right /= np.linalg.norm(right)
        return np.stack([right, np.cross(right, forward), forward])

    def pixel(self, size: Size) -> float:
        """Metres a pixel covers: everywhere for an orthographic view, at depth 1 m for a perspective one."""
        extent = self.span if self.span is not None else 2 * math.tan(math.radians(self.field_of_view) / 2)
        return extent / size[1]

    def project(self, points: ArrayLike, size: Size) -> NDArray[np.float64]:
        """World points [..., 3] to pixel x, pixel y, depth [..., 3] in a picture of `size` (width, height)."""
        seen = (np.asarray(points, float) - self.eye) @ self.axes.T
        depth = seen[..., 2]
        scale = np.ones_like(depth) if self.span is not None else 1 / np.where(np.abs(depth) < 1e-9, 1e-9, depth)
        scale = scale / self.pixel(size)
        return np.stack([size[0] / 2 + seen[..., 0] * scale, size[1] / 2 - seen[..., 1] * scale, depth], -1)

    def rays(self, size: Size) -> Rays:
        right, up, forward = self.axes
        step = self.pixel(size)
        corner = -0.5 * size[0] * step * right + 0.5 * size[1] * step * up
        across = np.stack([corner, step * right, -step * up])
        still = np.zeros((3, 3))
        origin, direction = still.copy(), still.copy()
        origin[0], direction[0] = self.eye, forward
        if self.span is None:
            return Rays(origin, direction + across)
        return Rays(origin + across, direction)

    def aimed(self, target: ArrayLike) -> "Camera":
        """The same view of another point: eye and target move together."""
        shift = np.asarray(target, float) - self.target
        return Camera(_vector(np.asarray(self.eye) + shift), _vector(target), self.field_of_view, self.span)

    @property
    def side(self) -> tuple[float, float]:
        """Azimuth and elevation of the eye seen from the target, degrees, as in `framing`."""
        x, y, z = -self.axes[2]
        return math.degrees(math.atan2(y, x)), math.degrees(math.asin(min(max(z, -1.0), 1.0)))

    def turned(self, azimuth: float, elevation: float) -> "Camera":
        """The same target from another side, from as far away."""
        eye = np.asarray(self.target) + math.dist(self.eye, self.target) * direction_of(azimuth, elevation)
        return Camera(_vector(eye), self.target, self.field_of_view, self.span)

    @classmethod
    def framing(
        cls,
        points: ArrayLike,
        size: Size,
        azimuth: float = -60.0,
        elevation: float = 32.0,
        field_of_view: float = 30.0,
        orthographic: bool = False,
        margin: float = 0.05,
    ) -> "Camera":
        """The closest view that shows every one of `points` [N, 3].

        The eye stands at `azimuth` degrees about the vertical (0: on the +x side, 90: on the +y side) and `elevation`
        degrees above the horizon; `margin` is the share of the picture left free at each edge.
        """
        points = np.asarray(points, float).reshape(-1, 3)
        if len(points) == 0 or not np.isfinite(points).all():
            raise SettingsError("a camera needs at least one finite point to frame")
        back = direction_of(azimuth, elevation)
        target = 0.5 * (points.min(0) + points.max(0))
        axes = cls(_vector(target + back), _vector(target)).axes
        seen = (points - target) @ axes.T
        free = 1 - 2 * margin
        aspect = size[0] / size[1]
        if orthographic:
            low, high = seen[:, :2].min(0), seen[:, :2].max(0)
            target = target + 0.5 * (low + high) @ axes[:2]
            span = max((high[0] - low[0]) / aspect, high[1] - low[1], 1e-3) / free
            distance = float(np.ptp(seen[:, 2])) + 10.0
            return cls(_vector(target + distance * back), _vector(target), field_of_view, span)
        slope = np.array([aspect, 1.0]) * math.tan(math.radians(field_of_view) / 2) * free
        # A point (x, z) stays inside while |x - c| <= (distance + z) slope: each axis asks for a distance and a centre c.
        right = (seen[:, :2] - slope * seen[:, 2:]).max(0)
        left = (-seen[:, :2] - slope * seen[:, 2:]).max(0)
        distance = max(float(((right + left) / (2 * slope)).max()), float(-seen[:, 2].min()) + 0.2)
        target = target + 0.5 * (right - left) @ axes[:2]
        return cls(_vector(target + distance * back), _vector(target), field_of_view)


def direction_of(azimuth: float, elevation: float) -> NDArray[np.float64]:
    """[3] unit vector towards an eye at azimuth and elevation, degrees, as in `Camera.framing`."""
    a, e = math.radians(azimuth), math.radians(elevation)
    return np.array([math.cos(a) * math.cos(e), math.sin(a) * math.cos(e), math.sin(e)])


def _vector(values: ArrayLike) -> Vector:
    x, y, z = np.asarray(values, float).tolist()
    return x, y, z
