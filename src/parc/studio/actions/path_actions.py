"""Actions on the path: waypoints by clicking, lines by drawing, or A*."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
import torch

from parc.errors import PathError
from parc.path.navigation_graph import Cell
from parc.path.path_file import load_path, save_path
from parc.path.path_planning import PlanSettings, plan_path, plan_random_path
from parc.path.terrain_path import TerrainPath
from parc.run.file_names import upload_name
from parc.terrain.terrain import Terrain

if TYPE_CHECKING:
    from parc.studio.studio_session import Session

SPACING = 0.2
"""m between the points of a drawn line"""


class RouteEdits:
    """Edits of the path; each can be undone."""

    def __init__(self, session: "Session") -> None:
        self._session = session

    def add_waypoint(self, x: float, y: float) -> TerrainPath:
        """One more waypoint at the end, on the ground."""

        def longer(terrain: Terrain, path: TerrainPath | None) -> TerrainPath:
            node = on_ground(terrain, [(x, y)])
            return TerrainPath(node if path is None else torch.cat([path.nodes, node]))

        return self._change(f"waypoint {x:.1f}, {y:.1f}", longer)

    def draw(self, points: Sequence[tuple[float, float]], stroke: str | None = None) -> TerrainPath:
        """A line through points in the plane, on the ground, evenly spaced."""

        def drawn(terrain: Terrain, path: TerrainPath | None) -> TerrainPath:
            return draped(terrain, points)

        return self._change("draw path", drawn, stroke)

    def plan(self, start: Cell, goal: Cell, settings: PlanSettings | None = None, seed: int = 0) -> TerrainPath:
        """The cheapest way from cell to cell."""
        return self._change("plan path", lambda terrain, path: plan_path(terrain, start, goal, seed, settings))

    def plan_random(self, settings: PlanSettings | None = None, seed: int = 0) -> TerrainPath:
        """Between random cells near the edges."""
        rng = np.random.default_rng(seed)
        return self._change(f"random path, seed {seed}", lambda terrain, path: plan_random_path(terrain, rng, settings))

    def clear(self) -> None:
        self._session.change("clear path", lambda d: replace(d, path=None) if d.path is not None else d)

    def attach(self) -> None:
        """Make the path that of the clip that is worked on."""
        path = self._session.document.path
        if path is None:
            raise PathError("there is no path to give to the clip; draw or plan one first")
        self._session.change_clip("give path to clip", lambda clip: replace(clip, path=path))

    def load_bytes(self, filename: str, content: bytes) -> TerrainPath:
        with TemporaryDirectory() as folder:
            file = Path(folder) / upload_name(filename)
            file.write_bytes(content)
            path = load_path(file)
        return self._change(f"load {filename}", lambda terrain, old: path)

    def export(self) -> tuple[str, bytes]:
        """The path as a file: its name and content."""
        path = self._session.document.path
        if path is None:
            raise PathError("there is no path to save; draw or plan one first")
        with TemporaryDirectory() as folder:
            file = Path(folder) / "path.json"
            save_path(path, file)
            return file.name, file.read_bytes()

    def _change(self, label: str, how, stroke: str | None = None) -> TerrainPath:
        document = self._session.change(
            label, lambda d: replace(d, path=how(d.terrain, d.path), candidates=()), stroke, afresh=stroke is not None
        )
        assert document.path is not None
        return document.path


def on_ground(terrain: Terrain, points: Sequence[tuple[float, float]]) -> torch.Tensor:
    """Points of the plane as [N, 3] on the ground; refused off the map."""
    xy = torch.tensor(points, dtype=terrain.min_point.dtype).reshape(-1, 2)
    outside = ~terrain.contains(xy)
    if outside.any():
        x, y = xy[outside][0].tolist()
        raise PathError(f"the point ({x:.2f}, {y:.2f}) is not on the map")
    return torch.cat([xy, terrain.height_at(xy)[:, None]], -1)


def draped(terrain: Terrain, points: Sequence[tuple[float, float]], spacing: float = SPACING) -> TerrainPath:
    """A line through points, evenly spaced, laid onto the ground."""
    if not points:
        raise PathError("a drawn path needs at least one point on the map")
    even = TerrainPath(on_ground(terrain, points)).resampled(spacing)
    return TerrainPath(on_ground(terrain, [(x, y) for x, y, _ in even.nodes.tolist()]))
