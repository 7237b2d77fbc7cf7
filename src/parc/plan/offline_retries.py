"""Try after try: keep what was managed, go back a little, and if there is another way around the hard place, take it.

A try ends in a dead end (`parc.plan.offline_search`). The next one begins in simulated states before it, those of the time just
before a body first came within 1 m of it, then within 2, 4, ... m, and the last try from the start. Rounds would not do as a
measure: in the last ones bodies mostly stood before the wall, and who stands there has missed the run-up. The cells of the path
just beyond the dead end are made expensive, and A* plans anew from where the body is: either another way is cheaper now,
or the same one is tried with other noise.
"""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from parc.errors import PathError
from parc.generate.model.motion_generator import Generator
from parc.path.navigation_graph import Cell, NavigationGraph
from parc.path.terrain_path import TerrainPath
from parc.plan.future_tree import Branch, Tree
from parc.plan.least_effort_route import RouteSettings, cell_under, cells_ahead, ends_of, plan_route
from parc.plan.offline_search import Search, SearchSettings, SearchTry
from parc.plan.path_progress import STANDING
from parc.plan.rehearsal_stage import RehearsalStage
from parc.terrain.terrain import Terrain

TOGETHER = 1.0
"""m: bodies farther than this from the foremost are left behind when the way changes"""


@dataclass(frozen=True, eq=False)
class SearchResult:
    """What all tries together came to."""

    end: Branch | None
    """the body that arrived, or the one that came nearest to the goal; None if none survived its first steps"""
    reached: bool
    remaining: float
    """m of path left"""
    tries: int
    rounds: int
    simulated: int
    """control steps of all bodies together"""
    survival: float
    """mean share of the look that candidates survived"""


def search_with_tries(
    generator: Generator,
    stage: RehearsalStage,
    terrain: Terrain,
    path: TerrainPath,
    settings: SearchSettings,
    random: torch.Generator,
    tries: int,
    route: RouteSettings,
    on_round: Callable[[int, int, float], object] | None = None,
) -> SearchResult:
    """`on_round(try, rounds so far, m left)` after each round."""
    deadline = time.monotonic() + settings.seconds
    rng = np.random.default_rng(int(torch.randint(2**31, (), generator=random, device=random.device)))
    graph = NavigationGraph.of(terrain, route.plan.graph) if settings.reroute else None
    start, goal = ends_of(terrain, path)
    way, tree = path, Tree()
    trials: list[tuple[SearchTry, float]] = []
    blocked: Counter[Cell] = Counter()
    while len(trials) < tries and (not trials or (not trials[-1][0].reached and time.monotonic() < deadline)):
        attempt = len(trials) + 1
        search = Search(generator, stage, terrain, way, settings)
        told = None if on_round is None else _teller(on_round, attempt, sum(trial.rounds for trial, _ in trials), way)
        trial = search.run(random, tree, deadline, told)
        trials.append((trial, 0.0 if trial.reached or trial.end is None else way.length - trial.end.progress))
        tree = _earlier(trial, 2.0 ** (attempt - 1), from_start=attempt == tries - 1)
        if graph is not None:
            blocked.update(cells_ahead(terrain, way, 0.0 if trial.end is None else trial.end.progress))
            here = start if tree.farthest is None else _standing_cell(terrain, tree.farthest)
            other = _way(terrain, here, goal, rng, route, graph, blocked)
            way, tree = (way, tree) if other is None else (other, tree.on_new_path(TOGETHER))
    # The body that arrived, or else the one that came nearest to the goal of all tries.
    ends = [(trial, left) for trial, left in trials if trial.end is not None]
    best, remaining = min(ends, key=lambda found: (not found[0].reached, found[1]), default=(trials[-1][0], float("inf")))
    rounds = sum(trial.rounds for trial, _ in trials)
    survival = sum(trial.survival for trial, _ in trials) / max(rounds, 1)
    simulated = rounds * settings.look * settings.candidates
    return SearchResult(best.end, best.reached, remaining, len(trials), rounds, simulated, survival)


def _teller(
    on_round: Callable[[int, int, float], object], attempt: int, before: int, way: TerrainPath
) -> Callable[[float], object]:
    rounds = iter(range(before + 1, 1 << 30))
    return lambda progress: on_round(attempt, next(rounds), way.length - progress)


def _earlier(trial: SearchTry, away: float, from_start: bool) -> Tree:
    """The bodies before any came within `away` m of where the farthest is, or none: from the start."""
    return Tree() if from_start or trial.end is None else trial.tree.before(trial.end.last.qpos[:2], away)


def _standing_cell(terrain: Terrain, body: Branch) -> Cell:
    """Of the cells around a body, the nearest that it can be standing on."""
    root = body.last.qpos[:3].cpu()
    i, j = cell_under(terrain, root[:2])
    rows, columns = terrain.size
    around = [(a, b) for a in range(i - 1, i + 2) for b in range(j - 1, j + 2) if 0 <= a < rows and 0 <= b < columns]

    def unlikely(cell: Cell) -> float:
        away = float((terrain.centre_of(torch.tensor(cell)) - root[:2]).norm())
        return away + 2.0 * max(0.0, abs(float(root[2] - terrain.heights[cell]) - STANDING) - 0.3)

    return min(around, key=unlikely)


def _way(
    terrain: Terrain,
    here: Cell,
    goal: Cell,
    rng: np.random.Generator,
    route: RouteSettings,
    graph: NavigationGraph,
    blocked: Counter[Cell],
) -> TerrainPath | None:
    try:
        way = plan_route(terrain, here, goal, rng, route, graph, blocked)
    except PathError:
        return None
    return way if len(way) > 1 else None
