"""The terrain as columns: tops and the walls that stand out of lower neighbours.

Visibility needs no depth test. A ray from the eye only moves away from it along x and along y, so among columns the one with
the smaller |i - i_eye| + |j - j_eye| is in front: faces drawn in falling order of that sum (their numbers, painted as filled
polygons into an integer picture) leave in every pixel the number of the face seen there. All faces lie in planes of constant
x, y or z, so each pixel's depth is then one division, and its place on the face gives cell lines and corner shade exactly.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from parc.render import palette
from parc.render.camera import Camera, Size
from parc.render.canvas import Canvas
from parc.render.sun_light import SUN
from parc.terrain.column_faces import ColumnFaces, column_faces
from parc.terrain.terrain import Terrain

_NEAR = 0.05
_SKY_OF_AXIS = (0.56, 0.72, 1.0)
"""sky light on walls across x and y and on tops: walls that meet differ even where the sun reaches neither"""
_CORNER_SHADE = 0.55
"""share of the sky a wall takes from the foot it stands on"""
_SHADE_REACH = 0.4
"""m from a wall's foot to where its corner shade ends; at most a cell"""
_FULL_SHADE = 0.7
"""m of wall that shade a corner fully"""
_NODES = 7
"""points along a cell's side where the sky is worked out"""


