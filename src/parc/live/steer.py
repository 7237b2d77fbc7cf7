"""Where a person wants the character to go, as a path for the generator.

A clicked goal becomes a planned path; a drawn line is the path; held arrow keys are a straight line ahead that moves along; and
nothing asked for is a path of one point, which means to stay. `route` is asked anew for every plan: a character that has left
its path by more than `off_path`, or whose ground was edited, gets a new one to the same goal.
"""

import contextlib
from dataclasses import dataclass, field, replace
from typing import Literal

import torch
from torch import Tensor

from parc.errors import PathError
from parc.path.cost import CostSettings
from parc.path.follow import PathBatch
from parc.path.graph import Cell
from parc.path.path import TerrainPath
from parc.path.plan import PlanSettings, plan_path
from parc.terrain.terrain import Terrain

Wish = Literal["stay", "goal", "line", "direction"]


@dataclass(frozen=True)
class SteerSettings:
    off_path: float = 0.9
    """m beside the path at which a new one is planned"""
    key_reach: float = 3.5
    """m ahead that held keys ask for"""
    radius: float = 0.5
    """m from the goal at which it is reached"""
    steps: tuple[float, ...] = (0.3, 0.6, 0.9, 1.2, 1.5, 1.8)
    """m: ways without a higher step up or down than the first are looked for, then than the second, then any way"""
    easy_jump: float = 1.2
    """m: longest jump of all but the last of these"""
    stuck_after: int = 3
    """plans in a row without headway that make it stuck"""
    detour_after: int = 8
    """plans in a row without headway after which another way is tried"""
    detour_noise: float = 1.0
    """greatest random cost of an edge on other ways"""
    plan: PlanSettings = field(default_factory=lambda: PlanSettings(cost=CostSettings(w_z=1.0, c_max=0.0)))

    @property
    def plans(self) -> tuple[PlanSettings, ...]:
        """The easiest ways first, any way last."""
        graph = self.plan.graph
        jump = min(self.easy_jump, graph.jump_distance)
        easy = [replace(graph, max_step=step, jump_distance=jump) for step in self.steps if step < graph.max_step]
        return *(replace(self.plan, graph=each) for each in easy), self.plan


