"""The closed loop: a simulated character follows a plan that is made anew, from where it is, while it moves.

    pilot = Pilot(generator, tracker, terrain)
    pilot.stand(xy, heading)
    pilot.go_to(goal)
    while not pilot.arrived:
        moment = pilot.step()          # one control step, 1/30 s

A plan is asked for every `period` control steps and taken `delay` later, whether it was made beside the physics (`threaded`) or
in between: the same seed gives the same run on any machine, and a plan that is late makes the character wait, not stumble.
Terrain, goal and pushes may change between any two steps.
"""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from parc.character.kinematics import BodyPose
from parc.errors import SettingsError, TerrainError
from parc.generate.generator import Generator
from parc.live.fall import FallSettings, FallWatch
from parc.live.follower import Follower, Reference
from parc.live.planner import Plan, Planner, PlannerSettings, Request
from parc.live.steer import Steering, SteerSettings
from parc.motion.motion import Motion
from parc.path.path import TerrainPath
from parc.physics.state import qpos_to_frames
from parc.terrain.terrain import Terrain
from parc.track.policy import TrainedActor


@dataclass(frozen=True)
class PilotSettings:
    period: int = 15
    """control steps from one plan to the next"""
    delay: int = 15
    """control steps from asking for a plan to following it, at most `period`"""
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
        if self.delay + self.period >= self.planner.frames:
            raise SettingsError(
                f"plans of {self.planner.frames} frames run out before the next is due; expected more than "
                f"{self.delay + self.period} (period + delay)"
            )


class Moment(NamedTuple):
    """The character after a control step."""

    root_pos: Tensor
    """[3]"""
    root_rot: Tensor
    """[4] xyzw"""
    joint_rot: Tensor
    """[B-1, 4]"""
    contacts: Tensor
    """[B]"""
    error: float
    """m from the plan, mean over bodies, root-relative"""
    fell: bool
    """it has fallen, and the next step begins with it standing again"""
    arrived: bool
    """the goal was reached in this step"""


