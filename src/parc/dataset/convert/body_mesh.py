"""A character's shapes as triangles, each vertex fixed to one body: what skinned file formats draw.

Spheres and capsules are rings of vertices on the exact surface with exact normals; boxes have sharp edges.
"""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from parc.character import rotation
from parc.character.body_shape import Box, Capsule, Shape, Sphere, Vector
from parc.character.character import Character
from parc.errors import CharacterError

Array = NDArray[np.float64]


class BodyMesh(NamedTuple):
    """Triangles of all bodies of a character."""

    points: Array
    """[V, 3] in the frames of their bodies, m"""
    normals: Array
    """[V, 3] in the same frames"""
    body: NDArray[np.int64]
    """[V] the body each vertex belongs to"""
    triangles: NDArray[np.int64]
    """[F, 3] counter-clockwise from outside"""


def body_mesh(character: Character, around: int = 20, rings: int = 5) -> BodyMesh:
    """`around` vertices on a circle, `rings` circles on each half of a sphere."""
    points, normals, owners, triangles = [], [], [], []
    count = 0
    for index, body in enumerate(character.bodies):
        for shape in body.shapes:
            p, n, t = _shape(shape, around, rings)
            points.append(p)
            normals.append(n)
            owners.append(np.full(len(p), index))
            triangles.append(t + count)
            count += len(p)
    if not points:
        raise CharacterError(f"character '{character.name}' has no shapes, so there is nothing to draw")
    return BodyMesh(*(np.concatenate(parts) for parts in (points, normals, owners, triangles)))


def rest_positions(character: Character) -> Array:
    """[B, 3] origins of the bodies in the zero pose, root at the origin."""
    places = np.zeros((len(character), 3))
    for i, body in enumerate(character.bodies[1:], 1):
        places[i] = places[body.parent] + body.offset
    return places


def one_sign(quaternions: Array) -> Array:
    """Unit quaternions [T, ..., 4] each of the sign nearest to the frame before: blending goes the short way."""
    q = quaternions / np.linalg.norm(quaternions, axis=-1, keepdims=True)
    flips = np.where((q[1:] * q[:-1]).sum(-1, keepdims=True) < 0, -1.0, 1.0)
    return np.concatenate([q[:1], q[1:] * np.cumprod(flips, axis=0)])


def _shape(shape: Shape, around: int, rings: int) -> tuple[Array, Array, NDArray[np.int64]]:
    if isinstance(shape, Box):
        return _box(shape)
    if isinstance(shape, Sphere):
        return _round(shape.centre, shape.centre, shape.radius, around, rings)
    assert isinstance(shape, Capsule)
    return _round(shape.start, shape.end, shape.radius, around, rings)


def _round(start: Vector, end: Vector, radius: float, around: int, rings: int) -> tuple[Array, Array, NDArray[np.int64]]:
    """Pole, circles of the start's half, circles of the end's half, pole; a sphere has one equator, a capsule two."""
    a, b = np.array(start, float), np.array(end, float)
    length = float(np.linalg.norm(b - a))
    axis = (b - a) / length if length > 1e-9 else np.array((0.0, 0.0, 1.0))
    side = np.cross(axis, (1.0, 0.0, 0.0) if abs(axis[0]) < 0.9 else (0.0, 0.0, 1.0))
    side /= np.linalg.norm(side)
    other = np.cross(axis, side)
    half = np.linspace(-np.pi / 2, 0, rings + 1)[1:]
    latitude = np.concatenate([half, -half[::-1] if length > 1e-9 else -half[-2::-1]])
    centre = np.where((np.arange(len(latitude)) < rings)[:, None], a, b)
    turn = np.arange(around) * 2 * np.pi / around
    circle = np.cos(turn)[:, None] * side + np.sin(turn)[:, None] * other
    normals = np.cos(latitude)[:, None, None] * circle + (np.sin(latitude)[:, None] * axis)[:, None]
    points = centre[:, None] + radius * normals
    normals = np.concatenate([-axis[None], normals.reshape(-1, 3), axis[None]])
    points = np.concatenate([(a - radius * axis)[None], points.reshape(-1, 3), (b + radius * axis)[None]])

    first = 1 + around * np.arange(len(latitude) - 1)[:, None] + np.arange(around)
    following = 1 + around * np.arange(len(latitude) - 1)[:, None] + (np.arange(around) + 1) % around
    lower = np.stack([first, following, following + around], -1).reshape(-1, 3)
    upper = np.stack([first, following + around, first + around], -1).reshape(-1, 3)
    ring, after, pole = np.arange(around), (np.arange(around) + 1) % around, len(points) - 1
    south = np.stack([np.zeros_like(ring), 1 + after, 1 + ring], -1)
    north = np.stack([np.full_like(ring, pole), pole - around + ring, pole - around + after], -1)
    return points, normals, np.concatenate([south, lower, upper, north])


def _box(box: Box) -> tuple[Array, Array, NDArray[np.int64]]:
    half = np.array(box.half)
    corners, normals = [], []
    for axis in range(3):
        for sign in (-1.0, 1.0):
            u, v = np.eye(3)[(axis + 1) % 3], np.eye(3)[(axis + 2) % 3] * sign
            n = np.eye(3)[axis] * sign
            corners += [half * (n + s * u + t * v) for s, t in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
            normals += [n] * 4
    turn = torch.tensor(box.rotation, dtype=torch.float64)
    local, normal = (rotation.rotate(turn, torch.from_numpy(np.array(v))).numpy() for v in (corners, normals))
    first = 4 * np.arange(6)[:, None]
    return np.array(box.centre) + local, normal, np.concatenate([first + (0, 1, 2), first + (0, 2, 3)])
