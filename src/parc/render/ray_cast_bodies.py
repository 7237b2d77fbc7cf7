"""Bodies as exact solids: every pixel's ray is cut with the sphere, capsule or box itself, no mesh in between.

A solid is tried only on the pixels its bounding box covers. Ray o + t d against a capsule with axis a .. b, radius r, with
u = b - a and w = o - a:

    (|u|^2 |d|^2 - (u.d)^2) t^2 + 2 (|u|^2 w.d - u.w u.d) t + |u|^2 |w|^2 - (u.w)^2 - r^2 |u|^2 = 0

the first root is the hit if the foot of the point on the axis lies inside it, else the sphere about the nearer end is tried.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parc.character.body_shape import Capsule, Sphere
from parc.character.character import Character
from parc.render.canvas import Canvas, Window
from parc.render.sun_light import SUN

Array = NDArray[np.float64]


def matrix(q: Array) -> Array:
    """Unit quaternions [..., 4] (xyzw) to rotation matrices [..., 3, 3]."""
    x, y, z, w = np.moveaxis(q, -1, 0)
    rows = [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
            2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
            2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]  # fmt: skip
    return np.stack(rows, -1).reshape(*x.shape, 3, 3)


@dataclass(frozen=True, eq=False)
class Rounds:
    """Spheres and capsules; a sphere is a capsule whose ends are one point."""

    start: Array
    """[N, 3]"""
    end: Array
    """[N, 3]"""
    radius: Array
    """[N]"""
    colour: NDArray[np.float32]
    """[N, 3] linear"""

    @classmethod
    def spheres(cls, centres: ArrayLike, radius: float, colour: ArrayLike) -> "Rounds":
        centre = np.asarray(centres, float).reshape(-1, 3)
        return cls(
            centre, centre, np.full(len(centre), float(radius)), np.broadcast_to(np.asarray(colour, np.float32), centre.shape)
        )


@dataclass(frozen=True, eq=False)
class Blocks:
    """Boxes at any angle."""

    centre: Array
    """[N, 3]"""
    axes: Array
    """[N, 3, 3] columns are the box's own axes in the world"""
    half: Array
    """[N, 3]"""
    colour: NDArray[np.float32]
    """[N, 3] linear"""


def posed(character: Character, pos: ArrayLike, rot: ArrayLike, colours: ArrayLike) -> tuple[Rounds, Blocks]:
    """The character's shapes at one pose: pos [B, 3], rot [B, 4] (xyzw), a linear colour for each body [B, 3]."""
    pos, turn = np.asarray(pos, float), matrix(np.asarray(rot, float))
    colours = np.asarray(colours, np.float32)
    rounds, blocks = [], []
    for index, body in enumerate(character.bodies):
        for shape in body.shapes:
            if isinstance(shape, Sphere):
                rounds.append((index, shape.centre, shape.centre, shape.radius))
            elif isinstance(shape, Capsule):
                rounds.append((index, shape.start, shape.end, shape.radius))
            else:
                blocks.append((index, shape.centre, shape.half, shape.rotation))

    def place(owners: list[int], local: list) -> Array:
        return pos[owners] + np.einsum("nij,nj->ni", turn[owners], np.array(local, float).reshape(-1, 3))

    of = [r[0] for r in rounds]
    capsules = Rounds(
        place(of, [r[1] for r in rounds]), place(of, [r[2] for r in rounds]), np.array([r[3] for r in rounds]), colours[of]
    )
    of = [b[0] for b in blocks]
    own = matrix(np.array([b[3] for b in blocks], float).reshape(-1, 4))
    half = np.array([b[2] for b in blocks], float).reshape(-1, 3)
    boxes = Blocks(place(of, [b[1] for b in blocks]), turn[of] @ own, half, colours[of])
    return capsules, boxes


def draw_rounds(canvas: Canvas, rounds: Rounds) -> None:
    """Capsules and spheres into a canvas."""
    axes, eye = canvas.camera.axes, canvas.camera.eye
    start, end = (rounds.start - eye) @ axes.T, (rounds.end - eye) @ axes.T
    low = np.minimum(start, end) - rounds.radius[:, None]
    high = np.maximum(start, end) + rounds.radius[:, None]
    for k in range(len(low)):
        window = canvas.window(low[k], high[k])
        if window is not None:
            _draw_round(canvas, window, rounds.start[k], rounds.end[k], float(rounds.radius[k]), rounds.colour[k])


