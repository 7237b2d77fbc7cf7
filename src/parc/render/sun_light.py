"""One sun, one sky, and the shadow the sun casts.

Shadows are found with a second depth picture taken from the sun: a point is lit if nothing in that picture is nearer to the
sun than the point itself. The comparison is made at the four pixels around and mixed, so that edges stay soft.

    colour = surface (sky ambient + sun direct lit)
"""

import numpy as np
from numpy.typing import NDArray

from parc.render import palette
from parc.render.camera import Camera, Size
from parc.render.canvas import Canvas, Plane

_TOWARDS_SUN = (-0.50, -0.62, 0.95)
SUN: NDArray[np.float64] = np.array(_TOWARDS_SUN) / np.linalg.norm(_TOWARDS_SUN)
"""unit vector towards the sun"""

_SUN_COLOUR = np.array([1.00, 0.95, 0.86], np.float32) * 0.90
_SKY_COLOUR = np.array([0.88, 0.95, 1.06], np.float32) * 0.44
_BIAS = 0.02
"""m a point may lie behind the sun's depth and still be lit"""
_JITTER = 0.75
"""pixels of the sun's picture"""


def sun_camera(points: NDArray, size: Size) -> Camera:
    """The sun's own orthographic view of everything in `points` [N, 3]."""
    azimuth, elevation = np.degrees([np.arctan2(SUN[1], SUN[0]), np.arcsin(SUN[2])])
    return Camera.framing(points, size, float(azimuth), float(elevation), orthographic=True, margin=0.01)


def lit_share(canvas: Canvas, sun: Canvas) -> Plane:
    """[H, W] how much of the sun reaches each pixel's point, 0..1, given the sun's depth picture."""
    height, width = canvas.depth.shape
    rows, columns = np.arange(height, dtype=np.float32)[:, None], np.arange(width, dtype=np.float32)[None]
    t = np.where(np.isfinite(canvas.depth), canvas.depth, 0)
    step = sun.camera.pixel(sun.size)
    right, up, forward = sun.camera.axes
    maps = np.stack([right / step, -up / step, forward])
    offset = -maps @ np.asarray(sun.camera.eye) + np.array([sun.size[0] / 2 - 0.5, sun.size[1] / 2 - 0.5, 0])
    seen = []
    for k in range(3):
        o, d = (table @ maps[k] for table in canvas.rays)
        o[0] += 0.5 * (o[1] + o[2]) + offset[k]
        d[0] += 0.5 * (d[1] + d[2])
        along = np.float32(d[0]) + columns * np.float32(d[1]) + rows * np.float32(d[2]) if d[1:].any() else np.float32(d[0])
        start = np.float32(o[0]) + columns * np.float32(o[1]) + rows * np.float32(o[2]) if o[1:].any() else np.float32(o[0])
        seen.append(start + t * along)
    px, py, depth = seen
    # Neighbouring samples of one pixel look up slightly different places: averaging them down smooths the edge for nothing.
    px = px + np.where(np.arange(width) % 2, _JITTER, -_JITTER).astype(np.float32)[None]
    py = py + np.where(np.arange(height) % 2, _JITTER, -_JITTER).astype(np.float32)[:, None]
    px, py = np.clip(px, 0, sun.size[0] - 2), np.clip(py, 0, sun.size[1] - 2)
    left, top = px.astype(np.int32), py.astype(np.int32)
    fx, fy = px - left, py - top
    first = top * np.int32(sun.size[0]) + left
    limit = depth - np.float32(_BIAS + 2.0 * step)
    near = sun.depth.ravel()
    share = [(near.take(first + shift) >= limit).astype(np.float32) for shift in (0, 1, sun.size[0], sun.size[0] + 1)]
    upper = share[0] + fx * (share[1] - share[0])
    lower = share[2] + fx * (share[3] - share[2])
    return upper + fy * (lower - upper)


def shade(canvas: Canvas, lit: Plane | None) -> Plane:
    """Linear light [3, H, W]: the shaded scene before a soft sky."""
    height, width = canvas.depth.shape
    hit = np.isfinite(canvas.depth)
    direct = canvas.direct if lit is None else canvas.direct * lit
    fade = np.linspace(0, 1, height, dtype=np.float32)[:, None]
    top, bottom = palette.linear(palette.SKY_TOP), palette.linear(palette.SKY_BOTTOM)
    light = np.empty((3, height, width), np.float32)
    for k in range(3):
        surface = canvas.colour[k] * (canvas.ambient * _SKY_COLOUR[k] + direct * _SUN_COLOUR[k])
        light[k] = np.where(hit, surface, top[k] + fade * (bottom[k] - top[k]))
    return light
