"""The closed loop: a simulated character follows a plan that is made anew, from where it is, while it moves.

    pilot = Pilot(generator, tracker, terrain)
    pilot.stand(xy, heading)
    pilot.go_to(goal)
    while not pilot.arrived:
        moment = pilot.step()          # one control step, 1/30 s

The character plays futures that were simulated before they happened (`parc.plan.online_future_tree`): the branch in use, then the
branch of the tree that leads to the best leaf, or a pause where that may be a dead end. Every `period` control steps a round of
planning is asked for that lets the tree grow, and its outcome is taken `delay` later, whether it was made beside the physics
(`threaded`) or in between: the same seed gives the same run, and a plan that is late makes the character wait, not stumble.

A new wish cuts the tree `delay` steps from now. A push, or an edit of the ground nearby, makes all that was simulated void: the
body is *on its own*, simulated step by step with the reference it had, until a plan from its new state is there.
"""

import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from parc.character.kinematics import BodyPose
from parc.errors import SettingsError, TerrainError
from parc.generate.model.motion_generator import Generator
from parc.motion.motion import Motion
from parc.motion.mujoco_qpos import qpos_to_frames
from parc.path.terrain_path import TerrainPath
from parc.plan.online_fall_watch import FallSettings, FallWatch
from parc.plan.online_future_tree import Tree
from parc.plan.online_planner import Plan, Planner, PlannerSettings, Request, Start
from parc.plan.online_rehearsal import PathOnTerrain, differ_near
from parc.plan.online_steering import Steering, SteerSettings
from parc.plan.online_step_report import DriveStatistics, Moment
from parc.plan.tracker_critic import Critic
from parc.terrain.terrain import Terrain
from parc.track.follow.follower import Follower
from parc.track.follow.plan_reference import PlanReference
from parc.track.learn.policy import TrainedActor

SAME_PLACE = 1e-3
"""m and rad by which a body may differ from what was simulated and still count as being there"""


@dataclass(frozen=True)
class PilotSettings:
    period: int = 15
    """control steps from one plan to the next"""
    delay: int = 15
    """control steps from asking for a plan to following it, at most `period`"""
    foresight: int = 8
    """branches that the tree of simulated futures is deep; 1: every plan is followed as soon as it is there"""
    lead: int = 30
    """control steps beyond the branch in use that must be known of a way before it is taken, unless the tracker is content"""
    content: float = 9.0
    """of the tracker's value function, with which it is"""
    wait: int = 45
    """control steps that a pause is prolonged, so that there is time to find a way"""
    planner: PlannerSettings = field(default_factory=PlannerSettings)
    steer: SteerSettings = field(default_factory=SteerSettings)
    fall: FallSettings = field(default_factory=FallSettings)
    step_back: float = 0.4
    """m of the path that a character which fell is put back"""
    remember: float = 60.0
    """s of the run that are kept"""

    def __post_init__(self) -> None:
        if not 0 <= self.delay <= self.period or self.period < 1:
            raise SettingsError(f"a plan every {self.period} control steps, {self.delay} late: expected 0 <= delay <= period")
        if self.foresight < 1:
            raise SettingsError(f"a foresight of {self.foresight} branches, expected at least 1")
        if self.delay + self.period > min(self.planner.rehearse, self.planner.frames - 1):
            raise SettingsError(
                f"plans of {self.planner.frames} frames, {self.planner.rehearse} rehearsed, run out before the next is due; "
                f"expected at least {self.delay + self.period} (period + delay)"
            )


