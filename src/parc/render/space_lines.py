"""Lines in space, drawn over the shaded picture: paths, trails, graph edges.

All segments of a set are sampled about once a pixel, every sample tests the depth buffer and stamps a disc; no loop over
segments. A set is gathered into one mask first, so that overlapping segments of a translucent set do not add up.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parc.render.camera import Camera, Size
from parc.render.canvas import Canvas, Plane

_MOST_SAMPLES = 4_000_000


@dataclass(frozen=True, eq=False)
class Lines:
    """Lines in space, of one colour and width."""

    segments: NDArray[np.float64]
    """[N, 2, 3] m"""
    colour: NDArray[np.float32]
    """[3] linear"""
    width: float = 2.0
    """pixels of the finished picture"""
    opacity: float = 1.0
    hidden_opacity: float = 0.0
    """of the parts behind something"""
    lift: float = 0.03
    """m a line may lie behind a surface and still be seen: lines on the ground do not flicker"""

    @classmethod
    def polyline(cls, points: ArrayLike, colour: NDArray, **style: float) -> "Lines":
        points = np.asarray(points, float).reshape(-1, 3)
        return cls(np.stack([points[:-1], points[1:]], 1), colour, **style)


def draw_lines(canvas: Canvas, light: Plane, lines: Lines, oversample: int) -> None:
    """Blend the lines into `light` [3, H, W], a canvas `oversample` times as fine as the finished picture."""
    samples = _samples(canvas.camera, lines.segments, canvas.size)
    if len(samples) == 0:
        return
    radius = max(0.5 * lines.width * oversample, 0.5)
    reach = int(np.ceil(radius))
    stamp = np.array(
        [(dx, dy) for dx in range(-reach, reach + 1) for dy in range(-reach, reach + 1) if dx * dx + dy * dy <= radius * radius]
    )
    width, height = canvas.size
    column, row = np.floor(samples[:, 0]).astype(np.int64), np.floor(samples[:, 1]).astype(np.int64)
    inside = (column >= 0) & (column < width) & (row >= 0) & (row < height)
    behind = np.ones(len(samples), bool)
    behind[inside] = samples[inside, 2] > canvas.depth[row[inside], column[inside]] + lines.lift
    covered = np.zeros((height, width), np.float32)
    for hidden, opacity in ((True, lines.hidden_opacity), (False, lines.opacity)):
        chosen = inside & (behind == hidden)
        if opacity <= 0 or not chosen.any():
            continue
        once = np.unique(row[chosen] * width + column[chosen])
        c = (once % width)[:, None] + stamp[:, 0]
        r = (once // width)[:, None] + stamp[:, 1]
        kept = (c >= 0) & (c < width) & (r >= 0) & (r < height)
        covered[r[kept], c[kept]] = opacity
    where = np.flatnonzero(covered)
    weight = covered.ravel()[where]
    for k in range(3):
        plane = light[k].ravel()
        plane[where] += weight * (lines.colour[k] - plane[where])


def _samples(camera: Camera, segments: NDArray, size: Size) -> NDArray[np.float64]:
    """[M, 3] pixel x, y and depth, about one for each pixel a segment crosses."""
    ends = np.asarray(segments, float).reshape(-1, 2, 3)
    pixels = camera.project(ends, size)
    ends = ends[(pixels[..., 2] > 0.05).all(1)]
    pixels = camera.project(ends, size)
    span = np.abs(pixels[:, 1, :2] - pixels[:, 0, :2]).max(-1)
    seen = ((pixels[..., :2].max(1) >= 0) & (pixels[..., :2].min(1) <= size)).all(1)
    ends, span = ends[seen], span[seen]
    count = np.ceil(np.minimum(span, 4 * max(size))).astype(int) + 2
    if count.sum() > _MOST_SAMPLES:
        count = np.maximum(count * (_MOST_SAMPLES / count.sum()), 2).astype(int)
    owner = np.repeat(np.arange(len(ends)), count)
    step = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
    share = (step / (count[owner] - 1))[:, None]
    return camera.project(ends[owner, 0] * (1 - share) + ends[owner, 1] * share, size)
