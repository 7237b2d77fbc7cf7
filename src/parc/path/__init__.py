"""Where to go: routes over a terrain."""

from parc.path.astar_search import Route, cheapest_route, heuristic
from parc.path.edge_cost import CostSettings, draw_costs
from parc.path.navigation_graph import Cell, GraphSettings, NavigationGraph
from parc.path.path_batch import PathBatch
from parc.path.path_endpoints import EndpointSettings, endpoint_cells, random_endpoints
from parc.path.path_file import load_path, save_path
from parc.path.path_planning import PlanSettings, plan_path, plan_random_path, waypoints
from parc.path.route_difficulty import Difficulty, difficulty_of
from parc.path.terrain_path import TerrainPath

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
