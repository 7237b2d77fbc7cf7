"""Where to go: routes over a terrain."""

from parc.path.astar import Route, cheapest_route, heuristic
from parc.path.cost import CostSettings, draw_costs
from parc.path.endpoint import EndpointSettings, endpoint_cells, random_endpoints
from parc.path.file import load_path, save_path
from parc.path.follow import PathBatch
from parc.path.graph import Cell, GraphSettings, NavigationGraph
from parc.path.path import TerrainPath
from parc.path.plan import PlanSettings, plan_path, plan_random_path, waypoints
from parc.path.route_difficulty import Difficulty, difficulty_of

__all__ = [
    "Cell",
    "CostSettings",
    "Difficulty",
    "EndpointSettings",
    "GraphSettings",
    "NavigationGraph",
    "PathBatch",
    "PlanSettings",
    "Route",
    "TerrainPath",
    "cheapest_route",
    "difficulty_of",
    "draw_costs",
    "endpoint_cells",
    "heuristic",
    "load_path",
    "plan_path",
    "plan_random_path",
    "random_endpoints",
    "save_path",
    "waypoints",
]
