"""Points on the body's surface, fixed in the body frames: how the paper measures distances to the terrain.

Sphere: the 12 vertices of an icosahedron. Capsule: 4 circle points x 4 slices on the cylinder, no caps.
Box: a 3 x 6 x 2 grid for feet (x, y, z; soles and tops), all 8 corners otherwise. The humanoid has 304 points.
"""

import itertools
from functools import cache
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from parc.character import rotation
from parc.character.body_shape import Box, Capsule, Shape, Sphere
from parc.character.character import Body, Character
from parc.character.kinematics import BodyPose


class Surface(NamedTuple):
    """Points on the surface of all bodies of a character."""

    points: Tensor
    """[P, 3] in the frame of its body, ordered by body"""
    body: Tensor
    """[P] index of the body each point is on"""
    by_body: Tensor
    """[B, K] points of each body, the last one repeated to fill up, so that a min over K is a min over the body"""
    turn: Tensor
    """[9B, 3P] sparse: the bodies' rotation matrices, flattened, times this are all turned points, flattened"""
    columns: Tensor
    """[3P] where each coordinate of each point finds its body's in the flattened body positions"""


@cache  # captured graphs read these tensors, so none may be dropped
def surface_points(character: Character, device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32) -> Surface:
    """The points by which a body's distance to terrain is measured, made once for each character and device."""
    clouds = [_body_points(body) for body in character.bodies]
    counts = [len(c) for c in clouds]
    starts = np.cumsum([0, *counts[:-1]])
    widest = max(counts)
    by_body = [[start + min(k, n - 1) for k in range(widest)] for start, n in zip(starts, counts, strict=True)]
    points, body = np.concatenate(clouds), np.repeat(np.arange(len(clouds)), counts)
    turn = np.zeros((len(clouds), 3, 3, len(points), 3))
    for axis in range(3):
        turn[body, axis, :, np.arange(len(points)), axis] = points
    with torch.inference_mode(False):  # the cache outlives the caller's mode, and inference tensors cannot take part in autograd
        return Surface(
            points=torch.tensor(points, device=device, dtype=dtype),
            body=torch.tensor(body, device=device),
            by_body=torch.tensor(by_body, device=device),
            turn=torch.tensor(turn.reshape(9 * len(clouds), 3 * len(points)), device=device, dtype=dtype),
            columns=torch.tensor((3 * body[:, None] + np.arange(3)).flatten(), device=device),
        )


def world_points(surface: Surface, pose: BodyPose) -> Tensor:
    """Surface points in the world, [..., P, 3], for quaternion or matrix poses.

    One matrix product for all bodies, a fourth of the time of gathering a rotation for each point. Body positions are added
    beside it, so that a caller's TF32 setting costs at most 0.1 mm.
    """
    matrices = rotation.to_matrix(pose.rot) if pose.rot.shape[-1] == 4 else pose.rot
    batch = pose.pos.shape[:-2]
    origins = pose.pos.flatten(-2).index_select(-1, surface.columns).reshape(-1, len(surface.columns))
    with torch.autocast(pose.pos.device.type, enabled=False):
        world = torch.addmm(origins, matrices.reshape(-1, surface.turn.shape[0]), surface.turn.to(matrices.dtype))
    return world.unflatten(-1, (-1, 3)).unflatten(0, batch) if batch else world.reshape(-1, 3)


def min_per_body(surface: Surface, values: Tensor) -> Tensor:
    """Least value over each body's points: [..., P] -> [..., B]."""
    rows = values.index_select(-1, surface.by_body.flatten())
    return rows.unflatten(-1, tuple(surface.by_body.shape)).amin(-1)


def _body_points(body: Body) -> np.ndarray:
    clouds = [_shape_points(s, body.is_foot) for s in body.shapes]
    return np.concatenate(clouds) if clouds else np.zeros((1, 3))


def _shape_points(shape: Shape, is_foot: bool) -> np.ndarray:
    if isinstance(shape, Sphere):
        return np.array(shape.centre) + shape.radius * _icosahedron()
    if isinstance(shape, Capsule):
        return _cylinder_points(shape)
    return _box_points(shape, (3, 6, 2) if is_foot else (2, 2, 2))


def _icosahedron() -> np.ndarray:
    golden = (1 + 5**0.5) / 2
    corners = np.array([[0.0, a, b * golden] for a, b in itertools.product((-1, 1), repeat=2)])
    vertices = np.concatenate([np.roll(corners, k, axis=1) for k in range(3)])
    return vertices / np.hypot(1.0, golden)


def _cylinder_points(c: Capsule, slices: int = 4, around: int = 4) -> np.ndarray:
    start, end = np.array(c.start, float), np.array(c.end, float)
    axis = (end - start) / max(c.length, 1e-9)
    side = np.cross(axis, (1.0, 0.0, 0.0) if abs(axis[0]) < 0.9 else (0.0, 0.0, 1.0))
    side /= np.linalg.norm(side)
    other = np.cross(axis, side)
    turns = np.arange(around) * 2 * np.pi / around
    circle = c.radius * (np.cos(turns)[:, None] * side + np.sin(turns)[:, None] * other)
    centres = start + np.linspace(0, 1, slices)[:, None] * (end - start)
    return (centres[:, None] + circle).reshape(-1, 3)


def _box_points(b: Box, counts: tuple[int, int, int]) -> np.ndarray:
    lines = [np.linspace(-h, h, n) for h, n in zip(b.half, counts, strict=True)]
    grid = np.array(list(itertools.product(*lines)))
    turned = rotation.rotate(torch.tensor(b.rotation, dtype=torch.float64), torch.tensor(grid))
    return np.array(b.centre) + turned.numpy()
