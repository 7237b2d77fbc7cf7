"""A navigation graph over its terrain: walking edges thin on the ground, jumps as arcs, the chosen path on top."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image

from parc.errors import PathError
from parc.path.terrain_path import TerrainPath
from parc.render import palette
from parc.render.camera import Camera, Size
from parc.render.clip_picture import arcs, path_lines
from parc.render.picture_scene import Scene, render
from parc.render.ray_cast_bodies import Rounds
from parc.render.space_lines import Lines
from parc.render.terrain_columns import TerrainColumns
from parc.render.viewpoint import overview_azimuth
from parc.terrain.terrain import Terrain

_MOST_JUMPS = 300
"""arcs drawn; of more, an even selection, because a picture black with arcs says nothing"""


def draw_navigation(
    terrain: Terrain,
    edges: ArrayLike,
    is_jump: ArrayLike,
    path: TerrainPath | None = None,
    size: Size = (960, 640),
    camera: Camera | None = None,
) -> Image.Image:
    """Edges [E, 2] between cells (flat index i * Y + j, or [E, 2, 2] pairs i, j), is_jump [E], and a path.

    For a `parc.path.navigation_graph.NavigationGraph`: `draw_navigation(terrain, graph.edges, graph.is_jump, path)`.
    """
    cells = flat_cells(terrain, edges)
    jumps = np.asarray(is_jump, bool).reshape(-1)
    if len(jumps) != len(cells):
        raise PathError(f"{len(cells)} edges given with {len(jumps)} jump flags, expected one flag for each edge")
    _, once = np.unique(np.sort(cells, -1), axis=0, return_index=True)
    ends, jumps = edge_points(terrain, cells[once]), jumps[once]
    ground = TerrainColumns.of(terrain, lines=False)
    lines = [Lines(_over_steps(ends[~jumps]), palette.linear(palette.WALK), width=0.8, opacity=0.45)]
    if jumps.any():
        leaps = ends[jumps][:: -(-int(jumps.sum()) // _MOST_JUMPS)]
        lines.append(Lines(arcs(leaps), palette.linear(palette.JUMP), width=1.2, opacity=0.7, hidden_opacity=0.08))
    balls: list[Rounds] = []
    if path is not None:
        route, balls = path_lines(path, terrain, width=4.0)
        lines += route
    scene = Scene(ground, rounds=balls, lines=lines)
    return render(scene, camera or Camera.framing(ground.outline, size, overview_azimuth(terrain, path), 52.0), size)


def flat_cells(terrain: Terrain, edges: ArrayLike) -> NDArray[np.int64]:
    """[E, 2] flat cell numbers of edges given as such or as [E, 2, 2] pairs (i, j)."""
    given = np.asarray(edges)
    if given.ndim == 3:
        given = given[..., 0] * terrain.size[1] + given[..., 1]
    given = given.reshape(-1, 2).astype(np.int64)
    last = terrain.heights.numel() - 1
    wrong = given[(given < 0) | (given > last)]
    if len(wrong):
        raise PathError(f"an edge names cell {wrong[0]}, the terrain has cells 0 to {last}")
    return given


def edge_points(terrain: Terrain, cells: NDArray) -> NDArray[np.float64]:
    """[E, 2, 3] the tops of the two cells [E, 2] of each edge."""
    heights = terrain.heights.detach().cpu().double().numpy()
    i, j = np.divmod(cells, heights.shape[1])
    xy = terrain.min_point.detach().cpu().double().numpy() + terrain.cell * np.stack([i, j], -1)
    return np.concatenate([xy, heights[i, j][..., None] + 0.02], -1)


def _over_steps(ends: NDArray) -> NDArray[np.float64]:
    """Walking edges as up to three pieces that keep to the surface: along one top, up the wall, along the other."""
    middle = 0.5 * (ends[:, 0] + ends[:, 1])
    at_start, at_end = middle.copy(), middle.copy()
    at_start[:, 2], at_end[:, 2] = ends[:, 0, 2], ends[:, 1, 2]
    pieces = [(ends[:, 0], at_start), (at_start, at_end), (at_end, ends[:, 1])]
    return np.concatenate([np.stack(p, 1) for p in pieces])
