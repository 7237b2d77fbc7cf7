"""Terrains with routes to train on, drawn anew for ever: terrain i of a seed is the same everywhere and in no evaluation set.

Families are those of `parc.evaluate.terrain_families`, but for platforms, whose gaps are bounded; routes avoid what is hard, as
in crossings (`parc.plan.least_effort_route`). Random numbers come from a stream of the training's own.

`CrossingSource` draws in the order of the numbers: here, or in processes beside this one, which are a few terrains ahead. Then
`take` gives what is ready and waits for nothing unless it is told to.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from parc.errors import PathError
from parc.evaluate.terrain_families import FAMILIES, Crossing, Family
from parc.evaluate.terrain_sets import drawn_crossing
from parc.path import EndpointSettings, PlanSettings, TerrainPath, plan_path
from parc.path.path_batch import PathBatch
from parc.path.route_difficulty import difficulty_of
from parc.plan.least_effort_route import ends_of, plan_route
from parc.reflex.reflex_settings import BankSettings
from parc.run.process_pool import worker_pool
from parc.terrain import Terrain, platform_chain
from parc.terrain.random_platforms import REACHABLE
from parc.terrain.terrain import TerrainBatch

_TRAINING = 4_018_226_953_311
"""seed of the training's terrains, and of nothing else"""
_SPACING = 0.1
"""m between points of a path"""
_FIRST, _LAST = 0.5, 2.0
"""m of a path before the first and after the last place where an episode may begin"""
_ON_GROUND = 0.05
"""m from the path to the ground of a place where a body can stand"""
_AHEAD = 3
"""times the terrains of an exchange that processes draw ahead"""


@dataclass(frozen=True, eq=False)
class BankedCrossing:
    """A terrain, a route across it and places on the route; numpy, to be sent between processes."""

    index: int
    family: Family
    heights: np.ndarray
    """[X, Y] m"""
    min_point: np.ndarray
    """[2] m"""
    cell: float
    """m"""
    nodes: np.ndarray
    """[K, 3] of the route"""
    arcs: np.ndarray
    """[S] m along the route where episodes may begin; the first is 0"""

    @property
    def terrain(self) -> Terrain:
        """The ground."""
        return Terrain(torch.from_numpy(self.heights), torch.from_numpy(self.min_point), self.cell)

    @property
    def path(self) -> TerrainPath:
        """The route."""
        return TerrainPath(torch.from_numpy(self.nodes))


def draw_crossing(settings: BankSettings, each: int, seed: int, index: int) -> BankedCrossing:
    """Terrain `index` of the training with this seed, with `each` places to begin; drawn again until it fits the bank."""
    rng = np.random.default_rng(np.random.SeedSequence([_TRAINING, seed, index]))
    family = settings.families[index % len(settings.families)]

    def make(rng: np.random.Generator) -> Crossing:
        terrain, path = _platforms(settings.widest_gap, rng) if family == "platforms" else FAMILIES[family](rng)
        if max(terrain.size) > settings.room:
            raise PathError("the terrain does not fit into the bank")
        route = plan_route(terrain, *ends_of(terrain, path), rng)
        if not _FIRST < route.length <= settings.longest:
            raise PathError("the route does not fit into the bank")
        if family == "platforms" and difficulty_of(terrain, route).gap > settings.widest_gap + _ON_GROUND:
            raise PathError("the route leaps askew, and farther than the gaps are wide")
        return terrain, route

    terrain, route = drawn_crossing(make, rng)
    heights, low = terrain.heights.float().contiguous().numpy(), terrain.min_point.float().numpy()
    return BankedCrossing(index, family, heights, low, terrain.cell, route.nodes.numpy(), _places(terrain, route, each, rng))


def _platforms(widest: float, rng: np.random.Generator) -> Crossing:
    """Three to five gaps of at most `widest` m; towers of one height or up to 0.8 m apart."""
    most = float(rng.choice((0.0, 0.4, 0.8)))
    rise = (-most, min(most, REACHABLE.rise[1]))
    gaps = (min(0.4, widest), widest)
    chain = platform_chain(replace(REACHABLE, count=int(rng.integers(3, 6)), gaps=gaps, rise=rise), rng)
    if chain.terrain.cell * np.hypot(*np.subtract(chain.start, chain.goal)) < EndpointSettings().min_distance:
        raise PathError("start and goal are too near to each other")
    return chain.terrain, plan_path(chain.terrain, chain.start, chain.goal, rng, PlanSettings())


