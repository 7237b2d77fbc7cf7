"""Where a random path starts and ends: near the edges of the map and well apart, so that it crosses the map.

The candidates form a frame: cells whose row or column is the second or third from an edge, the outermost ring left out.
The start is drawn from the candidates that have a partner far enough away, the goal from those partners, both uniformly.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parc.errors import PathError, SettingsError
from parc.path.navigation_graph import ROUNDING, Cell
from parc.terrain.terrain import Terrain


@dataclass(frozen=True)
class EndpointSettings:
    """How far apart start and goal of a random path are."""

    min_distance: float = 5.0
    """least horizontal distance between start and goal, m"""

    def __post_init__(self) -> None:
        if not 0 < self.min_distance < float("inf"):
            raise SettingsError(f"endpoint setting min_distance is {self.min_distance}, expected a positive number of metres")


def endpoint_cells(size: tuple[int, int]) -> NDArray[np.int64]:
    """Candidate cells [K, 2] of a map of `size`: row or column in {1, 2, n-3, n-2}, both within 1 to n-2; none below 3 x 3."""
    inside, frame = [], []
    for n in size:
        index = np.arange(n)
        inside.append((index >= 1) & (index <= n - 2))
        frame.append(inside[-1] & ((index <= 2) | (index >= n - 3)))
    return np.argwhere((frame[0][:, None] & inside[1][None, :]) | (inside[0][:, None] & frame[1][None, :]))


def random_endpoints(terrain: Terrain, rng: np.random.Generator, settings: EndpointSettings | None = None) -> tuple[Cell, Cell]:
    """A start and a goal at least `min_distance` apart; PathError where the map is too small for that."""
    settings = settings or EndpointSettings()
    rows, columns = terrain.size
    cells = endpoint_cells(terrain.size)
    corners = np.array([(i, j) for i in (1, rows - 2) for j in (1, columns - 2)])
    # The farthest point of a rectangle is one of its corners, so a cell has a partner exactly if a corner is far enough.
    farthest = terrain.cell * np.linalg.norm(cells[:, None] - corners, axis=-1).max(1) if len(cells) else np.zeros(0)
    starts = cells[farthest >= settings.min_distance - ROUNDING]
    if not len(starts):
        raise PathError(
            f"a map of {rows} x {columns} cells has no start and goal {settings.min_distance:g} m apart "
            f"(at most {farthest.max(initial=0.0):.2f} m, away from its edges): use a larger map, or name start and goal"
        )
    start = starts[rng.integers(len(starts))]
    goals = cells[terrain.cell * np.linalg.norm(cells - start, axis=-1) >= settings.min_distance - ROUNDING]
    goal = goals[rng.integers(len(goals))]
    return (int(start[0]), int(start[1])), (int(goal[0]), int(goal[1]))