@dataclass
class Statistics:
    """Of the run so far."""

    steps: int = 0
    falls: int = 0
    resets: int = 0
    arrivals: int = 0
    pushes: int = 0
    edits: int = 0
    plans: int = 0
    safe_plans: int = 0
    """whose rehearsal was tracked to its end"""
    continued_plans: int = 0
    """that went on from the plan before, not from the simulated body"""
    stalls: int = 0
    """plans that were not there when they were due"""
    stalled: float = 0.0
    """s that were waited for them"""
    error: float = 0.0
    """m, sum over steps of the distance from the plan"""
    plan_seconds: list[float] = field(default_factory=list)
    """s each plan took"""

    def latency(self, quantile: float) -> float:
        """s, of making a plan."""
        return float(torch.tensor(self.plan_seconds).quantile(quantile)) if self.plan_seconds else float("nan")


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
    ) -> None:
        self.settings, self.terrain, self.trained = settings, terrain, trained
        self.character = trained.character
        self.steering = Steering(settings.steer)
        self.statistics = Statistics()
        self.arrived = False
        """the last goal that was asked for is reached"""
        self._planner = Planner(generator, trained, terrain, settings.planner)
        self._body = Follower(trained, terrain)
        self._seed, self._device, self._asked = seed, generator.device, 0
        self._pool = ThreadPoolExecutor(1, "pilot planner", torch.set_num_threads, (1,)) if threaded else None
        self._pending: Future[Plan] | Callable[[], Plan] | None = None
        self._due = self._since = 0
        self._late_since: float | None = None
        self._fell = False
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
    def plan(self) -> Reference | None:
        """What is followed, from its frame 0 on; `plan_frame` is where the character should be in it."""
        return self._body.reference

    @property
    def plan_frame(self) -> int:
        return self._body.frame

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
        self._drop_pending()
        ahead = xy + 0.8 * torch.tensor([torch.cos(torch.tensor(heading)), torch.sin(torch.tensor(heading))])
        nodes = torch.stack([xy, ahead])
        path = TerrainPath(torch.cat([nodes, self.terrain.height_at(nodes)[:, None]], -1))
        plan = self._planner.plan(Request(self.terrain, path, 0.0, None, None, 0, 0), self._random())
        self._count(plan)
        self._body.put(plan.state)
        self._body.follow(plan.reference)
        self._since = self.settings.period  # the first plan was made without knowing where to go
        self._watch.reset()
        self._safe = xy, heading

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
        self.steering.towards(torch.as_tensor(direction, dtype=torch.float32))
        self._new_wish()

    def stay(self) -> None:
        self.steering.stay()
        self._new_wish()

    def push(self, velocity: Tensor) -> None:
        """Change the body's velocity by [3] m/s at once."""
        self._body.push(torch.as_tensor(velocity, dtype=torch.float32))
        self.statistics.pushes += 1
        self._since = self.settings.period

    def set_terrain(self, terrain: Terrain) -> None:
        """Other ground under the running character; it must have the same cell size."""
        if abs(terrain.cell - self.terrain.cell) > 1e-6:
            raise TerrainError(f"the new terrain has cells of {terrain.cell} m, the old one of {self.terrain.cell} m")
        self.terrain = terrain
        self._body.set_terrain(terrain)
        self.statistics.edits += 1
        self._since = self.settings.period

    def step(self) -> Moment:
        """One control step; after a fall the character first stands up again where it was last safe."""
        if self._body.reference is None:
            raise SettingsError("the character is nowhere yet; call stand first")
        statistics = self.statistics
        if self._fell:
            self._reset()
        if self._pending is not None and statistics.steps >= self._due:
            self._adopt()
        if self._pending is None and self._since >= self.settings.period - self.settings.delay:
            self._ask()
            if self.settings.delay == 0:
                self._adopt()
        self._body.step()
        statistics.steps += 1
        self._since += 1
        return self._look()

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

    def _look(self) -> Moment:
        world, statistics = self._body.world, self.statistics
        root_pos, root_rot, joint_rot = qpos_to_frames(self.character, world.qpos[0].clone())
        tracking = self._body.tracking()
        fell = self._watch.look(self.terrain, root_pos, root_rot, bool(world.diverged[0]))
        statistics.falls += fell
        self._fell = fell
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
        """[2] the mean place of the feet."""
        return self._body.world.body_pos[0, list(self.character.feet) or [0], :2].mean(0)

    def _reset(self) -> None:
        self._fell = False
        begin = self.steering.restart_point(self.settings.step_back) or self._safe
        assert begin is not None
        self.statistics.resets += 1
        low, high = self.terrain.extent
        self.stand(torch.minimum(torch.maximum(begin[0], low + 0.01), high - 0.01), begin[1])

    def _new_wish(self) -> None:
        self.arrived = False
        self._since = max(self._since, self.settings.period - self.settings.delay)

    def _ask(self) -> None:
        body, delay = self._body, self.settings.delay
        path, progress = self.steering.route(self.terrain, self.xy)
        stuck = self.steering.is_stuck
        request = Request(self.terrain, path, progress, body.snapshot(), body.reference, body.frame, delay, stuck)
        self._due = self.statistics.steps + delay
        random = self._random()
        if self._pool is None:
            self._pending = lambda: self._planner.plan(request, random)
        else:
            self._pending = self._pool.submit(self._planner.plan, request, random)

    def _random(self) -> torch.Generator:
        """Numbers for the next plan, which do not depend on whether the plans before it were made or given up."""
        self._asked += 1
        state = np.random.SeedSequence([self._seed, 0, self._asked]).generate_state(1, np.uint64)
        return torch.Generator(self._device).manual_seed(int(state[0]) >> 1)

    def _adopt(self) -> None:
        pending, self._pending = self._pending, None
        if isinstance(pending, Future):
            began = time.perf_counter() if self._late_since is None and not pending.done() else self._late_since
            plan = pending.result()
            if began is not None:
                self.statistics.stalls += 1
                self.statistics.stalled += time.perf_counter() - began
            self._late_since = None
        else:
            assert pending is not None
            plan = pending()
        self._count(plan)
        self._body.follow(plan.reference)
        self._since = 0

    def _drop_pending(self) -> None:
        """Forget a plan that is being made; the planner's worlds are free afterwards."""
        if isinstance(self._pending, Future):
            self._pending.exception()
        self._pending = self._late_since = None

    def _count(self, plan: Plan) -> None:
        self.statistics.plans += 1
        self.statistics.safe_plans += plan.safe
        self.statistics.continued_plans += plan.from_plan
        self.statistics.plan_seconds.append(plan.seconds)