class Pilot:
    """One character. Methods are called from one thread, that of the physics."""

    def __init__(
        self,
        generator: Generator,
        trained: TrainedActor,
        terrain: Terrain,
        settings: PilotSettings = PilotSettings(),
        seed: int = 0,
        threaded: bool = False,
        critic: Critic | None = None,
    ) -> None:
        self.settings, self.terrain, self.trained = settings, terrain, trained
        self.character = trained.character
        self.steering = Steering(settings.steer)
        self.statistics = DriveStatistics()
        self.arrived = False
        """the last goal that was asked for is reached"""
        self._planner = Planner(generator, trained, terrain, settings.planner, critic)
        self._body = Follower(trained, terrain)
        self._tree: Tree | None = None
        self._seed, self._device, self._asked = seed, generator.device, 0
        self._pool = ThreadPoolExecutor(1, "pilot planner", torch.set_num_threads, (1,)) if threaded else None
        self._pending: Future[Plan] | Callable[[], Plan] | None = None
        self._given_up = threading.Event()
        self._due = 0
        self._wish_is_new = self._pending_is_new = False
        self._late_since: float | None = None
        self._stands_up = False
        self._watch = FallWatch(settings.fall, trained.contract.control_hz)
        self._history: list[tuple[Tensor, Tensor]] = []
        self._safe: tuple[Tensor, float] | None = None

    @property
    def xy(self) -> Tensor:
        """[2] where the pelvis is."""
        return self._body.world.body_pos[0, 0, :2].clone()

    @property
    def bodies(self) -> BodyPose:
        """World positions [B, 3] and rotations [B, 4] (xyzw) of the character's bodies."""
        world = self._body.world
        return BodyPose(world.body_pos[0].clone(), world.body_rot[0].clone())

    @property
    def contacts(self) -> Tensor:
        """[B]"""
        return self._body.snapshot().contacts

    @property
    def plan(self) -> PlanReference | None:
        """What is followed, from its frame 0 on; `plan_frame` is where the character should be in it."""
        return self._body.reference

    @property
    def plan_frame(self) -> int:
        return self._body.frame

    @property
    def is_on_its_own(self) -> bool:
        """It was pushed, or the ground changed, and no plan is there yet that knows."""
        return self._tree is None

    @property
    def is_ready(self) -> bool:
        """Whether `step` returns at once; not while a plan that is due is still being made, which it would wait for."""
        late = isinstance(self._pending, Future) and self.statistics.steps >= self._due and not self._pending.done()
        if late and self._late_since is None:
            self._late_since = time.perf_counter()
        return not late

    def stand(self, xy: Tensor, heading: float = 0.0) -> None:
        """Begin at a place [2], facing `heading` (rad); what was planned is forgotten, the wish is not."""
        xy = torch.as_tensor(xy, dtype=torch.float32)
        if not bool(self.terrain.contains(xy)):
            raise TerrainError(f"the character cannot stand at ({xy[0]:.1f}, {xy[1]:.1f}) m, which is off the terrain")
        self._stand_up(xy, heading)
        self._adopt()
        self._wish_is_new = False

    def go_to(self, goal: Tensor) -> TerrainPath:
        """Plan a way to goal [2] and take it; PathError, and nothing changes, where there is none."""
        path = self.steering.to_goal(self.terrain, self.xy, torch.as_tensor(goal, dtype=torch.float32))
        self._new_wish()
        return path

    def go_along(self, path: TerrainPath) -> None:
        """Follow a drawn line."""
        self.steering.along(self.terrain, path)
        self._new_wish()

    def go_towards(self, direction: Tensor) -> None:
        """Go this way [2] until told otherwise; zero: stay."""
        if self.steering.towards(torch.as_tensor(direction, dtype=torch.float32)):
            self._new_wish()

    def stay(self) -> None:
        self.steering.stay()
        self._new_wish()

    def push(self, velocity: Tensor) -> None:
        """Change the body's velocity by [3] m/s at once."""
        self._body.push(torch.as_tensor(velocity, dtype=torch.float32))
        self.statistics.pushes += 1
        self._break_away()

    def set_terrain(self, terrain: Terrain) -> None:
        """Other ground under the running character; it must have the same cell size."""
        if abs(terrain.cell - self.terrain.cell) > 1e-6:
            raise TerrainError(f"the new terrain has cells of {terrain.cell} m, the old one of {self.terrain.cell} m")
        matters = differ_near(self.terrain, terrain, self.xy)
        self.terrain = terrain
        self._body.set_terrain(terrain)
        self.statistics.edits += 1
        if matters:
            self._body.put(self._body.snapshot())
            self._break_away()

    def step(self) -> Moment:
        """One control step; after a fall the character first stands again, on its path."""
        if self._body.reference is None:
            raise SettingsError("the character is nowhere yet; call stand first")
        self._think()
        if self.settings.delay == 0 and self._pending is not None:
            self._think()
        if self._tree is None:
            self._body.step()
        else:
            self._tree.taken += 1
            self._show()
        self.statistics.steps += 1
        moment = self._look()
        if moment.fell:
            self._reset()
        return moment

    def motion(self) -> Motion:
        """What the character did, as far as it is remembered; resets are jumps in it."""
        qpos, contacts = (torch.stack(parts) for parts in zip(*self._history, strict=True))
        return Motion(*qpos_to_frames(self.character, qpos), contacts, float(self.trained.contract.control_hz))

    def close(self) -> None:
        self._drop_pending()
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def __enter__(self) -> "Pilot":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _think(self) -> None:
        """Take a plan that is due, go on to the next branch where one ends, and ask for the next plan."""
        if self._pending is not None and self.statistics.steps >= self._due:
            self._adopt()
        if self._tree is not None and self._tree.has_ended:
            if self._tree.is_bare:
                if self._pending is None:
                    self._ask()
                self._adopt()
            longer = self.settings.foresight > 1 and self._pending is None
            lead = self.settings.lead if self.steering.goal is not None else 0
            self._tree.move_on(self.settings.period if longer else 0, lead, self.settings.content)
        if self._wish_is_new and not (self._pending is not None and self._pending_is_new):
            self._drop_pending()
            self._wish_is_new, self._pending_is_new = False, True
            if self._tree is not None:
                self._tree.cut(self.settings.delay)
        if self._pending is None and (self._tree is None or self._tree.open(*self._span)):
            self._ask()

    @property
    def _span(self) -> tuple[int, int]:
        """Control steps from now between which a leaf must end that may grow."""
        delay = self.settings.delay
        return delay, delay + (self.settings.foresight - 1) * self.settings.period

    def _show(self) -> None:
        """The body as it was recorded."""
        tree = self._tree
        assert tree is not None
        self._body.put(tree.now)
        self._body.follow(tree.branch.reference, tree.frame)

    def _adopt(self) -> None:
        plan = self._result()
        self._count(plan)
        for leaf, score in zip(plan.leaves, plan.scores, strict=True):
            leaf.score = score
        for parent in plan.parents:
            parent.tries += 1
        if plan.stop is not None:
            plan.stop.has_pause = True
        if self._stands_up:
            self._stands_up = False
            self._tree = Tree(plan.best)
            self._watch.reset()
            return self._show()
        if self._tree is None:
            before = plan.best.lineage()[0]
            if float((before.last.qpos - self._body.snapshot().qpos).abs().max()) > SAME_PLACE:  # pushed again meanwhile
                return self._body.follow(plan.best.reference)
            self._tree = Tree(before, before.end)
        self._tree.grow(plan.leaves)

    def _break_away(self) -> None:
        """What was simulated no longer holds."""
        if self._tree is not None:
            self._drop_pending()
            self._tree = None

    def _look(self) -> Moment:
        world, statistics = self._body.world, self.statistics
        root_pos, root_rot, joint_rot = qpos_to_frames(self.character, world.qpos[0].clone())
        tracking = self._body.tracking()
        fell = self._watch.look(self.terrain, root_pos, root_rot, bool(world.diverged[0]))
        statistics.falls += fell
        statistics.error += float(tracking.error[0])
        arrived = not fell and not self.arrived and self.steering.has_arrived(self._feet())
        if arrived:
            statistics.arrivals += 1
            self.steering.stay()
            self._new_wish()
            self.arrived = True
        contacts = self.contacts
        self._history.append((world.qpos[0].clone(), contacts))
        del self._history[: -round(self.settings.remember * self.trained.contract.control_hz)]
        return Moment(root_pos, root_rot, joint_rot, contacts, float(tracking.error[0]), fell, arrived)

    def _feet(self) -> Tensor:
        """[3] the mean place of the feet, [2] for a body without: how high its root should be is not known."""
        feet = list(self.character.feet)
        return self._body.world.body_pos[0, feet].mean(0) if feet else self._body.world.body_pos[0, 0, :2]

    def _reset(self) -> None:
        """Have it put back; the next step shows it standing, and `is_ready` tells when that is known."""
        self.steering.block(self.terrain)
        begin = self.steering.restart_point(self.settings.step_back) or self._safe
        assert begin is not None
        self.statistics.resets += 1
        low, high = self.terrain.extent
        self._stand_up(torch.minimum(torch.maximum(begin[0], low + 0.01), high - 0.01), begin[1])

    def _stand_up(self, xy: Tensor, heading: float) -> None:
        self._drop_pending()
        self._tree = None
        self._safe = xy, heading
        # Too short a path to mean a direction: it stands. Motions out of nothing that walk are lost more than twice as often.
        nodes = torch.stack([xy, xy + 0.05 * torch.tensor([math.cos(heading), math.sin(heading)])])
        path = TerrainPath(torch.cat([nodes, self.terrain.height_at(nodes)[:, None]], -1))
        self._submit(Request(PathOnTerrain(self.terrain, path, 0.0), commit=self.settings.planner.rehearse))
        self._due = self.statistics.steps
        self._stands_up = self._pending_is_new = True

    def _new_wish(self) -> None:
        self.arrived = False
        self._wish_is_new = True

    def _ask(self) -> None:
        body, delay = self._body, self.settings.delay
        path, progress = self.steering.route(self.terrain, self.xy, float(body.world.body_pos[0, 0, 2]))
        ground = PathOnTerrain(self.terrain, path, progress)
        request = Request(ground, commit=self.settings.period, caution=self.steering.caution)
        if (tree := self._tree) is not None:
            request = request._replace(leaves=tree.open(*self._span) or (tree.best,), stop=tree.unpaused(delay))
            if tree.branch.may_last and not tree.branch.has_pause:
                request = request._replace(leaves=(tree.branch,), wait=self.settings.wait)
            others = tuple(leaf for leaf in tree.leaves if leaf not in request.leaves)
            known = {leaf: leaf.lineage() for leaf in (*tree.leaves, *request.leaves, request.stop) if leaf is not None}
            request = request._replace(others=others, lineages=known)
        elif body.reference is not None:
            request = request._replace(start=Start(body.snapshot(), body.reference, body.frame, delay))
        self._submit(request)
        self._due = self.statistics.steps + delay

    def _submit(self, request: Request) -> None:
        self._given_up = threading.Event()
        request, random = request._replace(given_up=self._given_up), self._random()
        if self._pool is None:
            self._pending = lambda: self._planner.plan(request, random)
        else:
            self._pending = self._pool.submit(self._planner.plan, request, random)

    def _random(self) -> torch.Generator:
        """Numbers for the next plan, which do not depend on whether the plans before it were made or given up."""
        self._asked += 1
        state = np.random.SeedSequence([self._seed, 0, self._asked]).generate_state(1, np.uint64)
        return torch.Generator(self._device).manual_seed(int(state[0]) >> 1)

    def _result(self) -> Plan:
        pending, self._pending, self._pending_is_new = self._pending, None, False
        if not isinstance(pending, Future):
            assert pending is not None
            return pending()
        began = time.perf_counter() if self._late_since is None and not pending.done() else self._late_since
        plan = pending.result()
        if began is not None and not self._stands_up:
            self.statistics.stalls += 1
            self.statistics.stalled += time.perf_counter() - began
        self._late_since = None
        return plan

    def _drop_pending(self) -> None:
        """Forget a plan that is being made; the planner does not finish it."""
        self._given_up.set()
        self._pending = self._late_since = None
        self._pending_is_new = False

    def _count(self, plan: Plan) -> None:
        self.statistics.plans += 1
        self.statistics.safe_plans += plan.best.is_safe
        self.statistics.continued_plans += plan.best.from_plan
        self.statistics.plan_seconds.append(plan.seconds)
