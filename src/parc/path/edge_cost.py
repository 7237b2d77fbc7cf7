"""What an edge costs (the paper's appendix "Path Planning", section "Cost").

    g(x1, x2) = w_xy ((x1 - x2)^2 + (y1 - y2)^2) + w_z (z1 - z2)^2 + X,    X ~ U(c_min, c_max)

X makes the routes differ. It is drawn once for every edge before the search starts: if it were drawn anew at each visit the cost
of an edge would depend on the order of the search, and "the cheapest route" would mean nothing.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parc.errors import SettingsError
from parc.path.navigation_graph import NavigationGraph


@dataclass(frozen=True)
class CostSettings:
    """What an edge of the navigation graph costs."""

    w_xy: float = 1.0
    """weight of the squared horizontal distance, 1/m^2"""
    w_z: float = 0.15
    """weight of the squared height difference, 1/m^2"""
    c_min: float = 0.0
    """least random cost of an edge"""
    c_max: float = 0.5
    """greatest random cost of an edge"""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not 0 <= value < float("inf"):
                raise SettingsError(f"cost setting {name} is {value}, expected a number of at least 0")
        if self.c_min > self.c_max:
            raise SettingsError(f"c_min is {self.c_min}, expected no more than c_max = {self.c_max}")


def draw_costs(graph: NavigationGraph, settings: CostSettings, rng: np.random.Generator) -> NDArray[np.float64]:
    """Cost [E] of every edge, with a fresh draw of X."""
    noise = rng.uniform(settings.c_min, settings.c_max, graph.num_edges)
    return settings.w_xy * graph.horizontal2 + settings.w_z * graph.dz2 + noise
