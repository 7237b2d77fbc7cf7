"""Where a person wants the character to go, as a path for the generator.

A clicked goal becomes a planned path; a drawn line is the path; held arrow keys are a straight line ahead that moves along; and
nothing asked for is a path of one point, which means to stay. `route` is asked anew for every plan: a character that has left
its path by more than `off_path`, or whose ground was edited, gets a new one to the same goal.

Paths are those of least effort (`parc.plan.least_effort_route`): a detour is taken before a wall that can hardly be climbed.
Where the character falls or gets stuck the cells ahead become dearer, so that it tries another way if there is one.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from parc.errors import PathError
from parc.path.edge_cost import CostSettings
from parc.path.goal_reached import has_arrived
from parc.path.navigation_graph import Cell, NavigationGraph
from parc.path.path_batch import PathBatch
from parc.path.path_planning import PlanSettings
from parc.path.terrain_path import TerrainPath
from parc.plan.least_effort_route import BLOCKED_AHEAD, RouteSettings, cell_under, cells_ahead, plan_route
from parc.plan.path_progress import STANDING, levels_near
from parc.terrain.terrain import Terrain

Wish = Literal["stay", "goal", "line", "direction"]
HEADWAY = 0.1
"""m along the path from one plan to the next that count as headway"""
AIR = 0.3
"""m above the ground at which a path jumps"""
SAME_WAY = 0.97
"""cosine of the angle between two directions that count as one"""


@dataclass(frozen=True)
class SteerSettings:
    """When a path is left, and what a way costs."""

    off_path: float = 0.9
    """m beside, above or below the path at which a new one is planned"""
    key_reach: float = 3.5
    """m ahead that held keys ask for"""
    radius: float = 0.5
    """m from the goal at which it is reached"""
    patience: int = 5
    """plans without headway before it dares more"""
    dares: int = 5
    """plans more, after which it has no caution left"""
    detour_after: int = 12
    """plans in a row without headway after which another way is tried"""
    blocked_ahead: float = BLOCKED_AHEAD
    """m of the path beyond a place of failure that become dearer"""
    clearance: float = 0.3
    """cost of a cell beside a wall or a drop; a step on flat ground costs 0.16"""
    wall: float = 0.4
    """m up or down to a neighbour that make one"""
    route: RouteSettings = field(
        default_factory=lambda: RouteSettings(jump=14.0, plan=PlanSettings(cost=CostSettings(w_z=1.0, c_max=0.0)))
    )
    """what is hard, and how dear that makes a way"""


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
        self._stale = self._waited = 0.0
        self._blocked: Counter[Cell] = Counter()
        self._graph: tuple[Terrain, NavigationGraph] | None = None

    @property
    def goal(self) -> Tensor | None:
        """[2] where the wish ends, if it does."""
        if self.wish == "goal":
            return self._goal
        return None if self.wish != "line" or self._line is None else self._line[-1, :2]

    @property
    def path(self) -> TerrainPath | None:
        """To the goal or along the line, where one is wished for."""
        return self._path

    @property
    def caution(self) -> float:
        """1 while it makes headway towards its goal, less and less the longer it does not, 0 in the end."""
        return 1.0 - min(max((self._waited - self.settings.patience) / self.settings.dares, 0.0), 1.0)

    def stay(self) -> None:
        """Nothing is asked for."""
        self._wish_for("stay")

    def to_goal(self, terrain: Terrain, here: Tensor, goal: Tensor) -> TerrainPath:
        """Go to goal [2] from here [2]; PathError, and the old wish stays, where no way leads there."""
        path = self._planned(terrain, here, goal, {})
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

    def towards(self, direction: Tensor) -> bool:
        """Go this way [2] for as long as it is asked for; zero means to stay. Whether that is another way than before."""
        length = float(direction.norm())
        if length < 1e-6:
            changed = self.wish != "stay"
            self.stay()
            return changed
        before = self._direction if self.wish == "direction" else torch.zeros(2)
        if self.wish != "direction":
            self._wish_for("direction")
        self._direction = direction / length
        return float(before @ self._direction) < SAME_WAY

    def route(self, terrain: Terrain, here: Tensor, height: float | None = None, share: float = 1.0) -> tuple[TerrainPath, float]:
        """The path to follow from here [2], and how far along it is, m; `height`: of the pelvis, if it matters.

        `share`: of a plan, that this counts for headway; who plans more often has come less far each time.
        """
        if self.wish == "stay":
            return _on_ground(terrain, here[None]), 0.0
        if self.wish == "direction":
            low, high = (c + s * 0.3 for c, s in zip(terrain.extent, (1, -1), strict=True))
            end = torch.minimum(torch.maximum(here + self.settings.key_reach * self._direction, low), high)
            return _on_ground(terrain, torch.stack([here, end])), 0.0
        assert self._along is not None and self._path is not None
        before, self._progress = self._progress, self._along.advance(self._progress, here[None])
        got_on = float(self._progress - before) >= HEADWAY * share
        self._stale, self._waited = (0.0, 0.0) if got_on else (self._stale + share, self._waited + share)
        beside = float((self._along.position(self._progress)[0, :2] - here).norm())
        stuck = self._stale >= self.settings.detour_after
        if stuck:
            self.block(terrain)
        strayed = max(beside, self._off_level(height)) > self.settings.off_path
        if self.wish == "goal" and (stuck or strayed or terrain is not self._ground):
            try:
                self._take(terrain, self._planned(terrain, here, self._goal, self._blocked))
            except PathError:
                self._ground, self._stale = terrain, 0  # no way any more: keep to the old path as long as there is none
        assert self._path is not None
        return self._path, float(self._progress)

    def _off_level(self, height: float | None) -> float:
        """m that someone who stands there would be above or below all of the path nearby."""
        assert self._along is not None
        if height is None:
            return 0.0
        levels = levels_near(self._along, self._progress) + STANDING
        return max(float(levels.min()) - height, height - float(levels.max()), 0.0)

    def block(self, terrain: Terrain) -> None:
        """The way just ahead turned out to be hard: the next path shuns it."""
        if self.wish != "goal" or self._path is None:
            return
        self._blocked.update(cells_ahead(terrain, self._path, float(self._progress), self.settings.blocked_ahead))

    def has_arrived(self, here: Tensor) -> bool:
        """Whether feet here [2] (or [3]: with their height) are near enough to the goal, not just passing it early on a line."""
        goal, left = self.goal, 0.0
        if goal is None:
            return False
        if self.wish == "line" and self._along is not None:
            left = float(self._along.length[0] - self._along.advance(self._progress, here[None, :2])[0])
        knows_height = self._path is not None and here.shape[0] == 3
        level = self._path.goal[2:] if self._path is not None and knows_height else torch.zeros(1)
        feet = torch.cat([here[:2], here[2:] if knows_height else level])
        return bool(has_arrived(feet, torch.cat([goal, level]), left, self.settings.radius))

    def restart_point(self, back: float = 0.0) -> tuple[Tensor, float] | None:
        """Where on the path to begin again after a fall, [2], and the heading there.

        `back` m before the place reached, or further where the path is in the air: it jumps there.
        """
        if self._along is None or self._ground is None or self.wish not in ("goal", "line"):
            return None
        at = (self._progress - back).clamp_min(0)
        while float(at) > 0 and self._in_the_air(self._ground, at):
            at = (at - self._along.spacing).clamp_min(0)
        here, ahead = self._along.position(at)[0, :2], self._along.position(at + 0.8)[0, :2]
        self._progress = at
        step = ahead - here
        return here, float(torch.atan2(step[1], step[0]))

    def _in_the_air(self, terrain: Terrain, arc: Tensor) -> bool:
        assert self._along is not None
        point = self._along.position(arc)[0]
        return float(point[2] - terrain.height_at(point[:2])) > AIR

    def _wish_for(self, wish: Wish) -> None:
        self.wish, self._line, self._path, self._along = wish, None, None, None
        self._stale, self._waited, self._blocked = 0, 0, Counter()
        self._progress = torch.zeros(1)

    def _take(self, terrain: Terrain, path: TerrainPath) -> None:
        self._path, self._along, self._ground = path, PathBatch.stack([path]), terrain
        self._progress = torch.zeros(1)
        self._stale = 0

    def _planned(self, terrain: Terrain, here: Tensor, goal: Tensor, blocked: Mapping[Cell, float]) -> TerrainPath:
        """The way of least effort that shuns `blocked` cells."""
        if not bool(terrain.contains(goal)):
            raise PathError(f"the goal ({goal[0]:.1f}, {goal[1]:.1f}) m is off the terrain")
        route = self.settings.route
        if self._graph is None or self._graph[0] is not terrain:
            self._graph = terrain, NavigationGraph.of(terrain, route.plan.graph)
        ends = cell_under(terrain, here), cell_under(terrain, goal)
        dear = _beside_steps(terrain, self.settings.wall, self.settings.clearance / route.block)
        for cell, factor in blocked.items():
            dear[cell] = dear.get(cell, 0.0) + factor
        path = plan_route(terrain, *ends, np.random.default_rng(0), route, self._graph[1], dear)
        return _ending(path, goal)


def _beside_steps(terrain: Terrain, step: float, factor: float) -> dict[Cell, float]:
    """`factor` for each cell that has a neighbour higher or lower by more than `step`."""
    heights = terrain.heights[None, None]
    padded = torch.nn.functional.pad(heights, (1, 1, 1, 1), mode="replicate")
    highest = torch.nn.functional.max_pool2d(padded, 3, 1)
    lowest = -torch.nn.functional.max_pool2d(-padded, 3, 1)
    beside = ((highest - heights > step) | (heights - lowest > step))[0, 0]
    rows, columns = beside.nonzero().T.tolist()
    return dict.fromkeys(zip(rows, columns, strict=True), factor)


def _ending(path: TerrainPath, goal: Tensor) -> TerrainPath:
    """The path with its last waypoint moved from the middle of its cell to the goal [2]."""
    nodes = path.nodes.clone()
    nodes[-1, :2] = goal
    return TerrainPath(nodes)


def _on_ground(terrain: Terrain, xy: Tensor) -> TerrainPath:
    return TerrainPath(torch.cat([xy, terrain.height_at(xy)[:, None]], -1))
