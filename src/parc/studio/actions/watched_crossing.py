"""Crossing the ground in physics by search, watched as it goes: `parc.plan.offline_traverse` with ends that a person clicks."""

from collections.abc import Callable

import numpy as np
import torch

from parc.dataset.clip import Clip
from parc.errors import PathError
from parc.path.navigation_graph import Cell, NavigationGraph
from parc.path.terrain_path import TerrainPath
from parc.plan.least_effort_route import RouteSettings, plan_route
from parc.plan.offline_traverse import Models, Traverse, TraverseSettings, traverse
from parc.terrain.terrain import Terrain

Watch = Callable[[float, str], object]
"""share of the way done, what is going on; may raise to end it"""


def crossing_route(terrain: Terrain, start: Cell | None = None, goal: Cell | None = None, seed: int = 0) -> TerrainPath:
    """The easiest way between two cells; an end that is not given is the corner farthest from the other that can be reached."""
    rng, settings = np.random.default_rng(seed), RouteSettings()
    graph = NavigationGraph.of(terrain, settings.plan.graph)
    corners = corner_cells(terrain)
    starts = [start] if start is not None else _far_first(corners, goal if goal is not None else corners[-1])
    failed: PathError | None = None
    for first in starts:
        for last in [goal] if goal is not None else _far_first(corners, first):
            if first == last:
                continue
            try:
                return plan_route(terrain, first, last, rng, settings, graph)
            except PathError as error:
                failed = failed or error
    raise failed or PathError("start and goal are the same cell; click another goal")


def corner_cells(terrain: Terrain) -> list[Cell]:
    """One cell in from each corner, as far as the ground is large enough."""
    rows, columns = (sorted({min(1, n - 1), max(n - 2, 0)}) for n in terrain.size)
    return [(i, j) for i in rows for j in columns]


def cross_watched(
    terrain: Terrain, route: TerrainPath, models: Models, settings: TraverseSettings, seed: int, watch: Watch
) -> Traverse:
    """Along the route in physics; equal to `traverse` unless `watch` ends it."""
    random = torch.Generator(models.generator.device).manual_seed(seed)

    def tell(attempt: int, rounds: int, left: float) -> None:
        done = max(route.length - left, 0.0)
        watch(done / route.length, f"try {attempt}, {done:.1f} of {route.length:.1f} m")

    torch.set_num_threads(1)
    return traverse(terrain, route, models, settings, random, "crossing", tell)


def crossing_told(result: Traverse, route: TerrainPath) -> tuple[Clip | None, str]:
    """The clip, and how it went in one sentence."""
    if result.simulated is None:
        return None, "The character fell at its first steps; try another seed or goal."
    way = f"{min(result.progress, route.length):.1f} of {route.length:.1f} m in {result.seconds:.1f} s of motion"
    fate = "The character reached the goal" if result.reached else "The character did not reach the goal"
    return result.simulated, f"{fate}: {way}, try {result.tries}."


def _far_first(corners: list[Cell], cell: Cell) -> list[Cell]:
    return sorted(corners, key=lambda c: -((c[0] - cell[0]) ** 2 + (c[1] - cell[1]) ** 2))
