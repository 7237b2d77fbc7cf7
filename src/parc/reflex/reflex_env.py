"""The environment of closed-loop training: bodies cross terrain by reflex, rewarded, and begin anew where a crossing has ended.

It is the loop of `parc.plan.reflex` (its `PlanWriter` and its `Crossings`) on the one engine that steps bodies
(`parc.track.follow.tracked_bodies`), with what training needs around it. A control step of all worlds:

    simulate   actions become motor targets; physics
    judge      the tracker's reward, what became of the crossing, pay for progress, pushes            } one recorded graph
    turn       those whose turn it is: where their crossing is over they begin anew, all of them
               plan from their own last two frames                                                    } one generator call
    observe    what the policy sees next                                                              } one recorded graph

Worlds belong for good to one of the numbers k of `every`, and m of the worlds of each k have their turn in each step: a generator
call of m bodies for each k, of the same size in every step. A world whose crossing has ended waits for its turn, less than k
steps, in which it `counts` for nothing. The plan of a body is its own strip of the reference, frame 0 is where it planned.

Random numbers are drawn outside of the recorded graphs. Nothing waits for the device.
"""

import math
from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from parc.character.posture import size_of
from parc.generate.model.motion_generator import Generator
from parc.path.path_batch import PathBatch
from parc.physics.simulated_world import World
from parc.plan.crossing.reflex_crossings import ARRIVED, FALLEN, LATE, OUTCOMES, STUCK, Crossings
from parc.plan.path_progress import walk
from parc.plan.reflex import PlanWriter
from parc.reflex.hard_starts import HardStarts, StartState, StoredStarts
from parc.reflex.plan_turns import PlanTurns
from parc.reflex.posture_price import Stoop
from parc.reflex.reflex_settings import ReflexTrainingSettings
from parc.reflex.terrain_bank import CrossingBank
from parc.run.cuda_graph import CudaGraph
from parc.terrain.terrain import TerrainBatch
from parc.track.env.body_tables import BodyTables
from parc.track.env.disturbed_bodies import push
from parc.track.env.observation import ground_heights
from parc.track.env.rewarded_bodies import RewardedBodies
from parc.track.follow.outcome import FallWatch
from parc.track.follow.reference_table import WrittenTable
from parc.track.follow.trace import Snapshot
from parc.track.tracker_settings import TrackerSettings

KINDS = ("path", "place", "hard")
"""where an episode began"""
_PATH, _PLACE, _HARD = range(len(KINDS))
COUNTED = (*OUTCOMES[1:], "lost", "seconds")
"""what `outcomes` counts of episodes by where they began: their ends, how many of those that fell were only lost, s to arrive"""
_STEP_DRAWS, _TURN_DRAWS = 3, 5
"""random numbers of a body, for a step and for a turn"""


