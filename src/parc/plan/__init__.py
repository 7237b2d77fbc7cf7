"""Across a terrain in physics: plan, generate, simulate, choose by what the simulation managed, and go on from there.

Four ways across, and what they share:

    offline_*   search a whole way to a goal (`parc traverse`)            least_effort_route  where to go
    online_*    plan for a character while it runs (`parc live`)          plan_writing        motions that go on from a body
    reflex      plan, follow, look, plan again, without rehearsal         rehearsal_stage     bodies follow them in simulation
    open_loop   the paper's way: plan all, follow once                    future_tree         what they did, as a tree
                                                                          future_score        what it is worth
                                                                          path_progress       how far it is along a path
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
