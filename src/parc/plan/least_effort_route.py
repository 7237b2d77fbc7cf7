"""A route that a body can manage: A* with a price on what is hard.

The paper's cost hardly minds heights: a wall of 2 m costs 0.6 more than flat ground, so routes climb walls that a short detour
avoids. For synthesis that is wanted; to get across it is not. Each edge costs more here by

    effort = climb (rise - easy_climb)+ + drop (fall - easy_drop)+ + jump [is a jump] + leap (gap - easy_leap)+
             + askew [climbs across a corner] + beyond [rise > reach] + run_up (m of run-up that a jump lacks)

The effort is never negative, so the lower bound that guides A* still holds and the route is the cheapest.

People climb facing the wall. A path that turns along the edge as soon as it is up tells the generator to head sideways while it
hangs there, and it never gets its knee over: where there is room, the route goes one cell straight on before and after a climb.

The paper's random costs make routes differ, which data wants and a way across does not: 1080 degrees of turns on 13 m of a flat
field. Here every edge has their mean instead, and level stretches are straightened (`parc.path.straighten_route`).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from torch import Tensor

from parc.errors import PathError, SettingsError
from parc.path.astar_search import Route, cheapest_route
from parc.path.edge_cost import CostSettings, draw_costs
from parc.path.navigation_graph import Cell, NavigationGraph
from parc.path.path_endpoints import EndpointSettings, random_endpoints
from parc.path.path_planning import PlanSettings, waypoints
from parc.path.straighten_route import straightened
from parc.path.terrain_path import TerrainPath
from parc.plan.leap_run_up import gaps, lacking_run_up, with_run_ups
from parc.terrain.terrain import Terrain

LEVEL = 0.2
"""m of height between cells that count as level"""
SMALL_MAP = 0.7
"""share of the diagonal that start and goal are apart on a small map"""
BLOCKED_AHEAD = 1.2
"""m of a path beyond a place of failure that are made dearer"""


@dataclass(frozen=True)
class RouteSettings:
    """What is hard, and how dear that makes a way."""

    climb: float = 12.0
    """cost of a metre up beyond `easy_climb`; a step on flat ground costs about 0.4"""
    easy_climb: float = 0.3
    """m"""
    reach: float = 1.85
    """m, the highest climb that the tracker in the box has learnt"""
    beyond: float = 40.0
    """cost of a higher one: taken where there is no other way"""
    drop: float = 4.0
    """cost of a metre down beyond `easy_drop`"""
    easy_drop: float = 0.6
    """m"""
    jump: float = 3.0
    """cost of a jump"""
    leap: float = 12.0
    """cost of a metre of a jump's gap beyond `easy_leap`: where there is room, two short leaps come before a long one"""
    easy_leap: float = 1.2
    """m between the edges of two cells"""
    run_up: float = 0.0
    """cost of a metre of level ground that a jump has too little behind it to run up (`parc.plan.leap_run_up`)"""
    askew: float = 4.0
    """cost of a climb from one cell to another that only touch at a corner"""
    straight: bool = True
    """go one cell straight on before and after a climb, where there is room"""
    block: float = 6.0
    """cost of a cell where a try has ended"""
    straighten: bool = True
    """go in straight lines over level ground"""
    plan: PlanSettings = field(default_factory=lambda: PlanSettings(cost=CostSettings(c_min=0.25, c_max=0.25)))

    def __post_init__(self) -> None:
        efforts = self.climb, self.beyond, self.drop, self.jump, self.leap, self.run_up
        if min(efforts) < 0:
            raise SettingsError(f"efforts are {', '.join(f'{effort:g}' for effort in efforts)}, expected none below 0")


