"""A* over a navigation graph, with a heuristic that never overestimates.

The straight-line distance does overestimate here, because costs are *squared* distances: ten steps of 0.4 m cost 10 * 0.16 = 1.6,
the square of the whole distance is 16. The bound used instead counts cells. Let an edge move (a, b) rows and columns, s be the
cell size, R the longest edge of the graph in cells, and (A, B) the rows and columns that remain to the goal:

    h = w_xy s^2 (|A| + |B|)  +  c_min ceil(max(|A|, |B|) / R)

It is consistent, h(u) <= g(u, v) + h(v) on every edge, term by term:

- a and b are integers, so a^2 + b^2 >= |a| + |b|, for steps and for jumps alike: the edge costs w_xy s^2 (a^2 + b^2) or more, and
  |A| + |B| falls by |a| + |b| at most.
- max(|A|, |B|) falls by max(|a|, |b|) <= R at most, so its quotient by R, rounded up, falls by 1 at most, and the edge costs
  c_min or more on top of the first term. (Counting cells instead of edges would overestimate: a jump pays c_min once.)

h = 0 at the goal, so h is admissible, and it dominates the bound by the Chebyshev distance. Consistency also means that a node
taken from the queue is final: no node is opened twice, and the first time the goal comes out its cost is the least.
"""

from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from parc.errors import PathError
from parc.path.edge_cost import CostSettings
from parc.path.navigation_graph import Cell, NavigationGraph


@dataclass(frozen=True)
class Route:
    """A way over cells, as A* found it."""

    cells: tuple[Cell, ...]
    """cells from start to goal, both included"""
    is_jump: tuple[bool, ...]
    """whether the edge between cells k and k+1 is a jump; one fewer than cells"""
    cost: float
    """sum of the edge costs"""
    expanded: int
    """nodes the search took from its queue"""


def heuristic(graph: NavigationGraph, goal: Cell, settings: CostSettings) -> NDArray[np.float64]:
    """Lower bound [N] of the cost from every node to the goal."""
    rows = np.abs(np.arange(graph.size[0]) - goal[0])[:, None]
    columns = np.abs(np.arange(graph.size[1]) - goal[1])[None, :]
    edges = -(-np.maximum(rows, columns) // graph.longest_edge)
    return (settings.w_xy * graph.cell**2 * (rows + columns) + settings.c_min * edges).ravel()


def cheapest_route(graph: NavigationGraph, costs: NDArray[np.float64], start: Cell, goal: Cell, settings: CostSettings) -> Route:
    """The cheapest route from start to goal; `costs` [E] as drawn by `draw_costs` with the same settings.

    Raises PathError if there is none: a part of a route is never returned. Where start is the goal, the route is that one cell.
    """
    source, sink = graph.node(start, "start"), graph.node(goal, "goal")
    estimate = heuristic(graph, graph.cell_of(sink), settings).tolist()
    rows, cost, first = graph.rows, costs.tolist(), graph.indptr.tolist()
    reached = [float("inf")] * graph.num_nodes
    parent = [-1] * graph.num_nodes
    final = bytearray(graph.num_nodes)
    reached[source] = 0.0
    queue = [(estimate[source], source)]
    expanded = 0
    while queue:
        _, node = heappop(queue)
        if final[node]:
            continue
        final[node] = 1
        expanded += 1
        if node == sink:
            return _trace(graph, parent, sink, reached[sink], expanded)
        so_far = reached[node]
        for edge, target in enumerate(rows[node], first[node]):
            through_here = so_far + cost[edge]
            if through_here < reached[target]:
                reached[target] = through_here
                parent[target] = node
                heappush(queue, (through_here + estimate[target], target))
    raise PathError(
        f"the goal {graph.cell_of(sink)} cannot be reached from the start {graph.cell_of(source)}: "
        f"only {expanded} of {graph.num_nodes} cells can, without a step or jump higher than allowed"
    )


def _trace(graph: NavigationGraph, parent: list[int], sink: int, cost: float, expanded: int) -> Route:
    nodes = [sink]
    while parent[nodes[-1]] >= 0:
        nodes.append(parent[nodes[-1]])
    nodes.reverse()
    edges = [graph.edge(a, b) for a, b in pairwise(nodes)]
    return Route(
        cells=tuple(graph.cell_of(n) for n in nodes),
        is_jump=tuple(bool(graph.is_jump[e]) for e in edges if e is not None),
        cost=cost,
        expanded=expanded,
    )
