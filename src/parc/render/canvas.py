"""The buffers a picture is built in: what each ray met first, before any light falls on it.

Ground and solids leave depth, surface colour, sky light (`ambient`, 0..1: how much of the sky the point sees) and sun light
(`direct`: cosine between normal and sun); `parc.render.sun_light` turns them into colour once, when everything is in place.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from parc.render.camera import Camera, Size

Plane = NDArray[np.float32]


class Window(NamedTuple):
    """A rectangle of pixels."""

    left: int
    right: int
    top: int
    bottom: int

    @property
    def slices(self) -> tuple[slice, slice]:
        return slice(self.top, self.bottom), slice(self.left, self.right)


class Canvas:
    """Depth, colour and light of every pixel of a picture that is being drawn."""

    def __init__(self, camera: Camera, size: Size, depth_only: bool = False) -> None:
        self.camera = camera
        self.size = size
        self.rays = camera.rays(size)
        shape = (size[1], size[0])
        self.depth: Plane = np.full(shape, np.inf, np.float32)
        """[H, W] t of the first hit"""
        self.depth_only = depth_only
        """nothing but depth is kept, as in the sun's picture"""
        shape = (0, 0) if depth_only else shape
        self.colour: Plane = np.zeros((3, *shape), np.float32)
        """[3, H, W] of the surface, linear"""
        self.ambient: Plane = np.zeros(shape, np.float32)
        self.direct: Plane = np.zeros(shape, np.float32)

    def with_own_depth(self) -> "Canvas":
        """A canvas that starts from this one's depth and leaves it as it is."""
        copied = Canvas(self.camera, self.size, depth_only=True)
        copied.depth[:] = self.depth
        return copied

    def ray_part(self, axis: int, rows: NDArray, columns: NDArray) -> tuple[NDArray, NDArray]:
        """Component `axis` of o and d for pixels (broadcast rows and columns, 0-based); float32."""
        out: list[NDArray] = []
        for table in self.rays:
            start, across, down = table[:, axis]
            value = np.asarray(start + 0.5 * (across + down), np.float32)
            if across or down:
                out.append(value + columns * np.float32(across) + rows * np.float32(down))
            else:
                out.append(value)
        return out[0], out[1]

    def window(self, low: NDArray, high: NDArray) -> Window | None:
        """Pixels that the box low .. high [3] in camera axes (right, up, forward from the eye) may cover."""
        width, height = self.size
        if high[2] <= 1e-3:
            return None
        if self.camera.span is None and low[2] <= 1e-3:
            return Window(0, width, 0, height)
        step = self.camera.pixel(self.size)
        if self.camera.span is None:
            near, far = step * low[2], step * high[2]
        else:
            near = far = step
        left = min(low[0] / near, low[0] / far) + width / 2
        right = max(high[0] / near, high[0] / far) + width / 2
        top = height / 2 - max(high[1] / near, high[1] / far)
        bottom = height / 2 - min(low[1] / near, low[1] / far)
        found = Window(
            max(int(left - 0.5), 0), min(int(right + 1.5), width), max(int(top - 0.5), 0), min(int(bottom + 1.5), height)
        )
        return found if found.left < found.right and found.top < found.bottom else None
