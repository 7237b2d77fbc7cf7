"""Characters that cross terrain by reflex: plan, follow, look, plan again. No future is tried out first and none is taken back.

Each body goes through the same few states, all bodies side by side:

    begin     a motion out of nothing is written at the path's first point; the body is put on its first two frames
    plan      every `every` control steps, each body on its own turn (body n when step % every == n % groups):
                  past    the body's own last two simulated frames, with the contacts that the simulation felt
                  target  the point `rollout.lookahead` m farther along the path than the body has come (`PathBatch.target`)
                  plan    frame 0 is the present, then `windows` windows of `rollout.keep` frames, each after the one before
    follow    the tracker steps after frames 1, 2, .. of the plan; what is left of it when the next one comes is forgotten
    end       as soon as it has arrived, fallen, stood still for too long or run out of time; what came first counts

How far a body has come (`Crossings`) is looked at after every control step: its place along the path only grows, by at most
1.5 m a step, and not past a wall that its root is not up to (`parc.plan.path_progress.walk`). With get-ups at hand
(`parc.plan.crossing.get_up`) who is down follows one of them instead of the generator. The paper writes the whole motion before
it is followed (`parc.plan.open_loop`).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from parc.character.posture import size_of
from parc.errors import SettingsError
from parc.generate.model.motion_generator import Generator
from parc.generate.rollout.path_rollout import PathRunner
from parc.motion.frame_state import FrameState
from parc.motion.mujoco_qpos import qpos_difference
from parc.path.path_batch import PathBatch
from parc.path.terrain_path import TerrainPath
from parc.physics.choose_engine import make_world
from parc.plan.crossing.get_up import GettingUp, GetUpLibrary
from parc.plan.crossing.reflex_crossings import Crossings, ReflexSettings
from parc.plan.path_progress import walk
from parc.plan.plan_writing import write_windows
from parc.terrain.terrain import Terrain, TerrainBatch
from parc.track.env.body_tables import BodyTables
from parc.track.env.observation import BodyState
from parc.track.follow.reference_table import FrameRows, WrittenTable
from parc.track.follow.trace import Snapshot
from parc.track.follow.tracked_bodies import TrackedBodies
from parc.track.learn.inference_mode import inference
from parc.track.learn.policy import TrainedActor


class PlanWriter:
    """Plans of a generator into the strips of bodies: what a body does next, from where it is."""

    def __init__(
        self,
        generator: Generator,
        bodies: TrackedBodies,
        seen: TerrainBatch,
        settings: ReflexSettings,
        random: torch.Generator,
        use_graph: bool = True,
        compiled: bool = False,
        judge: Callable[[Tensor], Tensor] | None = None,
    ) -> None:
        """`seen`: the terrains as the generator sees them, by `bodies.bank_row`. `random` lives on the bodies' device.

        judge: what observations [K, size] are worth, [K]; asked where there are several candidates.
        """
        assert isinstance(bodies.reference, WrittenTable)
        if settings.candidates > 1 and judge is None:
            raise SettingsError(f"{settings.candidates} plans are written each time, but there is no critic to choose by")
        self.generator, self.bodies, self.seen, self.settings, self._random = generator, bodies, seen, settings, random
        self._judge = judge
        self.revise: Callable[[Tensor, FrameState], FrameState] | None = None
        """makes of plans [M, n, ...] of bodies in worlds [M] those that are followed"""
        self._use_graph, self._compiled = use_graph, compiled
        self._runners: dict[tuple[int, int], PathRunner] = {}

    def begin(self, world: Tensor, paths: PathBatch) -> Snapshot:
        """[M, ...] states of bodies in worlds [M] at the beginnings of their paths, by a motion out of nothing."""
        return self.begin_on(self._seen_by(world), paths)

    def begin_on(self, terrains: TerrainBatch, paths: PathBatch) -> Snapshot:
        """The same on terrains [M] on which nobody need be."""
        runner = self._aimed(terrains, paths, 1)
        runner.reset(None, self._random)
        frames = FrameState(*(part[:, :2].clone() for part in runner.step(self._random)))
        anatomy, fps = self.bodies.anatomy, self.bodies.world.contract.control_hz
        rows = FrameRows.of_frames(anatomy, frames)
        (before, now), contacts = rows.qpos.unbind(1), rows.contacts.round()
        velocity = qpos_difference(anatomy.character, before, now, 1.0 / fps)
        return Snapshot(now, velocity, contacts[:, 1], before, contacts[:, 0], torch.zeros_like(rows.dof[:, 0]))

    def write(self, world: Tensor, strip: Tensor, paths: PathBatch, progress: Tensor) -> None:
        """A plan for the bodies in worlds [M], from their last two frames, into strips [M]; they are at its frame 0 then.

        `paths` [M], on which they have come `progress` [M] m.
        """
        bodies, each = self.bodies, self.settings.candidates
        assert isinstance(bodies.reference, WrittenTable)
        states = Snapshot(*(part.index_select(0, world) for part in bodies.states()))
        past = states.frames(bodies.anatomy.character)
        if each > 1:
            past = FrameState(*(part.repeat_interleave(each, 0) for part in past))
            progress = progress.repeat_interleave(each, 0)
        runner = self._aimed(self._seen_by(world), paths, each)
        runner.reset(past, self._random)
        runner.progress.copy_(progress)
        plans = write_windows(runner, self.settings.length - 1, self._random, first=past.narrow(1, 1))
        if self.revise is not None:
            plans = self.revise(world.repeat_interleave(each, 0), plans)
        bodies.reference.write(strip, 0, self._best(world, plans) if each > 1 else plans)
        bodies.frame.index_fill_(0, world, 0)

    def _best(self, world: Tensor, plans: FrameState) -> FrameRows:
        """Of `candidates` plans [M * C, n, ...] for each world [M] the one that its critic likes best, [M, n, ...]."""
        bodies, each = self.bodies, self.settings.candidates
        assert self._judge is not None
        rows, steps = FrameRows.of_frames(bodies.anatomy, plans), bodies.observer.steps
        targets = rows.targets.index_select(1, steps.clamp_max(rows.targets.shape[1] - 1))
        # what each body would see of each of its plans, at their frame 0
        many = world.repeat_interleave(each, 0)
        simulated = bodies.world
        state = (simulated.qvel, simulated.body_pos, simulated.body_rot, bodies.contacts, bodies.held)
        state = BodyState(*(part.index_select(0, many) for part in state))
        seen = bodies.observation.new_zeros(len(many), bodies.observation.shape[1])
        bodies.observer.observe(state, targets, bodies.bank, bodies.bank_row.index_select(0, many), seen)
        best = self._judge(seen).view(-1, each).argmax(1) + each * torch.arange(len(world), device=world.device)
        return FrameRows(*(part.index_select(0, best) for part in rows))

    def _seen_by(self, world: Tensor) -> TerrainBatch:
        """[M] the terrains that bodies in worlds [M] see."""
        return self.seen.select(self.bodies.bank_row.index_select(0, world))

    def _aimed(self, terrains: TerrainBatch, paths: PathBatch, each: int) -> PathRunner:
        """A runner for `each` motions on each of M terrains and along its path."""
        key = len(terrains), each
        if key not in self._runners:
            own = paths.clone()
            rollout, graph = self.settings.rollout, self._use_graph
            self._runners[key] = PathRunner(self.generator, terrains, own, each, rollout, graph, self._compiled)
        runner = self._runners[key]
        runner.terrain.heights.copy_(terrains.heights)
        runner.terrain.min_point.copy_(terrains.min_point)
        runner.terrain.size.copy_(terrains.size)
        runner.paths.points.copy_(paths.points.repeat_interleave(each, 0) if each > 1 else paths.points)
        runner.paths.length.copy_(paths.length.repeat_interleave(each, 0) if each > 1 else paths.length)
        if runner.paths.pace is not None and paths.pace is not None:
            runner.paths.pace.copy_(paths.pace.repeat_interleave(each, 0) if each > 1 else paths.pace)
        return runner


class Reflex:
    """N bodies, each on a path of its own, with one generator and one tracker: `begin`, then `step` until nobody runs."""

    def __init__(
        self,
        generator: Generator,
        tracker: TrainedActor,
        terrains: Sequence[Terrain],
        paths: Sequence[TerrainPath],
        case: Sequence[int],
        settings: ReflexSettings = ReflexSettings(),
        random: torch.Generator | None = None,
        seen: TerrainBatch | None = None,
        threads: int = 0,
        graphs: bool = True,
        compiled: bool = False,
        judge: Callable[[Tensor], Tensor] | None = None,
        get_ups: GetUpLibrary | None = None,
    ) -> None:
        """Body n crosses terrain `case[n]`, or the one terrain of all, along path `case[n]`.

        `random` lives on the generator's device. `seen`: what generator and tracker believe that the N terrains [N] of the bodies
        are like; as they are, if None. `threads` (0: all cores) are the CPU engine's. `judge`: as for `PlanWriter`. `get_ups`: a
        body that is down follows one of them; without, it has fallen.
        """
        if len(terrains) not in (1, len(paths)) or not case:
            raise SettingsError(f"{len(terrains)} terrains, {len(paths)} paths and {len(case)} bodies make no crossing")
        device, character = generator.device, generator.character
        self.settings, self.tracker, self.count = settings, tracker, len(case)
        self.random = random or torch.Generator(device).manual_seed(0)
        # Bodies take turns in groups of one size; some bodies more than wanted, which nobody looks at, fill them up.
        self.groups = min(settings.every, self.count)
        worlds = self.groups * math.ceil(self.count / self.groups)
        self.case = torch.tensor([case[n % self.count] for n in range(worlds)], device=device)
        """[N] and those that fill up"""
        bank = TerrainBatch.stack([replace(terrain, bounds=None) for terrain in terrains]).to(device)
        row = self.case if len(terrains) > 1 else torch.zeros_like(self.case)
        if seen is not None:
            bank, row = bank.select(row), torch.arange(worlds, device=device)
            seen = seen.to(device).select(row % self.count)
        self.world = make_world(character, tracker.contract, worlds, device, threads, bank.cell)
        self.world.contract.check_matches(tracker.contract)
        table = WrittenTable.empty(BodyTables(character, device), worlds, settings.length, self.fps, velocities=False)
        self.bodies = TrackedBodies(self.world, table, bank, tracker.settings, graphs=graphs, keeps_past=True)
        self.world.terrain_row.copy_(row)
        if seen is not None:
            self.bodies.bank = seen
        self.crossings = Crossings(PathBatch.stack(paths, device=device), worlds, settings, self.fps, size_of(character))
        self.writer = PlanWriter(generator, self.bodies, seen or bank, settings, self.random, graphs, compiled, judge)
        self.getting_up = None if get_ups is None else GettingUp(get_ups, self.bodies, settings.get_up)
        if self.getting_up:
            self.writer.revise = self.getting_up.revise
        self.step_number = 0
        self._may_look = device.type == "cpu"
        self._strip = torch.arange(worlds, device=device)

    @property
    def fps(self) -> float:
        """Control steps a second."""
        return float(self.tracker.contract.control_hz)

    @torch.no_grad()
    def begin(self) -> None:
        """Everybody at the beginning of the path, with a first plan."""
        everybody = torch.ones_like(self.world.diverged)
        nowhere = torch.zeros_like(self.crossings.progress)
        self.crossings.begin(everybody, self.case, nowhere, nowhere)
        if self.getting_up:
            self.getting_up.begin()
        groups = [self._group(turn) for turn in range(self.groups)]
        starts = [self.writer.begin(group, self.crossings.paths.select(group)) for group in groups]
        order = torch.cat(groups).argsort()
        states = Snapshot(*(torch.cat(parts).index_select(0, order) for parts in zip(*starts, strict=True)))
        self.bodies.restore(states)
        self.bodies.place(0, 0)
        progress = walk(self.crossings.paths, nowhere, states.qpos[:, None, :3], size_of(self.world.character))[:, 0]
        self.crossings.begin(everybody, self.case, progress, states.qpos[:, 2])
        self.world.idle.zero_()
        self.step_number = 0
        for group in groups:
            self._plan(group)
        self.bodies.observe()

    @torch.no_grad()
    def push(self, who: Tensor, velocity: Tensor) -> None:
        """A sudden change [N, 3] of the velocity of bodies where `who` [N] is true, m/s; the tracker sees it at once."""
        states = self.bodies.snapshots()
        qvel = torch.cat([states.qvel[:, :3] + velocity, states.qvel[:, 3:]], -1)
        self.bodies.restore(states._replace(qvel=qvel), who)
        self.bodies.observe()

    @torch.no_grad()
    def step(self, act: Callable[[Tensor], Tensor] | None = None) -> None:
        """One control step of everybody, and new plans for those whose turn it is."""
        with inference(self.world.device):
            self.bodies.step((act or self.tracker.act)(self.bodies.observation))
            fallen, rising = self.bodies.down(self.settings.fall), None
            if self.getting_up:
                fallen, rising = self.getting_up.look(fallen & self.crossings.runs), self.getting_up.rising
            self.crossings.look(self.world.body_pos[:, 0], fallen | self.bodies.broken, rising)
            self.world.idle.copy_(~self.crossings.runs)
        self.step_number += 1
        turn = self.step_number % self.settings.every
        if turn < self.groups:
            self._plan(self._group(turn))
            self.bodies.observe()

    def is_over(self) -> bool:
        """Nobody runs any more; this waits for the device."""
        return not bool(self.crossings.runs[: self.count].any())

    def _group(self, turn: int) -> Tensor:
        """[M] worlds whose turn it is in steps with this remainder."""
        return torch.arange(turn, len(self.case), self.groups, device=self.case.device)

    def _plan(self, group: Tensor) -> None:
        if self._may_look:  # on the CPU a plan for nobody costs as much as one for somebody
            group = group[self.crossings.runs[group]]
            if not len(group):
                return
        with inference(self.world.device):
            self.writer.write(group, group, self.crossings.paths.select(group), self.crossings.progress.index_select(0, group))
