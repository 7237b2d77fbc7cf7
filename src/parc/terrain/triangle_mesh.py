"""Terrains from triangle meshes and back.

Reading drops vertical rays on the mesh, several a cell, and takes the highest surface each one meets. A vertical ray meets
a triangle where its foot (x, y) lies in the triangle's shadow, so all that is needed is a 2D point-in-triangle test on the
samples under each triangle's bounding box; no ray-tracing library.
"""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import torch

from parc.errors import FormatError, TerrainError
from parc.run.atomic_files import write_bytes_atomically
from parc.run.file_reading import first_line, read_bytes, reading
from parc.terrain.column_faces import column_faces
from parc.terrain.terrain import CELL, Terrain

MESH_SUFFIXES = (".obj", ".stl", ".ply", ".glb")
_MOST_SAMPLES = 1 << 26
_TESTS_AT_ONCE = 1 << 20
_MOST_TESTS = 1 << 30
"""of a ray with a triangle: about a minute"""


@dataclass(frozen=True)
class MeshSampling:
    """How a mesh is turned into columns."""

    cell: float = CELL
    """side of a cell, m"""
    samples: int = 3
    """rays along each side of a cell"""
    choose: Literal["max", "median"] = "max"
    """height of a cell from its rays: the highest, or the middle one, which overlooks poles and cables"""
    floor: float | None = None
    """height where no ray meets the mesh, m; the lowest point met if not given"""
    up: Literal["auto", "y", "z"] = "auto"
    """axis of the file that points up; auto: y for .glb, z for the rest"""
    scale: float = 1.0
    """metres per unit of the file"""

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        if not 0 < self.scale < float("inf"):
            raise TerrainError(f"the scale of a mesh is {self.scale:g}, expected metres per unit of the file, more than 0")


DEFAULT_MESH = MeshSampling()


def is_mesh(path: Path) -> bool:
    """By its extension."""
    return path.suffix.lower() in MESH_SUFFIXES


def read_mesh(path: Path | str, settings: MeshSampling = DEFAULT_MESH) -> Terrain:
    """A terrain from a mesh file."""
    import trimesh  # takes longer to import than all of parc.terrain

    path = Path(path)
    if path.suffix.lower() not in MESH_SUFFIXES:
        raise FormatError(f"'{path.name}' is not a mesh file; expected {', '.join(MESH_SUFFIXES)}")
    if not path.exists():
        raise FormatError(f"there is no mesh '{path}'")
    data = read_bytes(path)
    try:  # from bytes: so the loaders open no other file that this one may name
        with reading(f"'{path}'", "mesh"):
            mesh = trimesh.load_mesh(io.BytesIO(data), path.suffix.lower()[1:], process=False, skip_materials=True)
            vertices, faces = np.asarray(mesh.vertices, np.float64), np.asarray(mesh.faces, np.int64)
            if faces.ndim != 2 or vertices.ndim != 2 or faces.shape[1:] != (3,) or vertices.shape[1:] != (3,) or not len(faces):
                raise FormatError(f"'{path}' holds no triangles")
            if faces.min() < 0 or faces.max() >= len(vertices):
                raise FormatError(f"'{path}' is damaged: a triangle names corner {faces.max()} of {len(vertices)}")
    except OSError as problem:
        raise FormatError(f"'{path}' cannot be read as a mesh: {first_line(problem)}") from problem
    if settings.up == "y" or (settings.up == "auto" and path.suffix.lower() == ".glb"):
        vertices = vertices[:, [0, 2, 1]] * np.array((1.0, -1.0, 1.0))
    return terrain_from_mesh(vertices * settings.scale, faces, settings)


def terrain_from_mesh(vertices: np.ndarray, faces: np.ndarray, settings: MeshSampling = DEFAULT_MESH) -> Terrain:
    """Vertices [V, 3] in metres, z up, and triangles [F, 3]; cells cover the mesh's shadow from its lowest x and y on."""
    if settings.samples < 1 or settings.cell <= 0:
        raise TerrainError(f"cannot sample a mesh with {settings.samples} rays a side in cells of {settings.cell} m")
    if not np.isfinite(vertices).all():
        raise TerrainError("a vertex of the mesh is not finite")
    used = vertices[np.unique(faces)]
    low, high = used[:, :2].min(0), used[:, :2].max(0)
    across = np.maximum(np.ceil((high - low) / settings.cell - 1e-6), 1)
    if not across.prod() * settings.samples**2 <= _MOST_SAMPLES:
        raise TerrainError(
            f"the mesh is {high[0] - low[0]:.4g} x {high[1] - low[1]:.4g} m, too large for cells of {settings.cell} m;"
            " is it in metres?"
        )
    size = across.astype(int)
    rays = _highest_hits(vertices[faces], low, size * settings.samples, settings.cell / settings.samples)
    heights = _per_cell(rays, settings)
    met = np.isfinite(heights)
    if not met.any():
        raise TerrainError("no ray from above meets the mesh; is it a vertical sheet, or is another axis up?")
    heights[~met] = heights[met].min() if settings.floor is None else settings.floor
    min_point = torch.tensor(low + 0.5 * settings.cell, dtype=torch.float32)
    return Terrain(torch.from_numpy(heights.astype(np.float32)), min_point, settings.cell)