def _rays(canvas: Canvas, window: Window) -> tuple[Array, Array]:
    """Origins and directions [h, w, 3] of a window's pixels, in double precision: squares of distances cancel."""
    columns = np.arange(window.left, window.right)[None, :, None] + 0.5
    rows = np.arange(window.top, window.bottom)[:, None, None] + 0.5
    origin, direction = (table[0] + columns * table[1] + rows * table[2] for table in canvas.rays)
    return origin, direction


def _draw_round(canvas: Canvas, window: Window, a: Array, b: Array, r: float, colour: NDArray) -> None:
    o, d = _rays(canvas, window)
    u, w = b - a, o - a
    uu, dd = u @ u, np.einsum("hwi,hwi->hw", d, d)
    along = np.zeros_like(dd)
    if uu > 1e-12:
        ud, uw = d @ u, w @ u
        wd = np.einsum("hwi,hwi->hw", w, d)
        qa = np.maximum(uu * dd - ud * ud, 1e-12)
        qb = uu * wd - uw * ud
        qc = uu * (np.einsum("hwi,hwi->hw", w, w) - r * r) - uw * uw
        gap = qb * qb - qa * qc
        t = (-qb - np.sqrt(np.maximum(gap, 0))) / qa
        along = (uw + t * ud) / uu
        side = (gap >= 0) & (along > 0) & (along < 1)
        # Rays along the axis miss the cylinder and meet a cap: aim them at the end they come from.
        along = np.where(gap >= 0, along, np.where(ud > 0, 0.0, 1.0)).clip(0, 1)
    centre = w - along[..., None] * u
    qb = np.einsum("hwi,hwi->hw", centre, d)
    gap = qb * qb - dd * (np.einsum("hwi,hwi->hw", centre, centre) - r * r)
    t_cap = (-qb - np.sqrt(np.maximum(gap, 0))) / dd
    if uu > 1e-12:
        t = np.where(side, t, t_cap)
        hit = side | (gap >= 0)
    else:
        t, hit = t_cap, gap >= 0
    normal = (centre + t[..., None] * d) / r
    _leave(canvas, window, hit & (t > 0), t, normal, colour)


def draw_blocks(canvas: Canvas, blocks: Blocks) -> None:
    """Boxes into a canvas."""
    for centre, axes, half, colour in zip(blocks.centre, blocks.axes, blocks.half, blocks.colour, strict=True):
        reach = np.abs(canvas.camera.axes @ axes) @ half
        seen = canvas.camera.axes @ (centre - canvas.camera.eye)
        window = canvas.window(seen - reach, seen + reach)
        if window is None:
            continue
        o, d = _rays(canvas, window)
        o, d = (o - centre) @ axes, d @ axes
        d = np.where(np.abs(d) < 1e-12, 1e-12, d)
        enter, leave = (-np.sign(d) * half - o) / d, (np.sign(d) * half - o) / d
        side = enter.argmax(-1)
        t = enter.max(-1)
        hit = (t <= leave.min(-1)) & (t > 0)
        sign = -np.take_along_axis(np.sign(d), side[..., None], -1)
        normal = sign * axes.T[side]
        _leave(canvas, window, hit, t, normal, colour)


def _leave(canvas: Canvas, window: Window, hit: NDArray, t: Array, normal: Array, colour: NDArray) -> None:
    """Keep the pixels that are nearer than what is there."""
    place = window.slices
    seen = hit & (t < canvas.depth[place])
    canvas.depth[place][seen] = t[seen]
    if canvas.depth_only:
        return
    canvas.ambient[place][seen] = 0.62 + 0.38 * normal[..., 2][seen]
    canvas.direct[place][seen] = np.maximum(normal[seen] @ SUN, 0)
    canvas.colour[:, place[0], place[1]][:, seen] = colour[:, None]