class Steering:
    """One wish at a time, and the path that it means."""

    def __init__(self, settings: SteerSettings = SteerSettings()) -> None:
        self.settings = settings
        self.wish: Wish = "stay"
        self._goal = self._direction = torch.zeros(2)
        self._line: Tensor | None = None
        self._path: TerrainPath | None = None
        self._along: PathBatch | None = None
        self._progress = torch.zeros(1)
        self._ground: Terrain | None = None
        self._stale = self._detours = 0

    @property
    def goal(self) -> Tensor | None:
        """[2] where the wish ends, if it does."""
        if self.wish == "goal":
            return self._goal
        return None if self.wish != "line" or self._line is None else self._line[-1, :2]

    @property
    def is_stuck(self) -> bool:
        """It has made no headway towards its goal for a while."""
        return self._stale >= self.settings.stuck_after

    def stay(self) -> None:
        self._wish_for("stay")

    def to_goal(self, terrain: Terrain, here: Tensor, goal: Tensor) -> TerrainPath:
        """Go to goal [2] from here [2]; PathError, and the old wish stays, where no way leads there."""
        path = self._planned(terrain, here, goal)
        self._wish_for("goal")
        self._goal = goal.clone()
        self._take(terrain, path)
        return path

    def along(self, terrain: Terrain, path: TerrainPath) -> None:
        """Go along a line that was drawn."""
        if len(path) < 2 or path.length < 0.3:
            raise PathError(f"a line of {path.length:.2f} m is too short to go along, expected at least 0.3 m")
        if not bool(terrain.contains(path.nodes[:, :2]).all()):
            raise PathError("the line leaves the terrain; draw it on the ground")
        self._wish_for("line")
        self._line = path.nodes
        self._take(terrain, path)

    def towards(self, direction: Tensor) -> None:
        """Go this way [2] for as long as it is asked for; zero means to stay."""
        length = float(direction.norm())
        if length < 1e-6:
            return self.stay()
        if self.wish != "direction":
            self._wish_for("direction")
        self._direction = direction / length

    def route(self, terrain: Terrain, here: Tensor) -> tuple[TerrainPath, float]:
        """The path to follow from here [2], and how far along it is, m."""
        if self.wish == "stay":
            return _on_ground(terrain, here[None]), 0.0
        if self.wish == "direction":
            low, high = (c + s * 0.3 for c, s in zip(terrain.extent, (1, -1), strict=True))
            end = torch.minimum(torch.maximum(here + self.settings.key_reach * self._direction, low), high)
            return _on_ground(terrain, torch.stack([here, end])), 0.0
        assert self._along is not None and self._path is not None
        before, self._progress = self._progress, self._along.advance(self._progress, here[None])
        self._stale = self._stale + 1 if float(self._progress - before) < 0.05 else 0
        beside = float((self._along.position(self._progress)[0, :2] - here).norm())
        stuck = self._stale >= self.settings.detour_after
        if self.wish == "goal" and (stuck or terrain is not self._ground or beside > self.settings.off_path):
            self._detours += stuck
            try:
                self._take(terrain, self._planned(terrain, here, self._goal, self._detours))
            except PathError:
                self._ground = terrain  # no way any more: keep to the old path as long as there is none
        assert self._path is not None
        return self._path, float(self._progress)

    def has_arrived(self, here: Tensor) -> bool:
        """Whether here [2] is near enough to the goal, and not just passing it early on a line."""
        goal = self.goal
        if goal is None or float((goal - here).norm()) > self.settings.radius:
            return False
        if self.wish == "goal" or self._along is None:
            return True
        return float(self._along.length[0] - self._along.advance(self._progress, here[None])[0]) <= 1.0

    def restart_point(self, back: float = 0.0) -> tuple[Tensor, float] | None:
        """Where on the path to begin again after a fall, [2], and the heading there; `back` m before the place reached."""
        if self._along is None or self.wish not in ("goal", "line"):
            return None
        at = (self._progress - back).clamp_min(0)
        here, ahead = self._along.position(at)[0, :2], self._along.position(at + 0.8)[0, :2]
        self._progress = at
        step = ahead - here
        return here, float(torch.atan2(step[1], step[0]))

    def _wish_for(self, wish: Wish) -> None:
        self.wish, self._line, self._path, self._along = wish, None, None, None
        self._detours = self._stale = 0
        self._progress = torch.zeros(1)

    def _take(self, terrain: Terrain, path: TerrainPath) -> None:
        self._path, self._along, self._ground = path, PathBatch.stack([path]), terrain
        self._progress = torch.zeros(1)
        self._stale = 0

    def _planned(self, terrain: Terrain, here: Tensor, goal: Tensor, detour: int = 0) -> TerrainPath:
        """The easiest way; the `detour`th other one if that is not 0."""
        if not bool(terrain.contains(goal)):
            raise PathError(f"the goal ({goal[0]:.1f}, {goal[1]:.1f}) m is off the terrain")
        start, end = _cell(terrain, here), _cell(terrain, goal)
        plans = self.settings.plans
        if detour:
            plans = tuple(replace(p, cost=replace(p.cost, c_max=p.cost.c_max + self.settings.detour_noise)) for p in plans)
        *easy, any_way = plans
        for settings in easy:
            with contextlib.suppress(PathError):
                return _ending(plan_path(terrain, start, end, detour, settings), goal)
        return _ending(plan_path(terrain, start, end, detour, any_way), goal)


def _ending(path: TerrainPath, goal: Tensor) -> TerrainPath:
    """The path with its last waypoint moved from the middle of its cell to the goal [2]."""
    nodes = path.nodes.clone()
    nodes[-1, :2] = goal
    return TerrainPath(nodes)


def _cell(terrain: Terrain, xy: Tensor) -> Cell:
    i, j = terrain.cell_of(xy).tolist()
    return min(max(i, 0), terrain.size[0] - 1), min(max(j, 0), terrain.size[1] - 1)


def _on_ground(terrain: Terrain, xy: Tensor) -> TerrainPath:
    return TerrainPath(torch.cat([xy, terrain.height_at(xy)[:, None]], -1))