def terrain_mesh(terrain: Terrain, skirt: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    """The visible surface: vertices [V, 3] float32 and triangles [F, 3] int64, counter-clockwise from outside.

    Tops of all cells and the parts of walls that stand free; around the map a skirt down to `skirt` m under the lowest cell.
    """
    faces = column_faces(terrain, skirt)
    return faces.corners.astype(np.float32).reshape(-1, 3), faces.triangles()


def write_mesh(terrain: Terrain, path: Path | str) -> None:
    """By extension; .glb is y up as that format wants, the others z up."""
    import trimesh

    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in MESH_SUFFIXES:
        raise FormatError(f"cannot write a mesh to '{path.name}'; expected {', '.join(MESH_SUFFIXES)}")
    vertices, faces = terrain_mesh(terrain)
    if suffix == ".glb":
        vertices = vertices[:, [0, 2, 1]] * np.array((1, 1, -1), np.float32)
    data = trimesh.Trimesh(vertices, faces, process=False).export(file_type=suffix[1:])
    assert isinstance(data, str | bytes)
    write_bytes_atomically(path, data.encode() if isinstance(data, str) else data)


def _highest_hits(triangles: np.ndarray, low: np.ndarray, count: np.ndarray, spacing: float) -> np.ndarray:
    """Height [count] at which a vertical ray through each sample first meets the triangles [F, 3, 3]; -inf where it does not."""
    hits = np.full(count[0] * count[1], -np.inf)
    corners = (triangles[..., :2] - low) / spacing - 0.5
    edge_1, edge_2 = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    area = edge_1[:, 0] * edge_2[:, 1] - edge_1[:, 1] * edge_2[:, 0]
    first = np.maximum(np.ceil(corners.min(1) - 1e-9), 0).astype(np.int64)
    span = np.minimum(np.floor(corners.max(1) + 1e-9), count - 1).astype(np.int64) - first + 1
    candidates = np.where(np.abs(area) > 1e-12, span.clip(0).prod(1), 0)
    if candidates.sum(dtype=np.float64) > _MOST_TESTS:
        raise TerrainError(f"the mesh's {len(triangles)} triangles lie over each other too often for cells of this size")
    for face, place in _candidates(candidates):
        i = first[face, 0] + place // span[face, 1]
        j = first[face, 1] + place % span[face, 1]
        dx, dy = i - corners[face, 0, 0], j - corners[face, 0, 1]
        s = (dx * edge_2[face, 1] - dy * edge_2[face, 0]) / area[face]
        t = (dy * edge_1[face, 0] - dx * edge_1[face, 1]) / area[face]
        inside = (s >= -1e-9) & (t >= -1e-9) & (s + t <= 1 + 1e-9)
        z = triangles[face, :, 2]
        height = z[:, 0] + s * (z[:, 1] - z[:, 0]) + t * (z[:, 2] - z[:, 0])
        np.maximum.at(hits, (i * count[1] + j)[inside], height[inside])
    return hits.reshape(count)


def _candidates(counts: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Every (face, place in 0..counts[face]-1), a bounded number at a time."""
    ends = np.cumsum(counts)
    for start in range(0, int(ends[-1]), _TESTS_AT_ONCE):
        number = np.arange(start, min(start + _TESTS_AT_ONCE, int(ends[-1])))
        face = np.searchsorted(ends, number, side="right")
        yield face, number - (ends[face] - counts[face])


def _per_cell(rays: np.ndarray, settings: MeshSampling) -> np.ndarray:
    """Cell heights from samples x samples rays each; rays that met nothing do not count unless none did."""
    n = settings.samples
    grouped = rays.reshape(rays.shape[0] // n, n, rays.shape[1] // n, n).transpose(0, 2, 1, 3).reshape(-1, n * n)
    if settings.choose == "max":
        heights = grouped.max(1)
    else:
        ordered = np.sort(grouped, 1)
        missed = np.isinf(grouped).sum(1)
        middle = missed + (n * n - missed) // 2
        heights = ordered[np.arange(len(ordered)), np.minimum(middle, n * n - 1)]
    return heights.reshape(rays.shape[0] // n, rays.shape[1] // n)
