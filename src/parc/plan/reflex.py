"""Characters that cross terrain by reflex: plan, follow, look, plan again. No future is tried out first and none is taken back.

Each body goes through the same few states, all bodies side by side:

    begin     a motion out of nothing is written at the path's first point; the body is put on its first two frames
    plan      every `every` control steps, each body on its own turn (body n when step % every == n % groups):
                  past    the body's own last two simulated frames, with the contacts that the simulation felt
                  target  the point `rollout.lookahead` m farther along the path than the body has come (`PathBatch.target`)
                  plan    frame 0 is the present, then `windows` windows of `rollout.keep` frames, each after the one before
    follow    the tracker steps after frames 1, 2, .. of the plan; what is left of it when the next one comes is forgotten
    end       as soon as it has arrived, fallen, stood still for too long or run out of time; what came first counts

How far a body has come (`Crossings`) is looked at after every control step, not only when it plans: its place along the path
only grows, by at most 1.5 m a step, and not past a wall that its root is not up to (`parc.plan.path_progress.walk`).

The loop does not ask how far a body is from its plan: the next plan begins where the body is. It is the paper's tracker and
generator with one difference, for the paper writes the whole motion before it is followed (`parc.plan.open_loop`).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from parc.errors import SettingsError
from parc.generate.model.motion_generator import Generator
from parc.generate.rollout.path_rollout import PathRunner, RolloutSettings
from parc.motion.frame_state import FrameState
from parc.motion.mujoco_qpos import qpos_difference
from parc.path.path_batch import PathBatch
from parc.path.terrain_path import TerrainPath
from parc.physics.choose_engine import make_world
from parc.plan.path_progress import at_goal, walk, worth
from parc.plan.plan_writing import write_windows
from parc.terrain.terrain import Terrain, TerrainBatch
from parc.track.env.body_tables import BodyTables
from parc.track.env.observation import BodyState
from parc.track.follow.outcome import FallSettings
from parc.track.follow.reference_table import FrameRows, WrittenTable
from parc.track.follow.trace import Snapshot
from parc.track.follow.tracked_bodies import TrackedBodies
from parc.track.learn.inference_mode import inference
from parc.track.learn.policy import TrainedActor

OUTCOMES = ("running", "arrived", "fallen", "stuck", "late")
"""what may become of a body, by `Crossings.outcome`"""
RUNNING, ARRIVED, FALLEN, STUCK, LATE = range(len(OUTCOMES))


@dataclass(frozen=True)
class ReflexSettings:
    """All that shapes the loop."""

    every: int = 5
    """control steps from one plan of a body to its next"""
    windows: int = 3
    """windows in a plan; the tracker looks 30 frames ahead, and past the plan's end its last frame stays"""
    candidates: int = 1
    """plans written each time, of which the tracker's critic takes the best"""
    rollout: RolloutSettings = field(default_factory=lambda: RolloutSettings(keep=13, overlap=0))
    """how windows are sampled; of it `radius`, `seconds` and `slowest` are not used here"""
    fall: FallSettings = field(default_factory=FallSettings.at_once)
    """who is down by this has fallen"""
    radius: float = 0.5
    """m in the plane from the goal within which a root at standing height has arrived"""
    stuck: float = 5.0
    """s without `headway` that end a run"""
    headway: float = 0.25
    """m of worth (`parc.plan.path_progress.worth`) that a body must gain in that time"""
    climb: float = 1.5
    """m of worth of a metre up"""
    seconds: float = 30.0
    """s of a run"""
    slowest: float = 0.5
    """m/s: a path that takes longer than `seconds` at this speed gets that much time"""

    def __post_init__(self) -> None:
        if self.every < 1 or self.windows < 1 or self.candidates < 1:
            raise SettingsError(
                f"{self.candidates} plans of {self.windows} windows every {self.every} control steps, expected at least 1 of each"
            )
        if self.every >= self.length:
            raise SettingsError(f"a plan of {self.length} frames is followed for {self.every} steps, expected a longer plan")
        if not (self.stuck > 0 and self.headway > 0 and self.seconds > 0 and self.slowest > 0):
            raise SettingsError("the times and speeds of a run are expected to be greater than 0")

    @property
    def length(self) -> int:
        """Frames of a plan."""
        return 1 + self.windows * self.rollout.keep


