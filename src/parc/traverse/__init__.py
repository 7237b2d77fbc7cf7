"""Across a terrain in physics: plan, generate, simulate, choose by what the simulation managed, and go on from there."""

from parc.traverse.plain import PlainSettings
from parc.traverse.route import RouteSettings, plan_random_route, plan_route
from parc.traverse.search import SearchSettings
from parc.traverse.traverse import Models, Traverse, TraverseSettings, traverse

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