def _places(terrain: Terrain, route: TerrainPath, each: int, rng: np.random.Generator) -> np.ndarray:
    """[each] m along the route where there is ground underneath; the first is 0, and stands for those that are missing."""
    batch = PathBatch.stack([route], _SPACING)
    points = batch.points[0]
    arcs = _SPACING * np.arange(len(points))
    stands = ((terrain.height_at(points[:, :2]) - points[:, 2]).abs() < _ON_GROUND).numpy()
    possible = arcs[stands & (arcs >= _FIRST) & (arcs <= route.length - _LAST)]
    chosen = np.zeros(each, np.float32)
    if each > 1 and len(possible):
        chosen[1:] = rng.choice(possible, each - 1)
    return chosen


@dataclass(frozen=True, eq=False)
class CrossingBank:
    """B terrains, routes and S places on each, as tensors of one size; rows may be exchanged."""

    terrains: TerrainBatch
    """[B] padded to the bank's room"""
    paths: PathBatch
    """[B] with points for the longest path"""
    arcs: Tensor
    """[B, S] m"""

    @classmethod
    def of(
        cls, crossings: Sequence[BankedCrossing], settings: BankSettings, device: torch.device | str = "cpu"
    ) -> "CrossingBank":
        """In the order given."""
        room = Terrain.flat((settings.room, settings.room), cell=crossings[0].cell)
        terrains = TerrainBatch.stack([room, *(crossing.terrain for crossing in crossings)])
        paths = PathBatch.stack([crossing.path for crossing in crossings], _SPACING)
        count = int(settings.longest / _SPACING) + 2
        shortage = count - paths.points.shape[1]
        points = torch.cat([paths.points, paths.points[:, -1:].expand(-1, shortage, -1)], 1)
        paths = replace(paths, points=points.contiguous().to(device), length=paths.length.to(device))
        arcs = torch.from_numpy(np.stack([crossing.arcs for crossing in crossings])).to(device)
        return cls(terrains.select(torch.arange(1, len(terrains))).to(device), paths, arcs)

    def state(self) -> dict[str, Tensor]:
        """For a checkpoint; `load_state` takes it back."""
        ground = {"heights": self.terrains.heights, "min_point": self.terrains.min_point, "size": self.terrains.size}
        return ground | {"points": self.paths.points, "length": self.paths.length, "arcs": self.arcs}

    @classmethod
    def from_state(cls, state: dict[str, Tensor], cell: float) -> "CrossingBank":
        """What `state` told."""
        terrains = TerrainBatch(state["heights"], state["min_point"], state["size"], cell)
        return cls(terrains, PathBatch(state["points"], state["length"], _SPACING), state["arcs"])

    def __len__(self) -> int:
        return len(self.terrains)

    def paths_from(self, rows: Tensor, arcs: Tensor) -> PathBatch:
        """[K] what is left of the paths of rows [K] after `arcs` [K] m, to the next point of the path."""
        points, last = self.paths.points.index_select(0, rows), self.paths.points.shape[1] - 1
        index = (arcs / self.paths.spacing).round().long().unsqueeze(1) + torch.arange(last + 1, device=arcs.device)
        points = points.gather(1, index.clamp_max(last).unsqueeze(-1).expand(-1, -1, 3))
        length = (self.paths.length.index_select(0, rows) - arcs).clamp_min(self.paths.spacing)
        return PathBatch(points, length, self.paths.spacing)


class CrossingSource:
    """Crossings `next`, `next` + 1, .. of a seed."""

    def __init__(self, settings: BankSettings, each: int, seed: int, pool=None) -> None:
        """`pool`: an executor of processes that draw; without one they are drawn when they are asked for."""
        self.settings, self.each, self.seed, self._pool = settings, each, seed, pool
        self.next = 0
        """number of the next crossing that `take` gives"""
        self._asked: deque[Future[BankedCrossing]] = deque()

    @classmethod
    @contextmanager
    def opened(cls, settings: BankSettings, each: int, seed: int) -> "Iterator[CrossingSource]":
        """With processes, if the settings ask for any, which end with the block."""
        if settings.drawers == 0:
            yield cls(settings, each, seed)
            return
        with worker_pool(settings.drawers) as pool:
            source = cls(settings, each, seed, pool)
            try:
                yield source
            finally:
                for future in source._asked:
                    future.cancel()

    def take(self, count: int, wait: bool = True) -> list[BankedCrossing]:
        """The next `count`, or none of them if they are not all there yet and nobody is to wait."""
        if self._pool is None:
            drawn = [draw_crossing(self.settings, self.each, self.seed, self.next + k) for k in range(count)]
        else:
            self._ask(count)
            if not wait and not all(future.done() for future in list(self._asked)[:count]):
                return []
            drawn = [self._asked.popleft().result() for _ in range(count)]
        self.next += count
        if self._pool is not None:
            self._ask(_AHEAD * self.settings.fresh)
        return drawn

    def _ask(self, count: int) -> None:
        for k in range(len(self._asked), count):
            self._asked.append(self._pool.submit(draw_crossing, self.settings, self.each, self.seed, self.next + k))
