"""Faces of columns against a loop over cells and sides."""

import numpy as np
import pytest
import torch

from parc.terrain.column_faces import column_faces
from parc.terrain.terrain import Terrain

HEIGHTS = torch.tensor([[0.0, 0.5, 0.5], [1.0, 0.5, -0.25]])


@pytest.fixture
def terrain() -> Terrain:
    return Terrain(HEIGHTS, torch.tensor([0.2, -1.0]), 0.4)


def expected(skirt: float) -> dict[tuple[int, int, int, int], tuple[float, float, bool]]:
    """Foot, top and rim by (cell, axis, sign)."""
    found = {}
    lowest = float(HEIGHTS.min()) - skirt
    for (i, j), top in np.ndenumerate(HEIGHTS.numpy()):
        found[i, j, 2, 1] = (top, top, False)
        for di, dj in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            inside = 0 <= i + di < HEIGHTS.shape[0] and 0 <= j + dj < HEIGHTS.shape[1]
            beside = float(HEIGHTS[i + di, j + dj]) if inside else lowest
            if beside < top:
                found[i, j, 0 if di else 1, di + dj] = (beside, top, not inside)
    return found


def test_every_top_and_every_free_wall_is_there_once(terrain: Terrain) -> None:
    faces = column_faces(terrain, 0.5)
    keys = [(*cell, axis, sign) for cell, axis, sign in zip(faces.cells.tolist(), faces.axis, faces.sign, strict=True)]
    rows = zip(keys, faces.foot.tolist(), faces.top.tolist(), faces.is_rim.tolist(), strict=True)
    assert {key: tuple(values) for key, *values in rows} == expected(0.5) and len(set(keys)) == len(keys)


def test_faces_look_outwards_and_lie_in_their_planes(terrain: Terrain) -> None:
    """The normal of each quad is its axis times its sign; triangles are its two halves."""
    faces = column_faces(terrain, 0.5)
    a, b, _, d = (faces.corners[:, k] for k in range(4))
    normal = np.cross(b - a, d - a)
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    np.testing.assert_allclose(normal, np.eye(3)[faces.axis] * faces.sign[:, None], atol=1e-12)
    triangles = faces.corners.reshape(-1, 3)[faces.triangles()]
    half = 0.5 * np.linalg.norm(np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]), axis=1)
    assert 2 * half[: len(normal)].sum() == pytest.approx(half.sum()) and half.min() > 0


def test_a_part_of_the_map_has_the_faces_of_its_cells(terrain: Terrain) -> None:
    whole, part = column_faces(terrain, 0.5), column_faces(terrain, 0.5, (0, 1), 1)
    mine = (whole.cells == [0, 1]).all(1)
    np.testing.assert_array_equal(part.corners, whole.corners[mine])
    assert len(column_faces(terrain, 0.5, least=0.6).top) < len(whole.top)