def plan_route(
    terrain: Terrain,
    start: Cell,
    goal: Cell,
    rng: np.random.Generator,
    settings: RouteSettings = RouteSettings(),
    graph: NavigationGraph | None = None,
    blocked: Mapping[Cell, float] | None = None,
) -> TerrainPath:
    """The route of least cost and effort between two cells; `rng` draws the random part of the cost.

    blocked: cells to avoid, with a factor of `settings.block` for each edge into them.
    """
    graph = graph or NavigationGraph.of(terrain, settings.plan.graph)
    grid = terrain.heights.detach().cpu().numpy().astype(np.float64)
    heights = grid.ravel()
    rise = heights[graph.targets] - heights[graph.sources]
    effort = settings.climb * np.maximum(rise - settings.easy_climb, 0) + settings.drop * np.maximum(
        -rise - settings.easy_drop, 0
    )
    effort = effort + settings.beyond * (rise > settings.reach)
    effort = effort + settings.run_up * lacking_run_up(graph, grid)
    effort = effort + settings.leap * np.maximum(gaps(graph) - settings.easy_leap, 0)
    columns = terrain.size[1]
    sideways = (graph.sources // columns != graph.targets // columns) & (graph.sources % columns != graph.targets % columns)
    effort = effort + settings.askew * (sideways & ~graph.is_jump & (rise > settings.easy_climb))
    costs = draw_costs(graph, settings.plan.cost, rng) + effort + settings.jump * graph.is_jump
    if blocked:
        price = np.zeros(graph.num_nodes)
        for cell, factor in blocked.items():
            price[graph.node(cell)] = settings.block * factor
        costs = costs + price[graph.targets]
    route = cheapest_route(graph, costs, start, goal, settings.plan.cost)
    if settings.straight:
        route = straight_at_climbs(terrain, route, settings.easy_climb)
    route = straightened(terrain, route, blocked or ()) if settings.straighten else route
    return with_run_ups(terrain, route, waypoints(terrain, route))


def straight_at_climbs(terrain: Terrain, route: Route, easy: float) -> Route:
    """The route with a cell more before and after each climb over `easy` m, in its direction, where that is level with it."""
    heights, (rows, columns) = terrain.heights.tolist(), terrain.size

    def level(cell: Cell, with_cell: Cell) -> bool:
        inside = 0 <= cell[0] < rows and 0 <= cell[1] < columns
        return inside and abs(heights[cell[0]][cell[1]] - heights[with_cell[0]][with_cell[1]]) <= LEVEL

    given = route.cells
    cells, is_jump = list(given[:1]), []
    for k, ((here, there), jump) in enumerate(zip(pairwise(given), route.is_jump, strict=True)):
        step = there[0] - here[0], there[1] - here[1]
        climbs = not jump and heights[there[0]][there[1]] - heights[here[0]][here[1]] > easy
        before, after = (here[0] - step[0], here[1] - step[1]), (there[0] + step[0], there[1] + step[1])
        if climbs and k and not route.is_jump[k - 1] and given[k - 1] != before and level(before, here):
            cells[-1:] = [before, here]
            is_jump.append(False)
        cells.append(there)
        is_jump.append(jump)
        if climbs and k + 2 < len(given) and not route.is_jump[k + 1] and given[k + 2] != after and level(after, there):
            cells.append(after)
            is_jump.append(False)
    return replace(route, cells=type(given)(cells), is_jump=type(route.is_jump)(is_jump))


def plan_random_route(terrain: Terrain, rng: np.random.Generator, settings: RouteSettings = RouteSettings()) -> TerrainPath:
    """Between random endpoints near the edges; other endpoints where a goal cannot be reached.

    On a map too small for the distance asked for, 0.7 of its diagonal is enough.
    """
    graph = NavigationGraph.of(terrain, settings.plan.graph)
    rows, columns = (max(n - 3, 0) for n in terrain.size)
    diagonal = terrain.cell * math.hypot(rows, columns)
    apart = EndpointSettings(min(settings.plan.endpoint.min_distance, max(SMALL_MAP * diagonal, terrain.cell)))
    reason = ""
    for _ in range(settings.plan.tries):
        start, goal = random_endpoints(terrain, rng, apart)
        try:
            return plan_route(terrain, start, goal, rng, settings, graph)
        except PathError as error:
            reason = str(error)
    raise PathError(f"none of {settings.plan.tries} random pairs of start and goal could be joined; the last: {reason}")


def cells_ahead(terrain: Terrain, path: TerrainPath, at: float, far: float = BLOCKED_AHEAD) -> list[Cell]:
    """The cells of a path just beyond a place of failure, `at` m along it: to be blocked, each time more."""
    arc = path.arc_length
    return [cell_under(terrain, node[:2]) for node in path.nodes[(arc > at) & (arc <= at + far)]]


def ends_of(terrain: Terrain, path: TerrainPath) -> tuple[Cell, Cell]:
    """The cells a path begins and ends in."""
    return cell_under(terrain, path.nodes[0, :2]), cell_under(terrain, path.nodes[-1, :2])


def cell_under(terrain: Terrain, xy: Tensor) -> Cell:
    """The cell of a point [2]; off the map, the nearest."""
    i, j = ((xy - terrain.min_point) / terrain.cell).round().long().tolist()
    return min(max(i, 0), terrain.size[0] - 1), min(max(j, 0), terrain.size[1] - 1)
