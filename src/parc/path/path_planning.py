"""Plan paths: graph, cost draw and A* together."""

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import torch

from parc.errors import PathError, SettingsError
from parc.path.astar_search import Route, cheapest_route
from parc.path.edge_cost import CostSettings, draw_costs
from parc.path.navigation_graph import Cell, GraphSettings, NavigationGraph
from parc.path.path_endpoints import EndpointSettings, random_endpoints
from parc.path.terrain_path import TerrainPath
from parc.terrain.terrain import Terrain


@dataclass(frozen=True)
class PlanSettings:
    """Graph, costs and endpoints of a planned path."""

    graph: GraphSettings = field(default_factory=GraphSettings)
    cost: CostSettings = field(default_factory=CostSettings)
    endpoint: EndpointSettings = field(default_factory=EndpointSettings)
    tries: int = 20
    """pairs of endpoints to try before a random path is given up"""

    def __post_init__(self) -> None:
        if self.tries < 1:
            raise SettingsError(f"plan setting tries is {self.tries}, expected at least 1")


def plan_path(
    terrain: Terrain,
    start: Cell,
    goal: Cell,
    seed: int | np.random.Generator = 0,
    settings: PlanSettings | None = None,
    graph: NavigationGraph | None = None,
) -> TerrainPath:
    """The cheapest path between two cells under the costs that `seed` draws; one waypoint where start is the goal.

    `graph`, if given, must be that of this terrain; it saves building it again for further paths.
    """
    settings = settings or PlanSettings()
    graph = graph or NavigationGraph.of(terrain, settings.graph)
    if graph.size != terrain.size:
        raise PathError(f"the graph belongs to a map of {graph.size} cells, the terrain has {terrain.size}")
    costs = draw_costs(graph, settings.cost, np.random.default_rng(seed))
    return waypoints(terrain, cheapest_route(graph, costs, start, goal, settings.cost))


def plan_random_path(
    terrain: Terrain,
    rng: np.random.Generator,
    settings: PlanSettings | None = None,
    tries: int | None = None,
    graph: NavigationGraph | None = None,
) -> TerrainPath:
    """A path between random endpoints near the edges; where a goal cannot be reached, other endpoints are drawn."""
    settings = settings or PlanSettings()
    tries = settings.tries if tries is None else tries
    if tries < 1:
        raise SettingsError(f"tries is {tries}, expected at least 1")
    graph = graph or NavigationGraph.of(terrain, settings.graph)
    reason = ""
    for _ in range(tries):
        start, goal = random_endpoints(terrain, rng, settings.endpoint)
        try:
            return plan_path(terrain, start, goal, rng, settings, graph)
        except PathError as error:
            reason = str(error)
    raise PathError(f"none of {tries} random pairs of start and goal could be joined; the last: {reason}")


def waypoints(terrain: Terrain, route: Route) -> TerrainPath:
    """Cell centres at terrain height; jumps and straight lines are filled with waypoints about one cell apart."""
    cells = torch.tensor(route.cells, device=terrain.heights.device)
    ground = terrain.heights[cells[:, 0], cells[:, 1]]
    corners = torch.cat([terrain.centre_of(cells), ground[:, None]], dim=-1)
    pieces = [corners[:1]]
    for a, b in pairwise(corners):
        parts = max(1, round(float((b - a)[:2].norm()) / terrain.cell))  # 1 to a neighbour, at a corner too
        t = torch.arange(1, parts, device=a.device, dtype=a.dtype)[:, None] / parts
        pieces.extend([a + t * (b - a), b[None]])
    return TerrainPath(torch.cat(pieces))
