"""Across a terrain in physics: plan, generate, simulate, choose by what the simulation managed, and go on from there.

The files `offline_*` search a whole way to a goal (`parc traverse`); `online_*` plan for a character while it runs (`parc live`).
"""

from parc.plan.least_effort_route import RouteSettings, plan_random_route, plan_route
from parc.plan.offline_search import SearchSettings
from parc.plan.offline_traverse import Models, Traverse, TraverseSettings, traverse
from parc.plan.open_loop import PlainSettings

__all__ = [
    "Models",
    "PlainSettings",
    "RouteSettings",
    "SearchSettings",
    "Traverse",
    "TraverseSettings",
    "plan_random_route",
    "plan_route",
    "traverse",
]