@dataclass(frozen=True, eq=False)
class TerrainColumns:
    """Faces of a terrain, built once and drawn from any camera."""

    heights: NDArray[np.float32]
    """[X, Y]"""
    low: NDArray[np.float64]
    """[2] corner of the map"""
    cell: float
    faces: ColumnFaces
    sky: NDArray[np.float32]
    """[X, Y, n, n] see `_sky`"""
    lines: bool
    """thin lines along the cells' edges"""
    tint_range: tuple[float, float]
    """heights of the darkest and the lightest ground, m"""

    @classmethod
    def of(cls, terrain: Terrain, lines: bool = True) -> "TerrainColumns":
        heights = terrain.heights.detach().cpu().numpy().astype(np.float64)
        low = terrain.extent[0].detach().cpu().numpy().astype(np.float64)
        cell = float(terrain.cell)
        faces = column_faces(terrain, skirt=max(0.6 * cell, 0.1 * float(np.ptp(heights))), least=1e-6)
        spread = max(float(np.ptp(heights)), 1.0)
        return cls(
            heights=heights.astype(np.float32),
            low=low,
            cell=cell,
            faces=faces,
            sky=_sky(heights, cell),
            lines=lines,
            tint_range=(float(np.median(heights)) - 0.8 * spread, float(np.median(heights)) + 0.8 * spread),
        )

    @property
    def outline(self) -> NDArray[np.float64]:
        """[N, 3] the corners of all faces: what a camera has to keep in the picture."""
        return self.faces.corners.reshape(-1, 3)

    def faces_seen(self, camera: Camera, size: Size) -> NDArray[np.int32]:
        """[H, W] number of the face in each pixel, -1 where there is none."""
        rows = np.arange(len(self.faces.axis))
        if camera.span is None:
            plane = self.faces.corners[rows, 0, self.faces.axis]
            facing = self.faces.sign * (np.asarray(camera.eye)[self.faces.axis] - plane) > 0
            home = np.floor((np.asarray(camera.eye[:2]) - self.low) / self.cell)
            order = np.abs(self.faces.cells - home).sum(-1)
        else:
            ahead = camera.axes[2]
            facing = self.faces.sign * ahead[self.faces.axis] < 0
            order = (np.sign(ahead[:2]) * self.faces.cells).sum(-1)
        pixels = camera.project(self.faces.corners, size)
        close = pixels[..., 2] < _NEAR
        inside = ~close.all(1)
        for k, limit in ((0, size[0]), (1, size[1])):
            inside &= close.any(1) | ((pixels[..., k].max(1) >= 0) & (pixels[..., k].min(1) <= limit))
        drawn = np.flatnonzero(facing & inside)
        drawn = drawn[np.argsort(-order[drawn], kind="stable")]
        picture = Image.new("I", size, 0)
        polygon = ImageDraw.Draw(picture).polygon
        whole = np.round(pixels[drawn, :, :2] - 0.5).reshape(len(drawn), 8).astype(int).tolist()
        for number, outline, cut in zip(drawn.tolist(), whole, np.any(close[drawn], 1).tolist(), strict=True):
            if cut:
                outline = _clipped(camera, self.faces.corners[number], size)
            polygon(outline, fill=number + 1)
        return np.asarray(picture, np.int32) - 1

    def draw(self, canvas: Canvas) -> None:
        """Into an empty canvas: it does not look for what is nearer."""
        faces = self.faces_seen(canvas.camera, canvas.size).ravel()
        nearest, farthest = _depth_range(canvas.camera, self.faces.corners)
        axis_seen = np.append(self.faces.axis, -1)[faces]
        plane_of = self.faces.corners[np.arange(len(self.faces.axis)), 0, self.faces.axis].astype(np.float32)
        for axis in range(3):
            at = np.flatnonzero(axis_seen == axis)
            if len(at) == 0:
                continue
            face = faces[at]
            rows = (at // canvas.size[0]).astype(np.float32)
            columns = at.astype(np.float32) - rows * np.float32(canvas.size[0])
            origin, direction = canvas.ray_part(axis, rows, columns)
            with np.errstate(divide="ignore", invalid="ignore"):
                t = (plane_of[face] - origin) / direction
            # Polygons are snapped to whole pixels: at the rim of a face seen edge-on the plane may lie far beyond it.
            t = np.clip(np.nan_to_num(t, nan=np.inf), nearest[face], farthest[face])
            canvas.depth.ravel()[at] = t
            if not canvas.depth_only:
                points = []
                for k in range(3):
                    o, d = canvas.ray_part(k, rows, columns) if k != axis else (plane_of[face], np.float32(0))
                    points.append(o + t * d)
                pixel = canvas.camera.pixel(canvas.size) * (t if canvas.camera.span is None else 1.0)
                self._shade(canvas, at, axis, face, points, pixel)

    def _shade(self, canvas: Canvas, at: NDArray, axis: int, face: NDArray, points: list, pixel: NDArray | float) -> None:
        x, y, z = points
        ambient = np.full(len(at), _SKY_OF_AXIS[axis], np.float32)
        line = np.zeros(len(at), np.float32)
        if axis == 2:
            u = (x - np.float32(self.low[0])) * np.float32(1 / self.cell) - self.faces.cells[face, 0]
            v = (y - np.float32(self.low[1])) * np.float32(1 / self.cell) - self.faces.cells[face, 1]
            ambient *= self._sky_at(face, u, v)
            edge = np.float32(self.cell) * np.minimum(0.5 - np.abs(u - 0.5), 0.5 - np.abs(v - 0.5))
            if self.lines:
                line = np.clip(1.3 - edge / (pixel * 0.9), 0, 1) * 0.16
        else:
            foot = np.where(self.faces.is_rim[face], -np.inf, self.faces.foot[face]).astype(np.float32)
            ambient *= 1 - 0.5 * _CORNER_SHADE * np.clip(1 - (z - foot) / _SHADE_REACH, 0, 1) ** 2
            if self.lines:
                top = self.heights[self.faces.cells[face, 0], self.faces.cells[face, 1]]
                line = -np.clip(1.3 - (top - z) / (pixel * 0.9), 0, 1) * 0.35
        sun = np.float32(SUN[axis])
        canvas.ambient.ravel()[at] = ambient
        canvas.direct.ravel()[at] = np.maximum(self.faces.sign[face] * sun, 0)
        low, high = self.tint_range
        stops = [palette.linear(c) for c in (palette.GROUND_LOW, palette.GROUND_MIDDLE, palette.GROUND_HIGH)]
        level = np.clip((z - low) * (2 / (high - low)), 0, 2)
        upper, lower = np.clip(level - 1, 0, 1), np.clip(level, 0, 1)
        planes = canvas.colour.reshape(3, -1)
        for k in range(3):
            tint = stops[0][k] + lower * (stops[1][k] - stops[0][k]) + upper * (stops[2][k] - stops[1][k])
            planes[k, at] = tint * (1 - line)

    def _sky_at(self, face: NDArray, u: NDArray, v: NDArray) -> NDArray:
        """`sky` between its nodes, u and v in 0..1 inside the cell of each top."""
        along, across = (np.clip(a, 0, 1) * np.float32(_NODES - 1) for a in (u, v))
        i, j = (np.minimum(a.astype(np.int32), _NODES - 2) for a in (along, across))
        along, across = along - i, across - j
        first = (self.faces.cells[face, 0] * self.heights.shape[1] + self.faces.cells[face, 1]) * _NODES**2 + i * _NODES + j
        table = self.sky.ravel()
        near = table.take(first) * (1 - across) + table.take(first + 1) * across
        far = table.take(first + _NODES) * (1 - across) + table.take(first + _NODES + 1) * across
        return near + along * (far - near)


def _sky(heights: NDArray, cell: float) -> NDArray[np.float32]:
    """[X, Y, n, n] share of the sky seen at n x n nodes over each top: the walls of the eight neighbours take some of it."""
    reach = min(_SHADE_REACH, cell)
    around = np.pad(heights, 1, mode="edge")
    node = np.linspace(0, cell, _NODES)
    sky = np.ones((*heights.shape, _NODES, _NODES))
    for di in (-1, 0, 1):
        for dj in (-1, 0, 1):
            beside = around[1 + di : around.shape[0] - 1 + di, 1 + dj : around.shape[1] - 1 + dj]
            rise = np.clip((beside - heights) / _FULL_SHADE, 0, 1)[..., None, None]
            gaps = [np.zeros(_NODES) if step == 0 else cell - node if step > 0 else node for step in (di, dj)]
            near = np.clip(1 - np.hypot(gaps[0][:, None], gaps[1][None]) / reach, 0, 1)
            sky = np.minimum(sky, 1 - _CORNER_SHADE * rise * near**2)
    return sky.astype(np.float32)


def _depth_range(camera: Camera, corners: NDArray) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    depth = (corners - camera.eye) @ camera.axes[2]
    return np.maximum(depth.min(1), _NEAR).astype(np.float32), np.maximum(depth.max(1), _NEAR).astype(np.float32)


def _clipped(camera: Camera, quad: NDArray, size: Size) -> list[int]:
    """The part of a quad [4, 3] in front of the eye, as a flat list of pixels (Sutherland-Hodgman on the near plane)."""
    depth = (quad - camera.eye) @ camera.axes[2] - _NEAR
    kept = []
    for k in range(4):
        a, b, da, db = quad[k], quad[k - 3], depth[k], depth[k - 3]
        if da >= 0:
            kept.append(a)
        if (da < 0) != (db < 0):
            kept.append(a + (b - a) * da / (da - db))
    pixels = np.clip(camera.project(np.array(kept), size)[:, :2], -1e6, 1e6)
    return np.round(pixels - 0.5).astype(int).ravel().tolist()