class ReflexEnv(RewardedBodies):
    """N worlds that cross terrains of a bank by reflex; strips of the reference are their plans."""

    def __init__(
        self,
        world: World,
        generator: Generator,
        bank: CrossingBank,
        settings: TrackerSettings,
        closed: ReflexTrainingSettings,
        random: torch.Generator,
        graphs: bool = True,
        compiled: bool = False,
        judge: Callable[[Tensor], Tensor] | None = None,
    ) -> None:
        """`random` lives on the world's device; `judge` is what chooses among candidate plans (`PlanWriter`)."""
        n, device, fps = world.num_worlds, world.device, float(world.contract.control_hz)
        loop, limits = closed.loop, settings.termination
        far = closed.lost or math.inf
        relaxed = replace(
            limits,
            root_distance=far * limits.root_distance,
            root_angle=far * limits.root_angle,
            body_distance=far * limits.body_distance,
        )
        table = WrittenTable.empty(BodyTables(world.character, device), n, loop.length, fps, touching=1.0)
        super().__init__(
            world,
            table,
            bank.terrains,
            replace(settings, termination=relaxed, disturbance=closed.disturbance),
            None,
            graphs,
            keeps_past=True,
        )
        self.closed, self.crossing_bank, self._random, self._fps = closed, bank, random, fps
        self.crossings = Crossings(bank.paths, n, loop, fps, size_of(world.character))
        self._watch = FallWatch(closed.fall, fps, n, device)
        self._everybody = torch.ones(n, dtype=torch.bool, device=device)
        if closed.disturbance.height_noise > 0:  # every body believes something else of the ground
            self.bank = bank.terrains.select(torch.zeros(n, dtype=torch.long, device=device))
            self.bank_row = torch.arange(n, device=device)
        self.writer = PlanWriter(generator, self, self.bank, loop, random, graphs, compiled, judge)
        self.turns = PlanTurns.of(closed.every, n, device)
        self.turn = 0
        """control steps since all began anew"""
        self.group = self.turns.at(0).clone()
        """[M] whose turn it is"""
        self._stoop = Stoop(world.character, device)
        self._make_buffers(n, device)
        self._end_turn = CudaGraph(self._renew, device, every_run_counts=True, enabled=graphs)
        self._show = CudaGraph(self.observe, device, every_run_counts=True, enabled=graphs)
        self.refill(torch.arange(len(bank), device=device))

    def _make_buffers(self, n: int, device: torch.device) -> None:
        starts, many = self.closed.starts, len(self.group)

        def zeros(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
            return torch.zeros(shape, dtype=dtype, device=device)

        self.counts = zeros(n)
        """[N] 1 where this control step was part of an episode"""
        self.ended, self.arrived = zeros(n, dtype=torch.bool), zeros(n, dtype=torch.bool)
        self.timed_out = zeros(n, dtype=torch.bool)
        """[N] ended without a fault: arrived, or out of time"""
        self.gave_out = zeros(n, dtype=torch.bool)
        """[N] ended with a fault: fallen or stuck; and while it waits for its turn"""
        self.savings = zeros(n)
        """[N] m of progress that would be paid"""
        self.paid = zeros(n)
        """[N] m of progress that was paid in this control step"""
        self.outcomes = zeros(len(KINDS), len(COUNTED))
        """episodes since the last look, by where they began"""
        self._step_draws, self._turn_draws = zeros(n, _STEP_DRAWS), zeros(many, _TURN_DRAWS)
        # Where each episode began, and its states since, one for each of its turns.
        self.kind, self._origin, self._origin_serial = (zeros(n, dtype=torch.long) for _ in range(3))
        self._boundary = zeros(n, dtype=torch.long)
        self._history = math.ceil(starts.before[1] * self._fps / min(self.closed.every)) + 1
        states = self.states()
        self._past = StoredStarts(self._history * n, states)
        self.hard = HardStarts(replace(starts, kept=max(starts.kept, many)), states)
        self.starts = StoredStarts(len(self.crossing_bank) * starts.each, states)
        """one row a place of the bank, those of a terrain side by side"""
        self._fresh = StoredStarts(n, states)
        self._origin.fill_(self.hard.void)
        if self.closed.disturbance.height_noise > 0:
            self._height_draws = zeros(many, *self.bank.heights.shape[1:])

    # ---- a control step ------------------------------------------------------------------------------------------------------

    @torch.no_grad()
    def step(self, action: Tensor) -> None:
        """One control step with actions [N, D], and the plans of those whose turn it is after it."""
        self.simulate(action)
        self._step_draws.uniform_(generator=self._random)
        self._after()
        self.turn += 1
        self.take_turn(self.turns.at(self.turn))
        self._show()

    def _judge(self) -> None:
        self._assess()  # what is seen next depends on the plans to come

    def take_turn(self, group: Tensor) -> None:
        """Bodies in worlds [M] plan; where their crossing was over they begin anew before."""
        self.group.copy_(group)
        self._turn_draws.uniform_(generator=self._random)
        if self.closed.disturbance.height_noise > 0:
            self._height_draws.normal_(generator=self._random)
        if self._drawn_bodies is not None:
            self._drawn_bodies.draw(self._random)
        self._end_turn()
        crossings = self.crossings
        self.writer.write(
            self.group, self.group, crossings.paths.select(self.group), crossings.progress.index_select(0, self.group)
        )

    def _restart_finished(self, row: Tensor) -> None:
        """What became of each crossing in this control step, and what it is paid."""
        crossings, reward = self.crossings, self.closed.reward
        runs = crossings.runs
        fallen = self._watch.look(self.down(self.closed.fall), self.broken)
        crossings.look(self.world.body_pos[:, 0], fallen | self.failed)
        outcome, over = crossings.outcome, ~crossings.runs
        self.counts.copy_(runs)
        self.ended.copy_(runs & over)
        self.arrived.copy_(self.ended & (outcome == ARRIVED))
        self.timed_out.copy_(self.ended & ((outcome == ARRIVED) | (outcome == LATE)))
        fell, is_stuck = self.ended & (outcome == FALLEN), self.ended & (outcome == STUCK)
        self.gave_out.copy_(fell | is_stuck | ~runs)

        # Progress is paid as far as it could be had at the wanted speed.
        self.savings.add_(reward.wanted_speed / self._fps).clamp_(max=reward.wanted_speed * reward.saved)
        self.paid.copy_(torch.minimum(crossings.gain, self.savings) * runs)
        self.savings.sub_(self.paid)
        follows = runs & ~fell & crossings.has_headway(reward.gate)
        pay = reward.imitation * self.reward * follows + reward.progress * self.paid + reward.arrival * self.arrived
        if reward.posture > 0:
            pay = pay - reward.posture * self._crouch(row) * follows
        self.reward.copy_(pay - reward.fall * fell - reward.stuck * is_stuck)
        self._count(fell & ~fallen)
        push(self.world, runs & ~over, self._step_draws, self.closed.disturbance)
        self.world.idle.copy_(over)

    def _crouch(self, row: Tensor) -> Tensor:
        """[N] m that bodies are lower and more bent than in rows [N] of their plans."""
        plan, here = self.reference.body_pos.index_select(0, row)[:, 0], self.world.body_pos[:, 0]
        heights = [p[:, 2] - ground_heights(self.bank, self.bank_row, p[:, None, :2])[:, 0] for p in (here, plan)]
        return self._stoop(heights[0], heights[1], self.world.qpos, self.reference.qpos.index_select(0, row))

    def _count(self, lost: Tensor) -> None:
        """Episodes that have ended, by where they began; `lost` [N] of those that fell."""
        ended = self.ended.float()
        seconds = self.crossings.steps / self._fps * self.arrived
        kinds = [self.crossings.outcome == k for k in range(1, len(OUTCOMES))]
        columns = torch.stack([*(ended * holds for holds in kinds), ended * lost, seconds], -1)
        self.outcomes.index_add_(0, self.kind, columns)

    # ---- beginning anew ------------------------------------------------------------------------------------------------------

    def _renew(self) -> None:
        """Bodies of the group whose crossing is over begin anew; the states of all of the group are noted."""
        group, crossings, starts = self.group, self.crossings, self.closed.starts
        over = ~crossings.runs.index_select(0, group)
        outcome, steps = crossings.outcome.index_select(0, group), crossings.steps.index_select(0, group)
        origin = self._origin.index_select(0, group)
        faulty = over & ((outcome == FALLEN) | (outcome == STUCK))
        lasted = steps >= starts.passed * self._fps
        # What became of episodes from hard states, and states a while before failures. A state from which nobody gets away
        # must not come back under another number.
        self.hard.settle(origin, self._origin_serial.index_select(0, group), over, (~faulty | lasted).float())
        early = self._a_while_ago(self._turn_draws[:, 0])
        is_new = (self.kind.index_select(0, group) != _HARD) | lasted
        self.hard.insert(faulty & is_new & (self._boundary.index_select(0, group) > 0), early)

        # Where they begin now.
        start, kind, rows = self._draw_starts()
        self._fresh.put(group, start)
        mask = torch.zeros_like(self._everybody).index_copy_(0, group, over)
        everybody = self._fresh.take(torch.arange(len(mask), device=group.device))
        self.world.terrain_row.copy_(torch.where(mask, everybody.case, self.world.terrain_row))
        self.restore(everybody.states, mask)
        if self._drawn_bodies is not None:
            self._drawn_bodies.give(mask)
        self.place(0, 0, mask)
        crossings.begin(mask, everybody.case, everybody.progress, everybody.states.qpos[:, 2])
        self.world.idle.copy_(~crossings.runs)
        self._watch.reset(mask)
        for buffer in (self.savings, self._boundary):
            buffer.masked_fill_(mask, 0)
        for own, now in (
            (self.kind, kind),
            (self._origin, rows),
            (self._origin_serial, self.hard.serial.index_select(0, rows)),
        ):
            own.index_copy_(0, group, torch.where(over, now, own.index_select(0, group)))
        if self.closed.disturbance.height_noise > 0:
            self._see_anew(over)

        # The state now, to begin from if this goes wrong.
        boundary = self._boundary.index_select(0, group)
        states = Snapshot(*(part.index_select(0, group) for part in self.states()))
        note = StartState(states, crossings.case.index_select(0, group), crossings.progress.index_select(0, group))
        self._past.put(self._noted(boundary), note)
        self._boundary.index_add_(0, group, torch.ones_like(boundary))

    def _noted(self, boundary: Tensor) -> Tensor:
        """Rows [M] where the states of the group at turns [M] of their episodes are noted."""
        return (boundary % self._history) * len(self._everybody) + self.group

    def _a_while_ago(self, uniform: Tensor) -> StartState:
        """States [M] of the group, some turns ago."""
        least, most = self.closed.starts.before
        steps = (least + (most - least) * uniform) * self._fps
        back = (steps / self.turns.between.index_select(0, self.group)).ceil().long().clamp(1, self._history - 1)
        boundary = self._boundary.index_select(0, self.group)
        return self._past.take(self._noted((boundary - back).clamp_min(0)))

    def _draw_starts(self) -> tuple[StartState, Tensor, Tensor]:
        """Starts [M], where they are (`KINDS`) and the rows of those that are hard."""
        settings, draws = self.closed.starts, self._turn_draws
        rows = self.hard.draw(draws[:, 2])
        hard = (draws[:, 1] < settings.hard) & (rows != self.hard.void)
        place = (draws[:, 1] >= settings.hard) & (draws[:, 1] < settings.hard + settings.places)
        kind = torch.where(hard, _HARD, torch.where(place, _PLACE, _PATH))
        case = (draws[:, 3] * len(self.crossing_bank)).long().clamp_max(len(self.crossing_bank) - 1)
        which = torch.where(place, 1 + (draws[:, 4] * (settings.each - 1)).long().clamp_max(max(settings.each - 2, 0)), 0)
        easy, tough = self.starts.take(case * settings.each + which), self.hard.store.take(rows)

        def pick(a: Tensor, b: Tensor) -> Tensor:
            return torch.where(hard.view(-1, *[1] * (a.dim() - 1)), a, b)

        states = Snapshot(*(pick(a, b) for a, b in zip(tough.states, easy.states, strict=True)))
        start = StartState(states, pick(tough.case, easy.case), pick(tough.progress, easy.progress))
        return start, kind, torch.where(hard, rows, self.hard.void)

    def _see_anew(self, over: Tensor) -> None:
        """The ground as those who begin anew believe it to be."""
        group, true = self.group, self.crossing_bank.terrains.select(self.crossings.case.index_select(0, self.group))
        heights = true.heights + self.closed.disturbance.height_noise * self._height_draws
        fresh = TerrainBatch(heights, true.min_point, true.size, true.cell)
        old = self.bank.select(group)
        parts = zip((old.heights, old.min_point, old.size), (fresh.heights, fresh.min_point, fresh.size), strict=True)
        heights, low, size = (torch.where(over.view(-1, *[1] * (a.dim() - 1)), b, a) for a, b in parts)
        self.bank.put(group, TerrainBatch(heights, low, size, true.cell))

    @torch.no_grad()
    def restart_all(self) -> None:
        """Everybody begins anew, in the worlds' order; what is known of starts is kept."""
        self.world.idle.zero_()
        self.crossings.outcome.fill_(LATE)
        self.kind.zero_()
        self._origin.fill_(self.hard.void)
        self._origin_serial.zero_()
        self.turn, n, many = 0, len(self._everybody), len(self.group)
        worlds = torch.arange(n, device=self.group.device)
        for first in range(0, n, many):
            first = min(first, n - many)
            self.take_turn(worlds[first : first + many])
        self.observe()

    # ---- other ground --------------------------------------------------------------------------------------------------------

    @torch.no_grad()
    def exchange(self, rows: Tensor, fresh: CrossingBank) -> None:
        """Other crossings [K] in rows [K] of the bank, in place. Who is on them begins anew at the next turn."""
        bank = self.crossing_bank
        self.crossing_bank.terrains.put(rows, fresh.terrains)
        self.world.replace_terrains(rows, fresh.terrains)
        self.crossings.replace_paths(rows, fresh.paths)
        bank.arcs.index_copy_(0, rows, fresh.arcs)
        stays = self.crossings.runs & torch.isin(self.crossings.case, rows)
        self.crossings.outcome.copy_(torch.where(stays, LATE, self.crossings.outcome))
        self.hard.forget(rows)
        self.refill(rows)

    @torch.no_grad()
    def refill(self, rows: Tensor) -> None:
        """States at the beginnings of the paths in rows [K] of the bank and at places along them."""
        each, many, bank = self.closed.starts.each, len(self.group), self.crossing_bank
        places = (rows.unsqueeze(1) * each + torch.arange(each, device=rows.device)).flatten()
        for first in range(0, len(places), many):
            # A call of the generator is for M bodies, however many are left: the last ones are repeated in it.
            index = torch.arange(first, first + many, device=rows.device).clamp_max(len(places) - 1)
            place = places.index_select(0, index)
            row, arcs = place // each, bank.arcs.flatten().index_select(0, place)
            states = self.writer.begin_on(bank.terrains.select(row), bank.paths_from(row, arcs))
            along = PathBatch(bank.paths.points.index_select(0, row), bank.paths.length.index_select(0, row), bank.paths.spacing)
            progress = walk(along, arcs, states.qpos[:, None, :3], size_of(self.world.character))[:, 0]
            keep = min(many, len(places) - first)
            start = StartState(Snapshot(*(part[:keep] for part in states)), row[:keep], progress[:keep])
            self.starts.put(place[:keep], start)

    def state(self) -> dict[str, Tensor]:
        """All that outlives `restart_all`, for a checkpoint; `load_state` takes it back."""
        parts = {"bank": self.crossing_bank.state(), "starts": self.starts.state(), "hard": self.hard.state()}
        return {f"{name}.{key}": value for name, part in parts.items() for key, value in part.items()}

    def load_state(self, state: dict[str, Tensor]) -> None:
        """What `state` told."""

        def part(name: str) -> dict[str, Tensor]:
            found = {key.removeprefix(f"{name}."): value for key, value in state.items() if key.startswith(f"{name}.")}
            return {key: value.to(self.world.device) for key, value in found.items()}

        bank = CrossingBank.from_state(part("bank"), self.crossing_bank.terrains.cell)
        rows = torch.arange(len(bank), device=self.world.device)
        self.crossing_bank.terrains.put(rows, bank.terrains)
        self.world.replace_terrains(rows, bank.terrains)
        self.crossings.replace_paths(rows, bank.paths)
        self.crossing_bank.arcs.copy_(bank.arcs)
        self.starts.load_state(part("starts"))
        self.hard.load_state(part("hard"))