class Crossings:
    """Where N bodies are on their paths, and what became of them. Tensor code in place: it may be part of a CUDA graph."""

    def __init__(self, paths: PathBatch, count: int, settings: ReflexSettings, fps: float) -> None:
        """`paths` are of all cases; each body is on one of them."""
        device = paths.length.device
        self.all_paths, self.settings, self._fps = paths, settings, fps
        self._stuck_after = round(settings.stuck * fps)
        self._all_limits = self._limits_of(paths.length)

        def zeros(dtype: torch.dtype = torch.float32) -> Tensor:
            return torch.zeros(count, dtype=dtype, device=device)

        self.case, self.steps, self.outcome = (zeros(torch.long) for _ in range(3))
        """[N] which path, control steps since its beginning, index into `OUTCOMES`"""
        self.progress, self.best = zeros(), zeros()
        """[N] m along the path; most worth so far"""
        self.gain = zeros()
        """[N] m of new best worth in this control step"""
        self._mark, self._since, self._limit = zeros(), zeros(torch.long), zeros(torch.long)
        self.paths = paths.select(self.case)
        """[N] of each body"""

    @property
    def runs(self) -> Tensor:
        """[N] bool, not over."""
        return self.outcome == RUNNING

    @property
    def limits(self) -> Tensor:
        """[N] control steps after which who is not there yet is late."""
        return self._limit

    def begin(self, mask: Tensor, case: Tensor, progress: Tensor, root_z: Tensor) -> None:
        """Bodies where mask [N] is true begin on path `case` [N] at `progress` [N] m with roots at heights [N]."""
        self.case.copy_(torch.where(mask, case, self.case))
        points, length = self.all_paths.points, self.all_paths.length
        self.paths.points.copy_(torch.where(mask.view(-1, 1, 1), points.index_select(0, case), self.paths.points))
        self.paths.length.copy_(length.index_select(0, self.case))
        self._limit.copy_(self._all_limits.index_select(0, self.case))
        self.progress.copy_(torch.where(mask, progress, self.progress))
        value = worth(self.paths, self.progress, root_z, self.settings.climb)
        for buffer in (self.best, self._mark):
            buffer.copy_(torch.where(mask, value, buffer))
        for buffer in (self.steps, self.outcome, self._since):
            buffer.masked_fill_(mask, 0)

    def replace_paths(self, rows: Tensor, paths: PathBatch) -> None:
        """Other paths [K] of as many points in rows [K] of all, in place. Bodies on these rows must begin anew."""
        self.all_paths.points.index_copy_(0, rows, paths.points)
        self.all_paths.length.index_copy_(0, rows, paths.length)
        self._all_limits.index_copy_(0, rows, self._limits_of(paths.length))

    def _limits_of(self, length: Tensor) -> Tensor:
        """[K] control steps that paths of lengths [K] m may take."""
        seconds = (length / self.settings.slowest).clamp_min(self.settings.seconds)
        return (seconds * self._fps).round().long()

    def has_headway(self, seconds: float) -> Tensor:
        """[N] bool, gained `headway` m of worth in the last so many seconds, or has not been on its way for so long."""
        return self._since < seconds * self._fps

    def look(self, root_pos: Tensor, fallen: Tensor) -> None:
        """After a control step that brought the roots to [N, 3]; `fallen` [N] bool."""
        runs, settings = self.runs, self.settings
        root = torch.nan_to_num(root_pos)
        self.steps.add_(runs)
        walked = walk(self.paths, self.progress, root[:, None])
        self.progress.copy_(torch.where(runs, walked[:, 0], self.progress))
        there = at_goal(self.paths, root[:, None], self.progress[:, None], settings.radius)[:, 0]
        # Headway: worth that was never had before, and how long ago the last `headway` metres of it were gained.
        value = worth(self.paths, self.progress, root[:, 2], settings.climb)
        counts = runs & ~fallen
        self.gain.copy_((value - self.best).clamp_min(0.0) * counts)
        self.best.add_(self.gain)
        gets_on = self.best > self._mark + settings.headway
        self._mark.copy_(torch.where(gets_on, self.best, self._mark))
        self._since.copy_(torch.where(gets_on, 0, self._since + 1))
        # What comes first counts; in the same step a fall comes before an arrival.
        ends = ((LATE, self.steps >= self._limit), (STUCK, self._since >= self._stuck_after), (ARRIVED, there), (FALLEN, fallen))
        for outcome, holds in ends:
            self.outcome.copy_(torch.where(runs & holds, outcome, self.outcome))


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
    ) -> None:
        """Body n crosses terrain `case[n]` along path `case[n]`.

        `random` lives on the generator's device. `seen`: what generator and tracker believe that the N terrains [N] of the bodies
        are like; as they are, if None. `threads` (0: all cores) are the CPU engine's. `judge`: as for `PlanWriter`.
        """
        if len(terrains) != len(paths) or not case:
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
        row = self.case
        if seen is not None:
            bank, row = bank.select(self.case), torch.arange(worlds, device=device)
            seen = seen.to(device).select(row % self.count)
        self.world = make_world(character, tracker.contract, worlds, device, threads, bank.cell)
        self.world.contract.check_matches(tracker.contract)
        table = WrittenTable.empty(BodyTables(character, device), worlds, settings.length, self.fps, velocities=False)
        self.bodies = TrackedBodies(self.world, table, bank, tracker.settings, graphs=graphs, keeps_past=True)
        self.world.terrain_row.copy_(row)
        if seen is not None:
            self.bodies.bank = seen
        self.crossings = Crossings(PathBatch.stack(paths, device=device), worlds, settings, self.fps)
        self.writer = PlanWriter(generator, self.bodies, seen or bank, settings, self.random, graphs, compiled, judge)
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
        groups = [self._group(turn) for turn in range(self.groups)]
        starts = [self.writer.begin(group, self.crossings.paths.select(group)) for group in groups]
        order = torch.cat(groups).argsort()
        states = Snapshot(*(torch.cat(parts).index_select(0, order) for parts in zip(*starts, strict=True)))
        self.bodies.restore(states)
        self.bodies.place(0, 0)
        progress = walk(self.crossings.paths, nowhere, states.qpos[:, None, :3])[:, 0]
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
            self.crossings.look(self.world.body_pos[:, 0], self.bodies.down(self.settings.fall) | self.bodies.broken)
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
