"""The closed loop: a simulated character follows a plan that is made anew, from where it is, while it moves.

    pilot = Pilot(generator, tracker, terrain)
    pilot.stand(xy, heading)
    pilot.go_to(goal)
    while not pilot.arrived:
        moment = pilot.step()          # one control step, 1/30 s

With rehearsal (`PilotSettings.rehearse`) what moves the body is one of three states (`parc.plan.online_pilot_state`): *Standing*
until a first plan is there, *Following* the tree of simulated futures, or *OnItsOwn* after a push. Every `period` control steps a
round of planning is asked for that lets the tree grow, and its outcome is taken `delay` later, whether it was made beside the
physics (`threaded`) or in between (`parc.plan.online_plan_order`): the same seed gives the same run, and a plan that is late
makes the character wait, not stumble.

A new wish cuts the tree `delay` steps from now.

Without rehearsal the body goes *ByReflex* once it stands: every `reflex.every` control steps, and at once when there is a new
wish, one motion is written that goes on from its last two frames, and it is followed `reflex.delay` steps later.
"""

import math
import time
from dataclasses import dataclass, field

import torch
from torch import Tensor

from parc.character.kinematics import BodyPose
from parc.errors import SettingsError, TerrainError
from parc.generate.model.motion_generator import Generator
from parc.motion.motion import Motion
from parc.motion.mujoco_qpos import qpos_to_frames
from parc.path.terrain_path import TerrainPath
from parc.plan.future_tree import PlayedTree
from parc.plan.online_pilot_state import ByReflex, Following, PilotState, Standing
from parc.plan.online_plan_order import PlanOrder
from parc.plan.online_planner import PathOnTerrain, Planner, PlannerSettings, Request, Start
from parc.plan.online_steering import Steering, SteerSettings
from parc.plan.online_step_report import DriveStatistics, Moment
from parc.plan.tracker_critic import Critic
from parc.terrain.terrain import Terrain
from parc.track.follow.follower import Follower
from parc.track.follow.outcome import FallSettings, FallWatch, is_broken
from parc.track.follow.plan_reference import PlanReference
from parc.track.learn.policy import TrainedActor

NEAR = 4.0
"""m around a body within which an edit of the ground matters for what was simulated"""


@dataclass(frozen=True)
class OnlineReflexSettings:
    """How often a character without rehearsal looks and plans."""

    every: int = 10
    """control steps from one plan to the next"""
    delay: int = 3
    """control steps from asking for a plan to following it, at most `every`"""
    frames: int = 37
    """frames of a plan; the tracker looks 30 ahead, and past the plan's end its last frame stays"""

    def __post_init__(self) -> None:
        if not 0 <= self.delay <= self.every or self.every < 1:
            raise SettingsError(f"a plan every {self.every} control steps, {self.delay} late: expected 0 <= delay <= every")
        if self.frames <= self.every + self.delay:
            raise SettingsError(f"plans of {self.frames} frames run out before the next is due; expected over every + delay")


@dataclass(frozen=True)
class PilotSettings:
    """How often a plan is made, and how far ahead."""

    rehearse: bool = True
    """try plans out in simulation before one of them is followed; else by reflex"""
    reflex: OnlineReflexSettings = field(default_factory=OnlineReflexSettings)
    """without rehearsal"""
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
        self._order = PlanOrder(Planner(generator, trained, terrain, settings.planner, critic), seed, generator.device, threaded)
        self._body = Follower(trained, terrain)
        self._state: PilotState = Standing()
        self._wish_is_new = False
        self._unasked: list[tuple[int, float]] = []
        self._asked: list[tuple[int, float]] = []
        self._next = 0
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
        """Of what is followed, where the character should be."""
        return self._body.frame

    @property
    def is_on_its_own(self) -> bool:
        """It was pushed, or the ground changed, and no plan is there yet that knows; always without rehearsal."""
        return not isinstance(self._state, Following)

    @property
    def is_ready(self) -> bool:
        """Whether `step` returns at once; not while a plan that is due is still being made, which it would wait for."""
        return not self._order.is_late(self.statistics.steps)

    def stand(self, xy: Tensor, heading: float = 0.0) -> None:
        """Begin at a place [2], facing `heading` (rad); what was planned is forgotten, the wish is not."""
        xy = torch.as_tensor(xy, dtype=torch.float32)
        if not bool(self.terrain.contains(xy)):
            raise TerrainError(f"the character cannot stand at ({xy[0]:.1f}, {xy[1]:.1f}) m, which is off the terrain")
        self._stand_up(xy, heading)
        self._take_plan()
        self._wish_is_new, self._unasked = False, []

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
        """Stop where it can."""
        self.steering.stay()
        self._new_wish()

    def push(self, velocity: Tensor) -> None:
        """Change the body's velocity by [3] m/s at once."""
        self._body.push(torch.as_tensor(velocity, dtype=torch.float32))
        self.statistics.pushes += 1
        self._enter(self._state.on_break())

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
            self._enter(self._state.on_break())

    def step(self) -> Moment:
        """One control step; after a fall the character first stands again, on its path."""
        if self._body.reference is None:
            raise SettingsError("the character is nowhere yet; call stand first")
        self._think()
        if self._delay == 0 and self._order.is_open:
            self._think()
        self._state.move(self._body)
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
        """No plan is made any more."""
        self._order.close()

    def __enter__(self) -> "Pilot":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _think(self) -> None:
        """Take a plan that is due, go on to the next branch where one ends, and ask for the next plan."""
        settings, order, steps = self.settings, self._order, self.statistics.steps
        if order.is_due(steps):
            self._take_plan()
        if isinstance(self._state, Following) and self._state.tree.has_ended:
            if self._state.tree.is_bare:
                if not order.is_open:
                    self._ask()
                self._take_plan()
            longer = settings.period if settings.foresight > 1 and not order.is_open else 0
            lead = settings.lead if self.steering.goal is not None else 0
            self._state.tree.move_on(longer, lead, settings.content)
        # Wishes that come faster than plans wait for the plan that is being made for one of them.
        tree = self._tree
        if self._wish_is_new and not (order.is_open and order.is_for_wish):
            order.give_up()
            order.is_for_wish, self._wish_is_new = True, False
            self._asked, self._unasked = [*self._asked, *self._unasked], []
            if tree is not None:
                tree.cut(settings.delay)
        if isinstance(self._state, ByReflex):
            is_time = order.is_for_wish or steps >= self._next
        else:
            is_time = tree is None or bool(tree.open(*self._span))
        if not order.is_open and is_time:
            self._ask()

    @property
    def _delay(self) -> int:
        """Control steps from asking for a plan to taking it."""
        return self.settings.delay if self.settings.rehearse else self.settings.reflex.delay

    @property
    def _tree(self) -> PlayedTree | None:
        return self._state.tree if isinstance(self._state, Following) else None

    @property
    def _span(self) -> tuple[int, int]:
        """Control steps from now between which a leaf must end that may grow."""
        delay = self.settings.delay
        return delay, delay + (self.settings.foresight - 1) * self.settings.period

    def _take_plan(self) -> None:
        """Wait for the plan that was asked for, and enter the state that it leads to."""
        began_anew, for_wish = isinstance(self._state, Standing), self._order.is_for_wish
        plan, waited = self._order.take()
        if waited is not None and not began_anew:
            self.statistics.stalls += 1
            self.statistics.stalled += waited
        self.statistics.count(plan.is_safe, plan.is_continued, plan.seconds)
        if for_wish:
            now = time.perf_counter()
            for step, at in self._asked:
                self.statistics.answer(self.statistics.steps - step, now - at)
            self._asked = []
        plan.note()
        self._enter(self._state.on_plan(plan, self._body))
        if began_anew:
            self._watch.reset()

    def _enter(self, state: PilotState) -> None:
        """What was planned for a tree that no longer holds is forgotten."""
        if isinstance(self._state, Following) and not isinstance(state, Following):
            self._order.give_up()
        self._state = state

    def _look(self) -> Moment:
        world, statistics = self._body.world, self.statistics
        root_pos, root_rot, joint_rot = qpos_to_frames(self.character, world.qpos[0].clone())
        tracking = self._body.tracking()
        fell = bool(self._watch.look(self._body.down(self.settings.fall), is_broken(world.diverged))[0])
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
        self._order.give_up()
        self._asked = []
        self._enter(Standing(self.settings.rehearse))
        self._safe = xy, heading
        # Too short a path to mean a direction: it stands. Motions out of nothing that walk are lost more than twice as often.
        nodes = torch.stack([xy, xy + 0.05 * torch.tensor([math.cos(heading), math.sin(heading)])])
        path = TerrainPath(torch.cat([nodes, self.terrain.height_at(nodes)[:, None]], -1))
        request = Request(PathOnTerrain(self.terrain, path, 0.0), commit=self.settings.planner.rehearse)
        self._order.ask(request, self.statistics.steps)
        self._order.is_for_wish = True

    def _new_wish(self) -> None:
        self.arrived = False
        self._wish_is_new = True
        self._unasked.append((self.statistics.steps, time.perf_counter()))

    def _ask(self) -> None:
        """For a plan from where the character will be when it is due."""
        body, delay, reflex = self._body, self._delay, self.settings.reflex
        by_reflex = isinstance(self._state, ByReflex)
        share = reflex.every / self.settings.period if by_reflex else 1.0
        path, progress = self.steering.route(self.terrain, self.xy, float(body.world.body_pos[0, 0, 2]), share)
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
            start = Start(body.snapshot(), body.reference, body.frame, delay)
            request = request._replace(start=start, written=reflex.frames if by_reflex else 0)
            self._next = self.statistics.steps + reflex.every
        self._order.ask(request, self.statistics.steps + delay)


def differ_near(one: Terrain, other: Terrain, xy: Tensor) -> bool:
    """Whether two grounds differ within `NEAR` of a point [2], or are laid out differently."""
    if one.size != other.size or not torch.equal(one.min_point, other.min_point):
        return True
    cells = (one.heights != other.heights).nonzero()
    return bool(((one.centre_of(cells) - xy).norm(dim=-1) < NEAR).any()) if len(cells) else False
