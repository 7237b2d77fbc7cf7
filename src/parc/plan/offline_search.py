"""A search through physics: many short plans are simulated, the bodies that fared best go on, the others are forgotten.

Every round starts from a few simulated bodies (the *beam*). The generator writes `candidates` references from there; each is
followed in simulation for `look` steps; a candidate is good up to `margin` steps before it lost its reference or fell. Of
the good ones the `beam` best keep their first `commit` steps and are the next round's bodies:

    beam --generate--> references --simulate look--> judged --keep commit steps--> next beam --> ... --> goal

References are written in two ways. *Continued*: the reference a body follows goes on where it ends, so that nothing changes for
the tracker. *Restarted*: the generator begins anew after the body's own last two simulated frames, so that plan and body agree
again. What is kept is one unbroken simulation: a body's next stretch begins in exactly the state the last one ended in.

At a hard place, where two rounds were no gain, a round is several such rounds from the same beam (`hard`), pooled. Where a pace
is asked for, every second of them is without one, and so is one more round where none found a good candidate: nobody climbs at a
run.

When no candidate is good, or none gets on for a while, the try is over; `parc.plan.offline_retries` decides where the next
begins. Writing, simulating, judging and the tree of futures are shared with live driving (`plan_writing`, `rehearsal_stage`,
`future_score`, `future_tree`).
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from parc.character.posture import size_of
from parc.errors import SettingsError
from parc.generate.model.motion_generator import Generator
from parc.generate.model.prefix_transformer import PAST_FRAMES
from parc.generate.rollout.path_rollout import PathRunner, RolloutSettings
from parc.motion.frame_state import FrameState
from parc.path.path_batch import PathBatch
from parc.path.terrain_path import TerrainPath
from parc.plan.future_score import FutureEnds, ScoreSettings, score_futures
from parc.plan.future_tree import Branch, Origin, Tree, spread_out
from parc.plan.path_progress import at_goal, walk, worth
from parc.plan.plan_writing import head_after, write_after, write_new
from parc.plan.rehearsal_stage import RehearsalStage
from parc.terrain.terrain import Terrain, TerrainBatch
from parc.track.follow.trace import Trace

GAIN = 0.5
"""m of worth (`parc.plan.path_progress`) that count as getting on"""


@dataclass(frozen=True, kw_only=True)
class SearchSettings(ScoreSettings):
    """How a way to a goal is searched, and what futures are worth (`ScoreSettings`)."""

    candidates: int = 12
    """references written and simulated in a round"""
    hard: int = 2
    """times as many in a round after two without gain"""
    beam: int = 4
    """bodies that go on after a round"""
    windows: int = 6
    """windows of a restarted reference"""
    continued: float = 0.5
    """share of candidates that continue their body's reference; the others restart after the simulated frames"""
    near: float = 1.4
    """m of path to the point that restarted candidates head for; half of the usual, so that at a wall it lies straight ahead"""
    held: int = 24
    """frames of its body's reference that a continued candidate keeps at most; for so long candidates of a body are alike"""
    look: int = 36
    """control steps simulated in a round"""
    commit: int = 18
    """control steps kept at most"""
    margin: int = 10
    """control steps before a loss that are not kept either"""
    shortest: int = 6
    """control steps: a candidate good for fewer is dropped"""
    stall: int = 5
    """rounds without gain after which a try is over"""
    radius: float = 0.5
    """m from the goal to the root, horizontally, that count as arrived"""
    seconds: float = 120.0
    """of wall time after which a crossing is given up"""
    reroute: bool = True
    """a try after the first may take another way to the goal, around where the last one ended"""
    longest: float = 120.0
    """s of simulated motion after which a try is over"""
    rollout: RolloutSettings = field(default_factory=RolloutSettings)

    def __post_init__(self) -> None:
        if self.candidates < 1:
            raise SettingsError(f"{self.candidates} candidates were asked for, expected at least 1")
        if not 1 <= self.beam <= self.candidates:
            raise SettingsError(f"a beam of {self.beam} among {self.candidates} candidates, expected 1 to {self.candidates}")
        if not PAST_FRAMES <= self.shortest <= self.commit <= self.look:
            raise SettingsError(
                f"shortest {self.shortest}, commit {self.commit}, look {self.look}: expected {PAST_FRAMES} or more, rising"
            )
        if self.windows * self.rollout.keep < self.look:
            raise SettingsError(f"{self.windows} windows of {self.rollout.keep} frames are shorter than the look of {self.look}")
        if self.held < PAST_FRAMES:
            raise SettingsError(f"{self.held} frames of a reference are held, expected at least {PAST_FRAMES}")
        if self.hard < 1:
            raise SettingsError(f"{self.hard} times as many candidates at hard places, expected at least 1")
        if not 0 <= self.continued <= 1:
            raise SettingsError(f"continued is {self.continued}, expected a share from 0 to 1")


@dataclass(frozen=True, eq=False)
class SearchTry:
    """What one try came to."""

    tree: Tree
    """the bodies kept after each round, those given to begin with among them"""
    end: Branch | None
    """the body that arrived, or the one that came farthest; None if there never was one"""
    reached: bool
    rounds: int
    survival: float
    """sum over rounds of the mean share of the look that candidates survived"""


class Search:
    """Buffers and worlds for one terrain and path."""

    def __init__(
        self, generator: Generator, stage: RehearsalStage, terrain: Terrain, path: TerrainPath, settings: SearchSettings
    ) -> None:
        self.settings, self.stage, self.terrain, self.character = settings, stage, terrain, generator.character
        self.device = generator.device
        self.path = PathBatch.stack([path], device=self.device)
        count = settings.candidates
        bank, paths = TerrainBatch.stack([terrain]), PathBatch.stack([path])
        near = replace(settings.rollout, lookahead=min(settings.near, settings.rollout.lookahead))
        continued = round(settings.continued * count)
        kinds: list[tuple[int, Origin, RolloutSettings]] = [
            (continued, "held", settings.rollout),
            (count - continued, "body", near),
        ]
        self._groups = [(PathRunner(generator, bank, paths, rows, rollout), kind) for rows, kind, rollout in kinds if rows]
        self._first = PathRunner(generator, bank, paths, count, settings.rollout)
        self._rows = self.path.select(torch.zeros(count, dtype=torch.long, device=self.device))

    def run(
        self, random: torch.Generator, tree: Tree, deadline: float, on_round: Callable[[float], object] | None = None
    ) -> SearchTry:
        """From the leaves of `tree` (none: from the path's start) until the goal, a dead end, or the deadline (time.monotonic).

        `on_round(progress)` after each round, m along the path.
        """
        settings, tree = self.settings, Tree(tree.rounds)
        best = tree.farthest
        record, since = max(map(self._worth, tree.leaves), default=0.0), 0
        rounds, survival = 0, 0.0
        while time.monotonic() < deadline:
            times = settings.hard if since > 1 else 1
            survivors, arrived, share = self._rounds(tree.leaves, random, times)
            rounds, survival = rounds + times, survival + share
            if arrived is not None:
                tree.grow([arrived])
                return SearchTry(tree, arrived, True, rounds, survival)
            if not survivors:
                break
            tree.grow(survivors)
            front = tree.farthest
            assert front is not None
            best = front if best is None or front.progress > best.progress else best
            gained = max(map(self._worth, survivors))
            since, record = (0, gained) if gained > record + GAIN else (since + 1, record)
            if on_round is not None:
                on_round(front.progress)
            if since >= settings.stall or front.steps > settings.longest * self.stage.follower.fps:
                break
        return SearchTry(tree, best, False, rounds, survival)

    def _worth(self, body: Branch) -> float:
        arc = torch.tensor([body.progress], device=self.device)
        return float(worth(self.path, arc, body.last.qpos[None, 2], self.settings.climb, size_of(self.character)))

    def _rounds(self, beam: list[Branch], random: torch.Generator, times: int) -> tuple[list[Branch], Branch | None, float]:
        """The next beam of so many rounds from one, the body that arrived, and the sum of shares survived."""
        pool: list[Branch] = []
        shares = 0.0
        for pace in self._paces(times, pool):
            found, arrived, share = self._round(beam, random, pace)
            shares += share
            if arrived is not None:
                return [], arrived, shares
            pool += found
        chosen = spread_out(pool, [body.score for body in pool], self.settings.beam)
        return [pool[row] for row in chosen], None, shares

    def _paces(self, times: int, pool: list[Branch]) -> Iterator[float | None]:
        """m/s asked for in each of so many rounds and, where they left `pool` empty, in one more without a pace."""
        pace = self.settings.rollout.pace
        for k in range(times):
            yield None if k % 2 else pace
        if pace is not None and not pool:
            yield None

    def _round(
        self, beam: list[Branch], random: torch.Generator, pace: float | None
    ) -> tuple[list[Branch], Branch | None, float]:
        """Those that could go on, the body that arrived, and the mean share of the look survived."""
        settings, count = self.settings, self.settings.candidates
        for runner in (self._first, *(runner for runner, _ in self._groups)):
            runner.ask(pace)
        parents = [beam[i % len(beam)] for i in range(count)] if beam else []
        # Write, and follow.
        frames = self._continue(parents, random) if beam else write_new(self._first, self._length - 1, random)
        tried = self.stage.rehearse(self.terrain, parents, frames, settings.look)
        trace = tried.trace
        # How far did they come, and did one arrive?
        came = torch.tensor([body.progress for body in parents] or [0.0] * count, device=self.device)
        walked = walk(self._rows, came, trace.root_pos, size_of(self.character))
        share = float((trace.survived.float() / settings.look).mean())
        if (arrival := self._arrival(trace, walked)) is not None:
            row, stop = arrival
            return [], tried.branch(row, stop, progress=float(walked[row, stop])), share
        # What is good is kept, and judged.
        good = torch.where(trace.survived >= settings.look, settings.look, trace.survived - settings.margin)
        keep = good.clamp_max(settings.commit)
        score = self._score(parents, trace, walked, good, keep)
        order = torch.argsort(score, descending=True).tolist()
        able = [row for row in order if int(keep[row]) >= settings.shortest][: settings.beam * 2]
        bodies = []
        for row in able:
            end = int(keep[row])
            bodies.append(tried.branch(row, end, progress=float(walked[row, end])))
            bodies[-1].score = float(score[row])
        return bodies, None, share

    @property
    def _length(self) -> int:
        """Frames of a restarted reference, the present among them."""
        return self.settings.windows * self.settings.rollout.keep + 1

    def _continue(self, parents: list[Branch], random: torch.Generator) -> FrameState:
        """References [candidates, L, ...] whose frame 0 is the present."""
        groups = []
        for runner, kind in self._groups:
            bodies, parents = parents[: runner.batch], parents[runner.batch :]
            most = min(self.settings.held, *(len(body.ahead.root_pos) for body in bodies)) if kind == "held" else None
            heads = [head_after(body, kind, self.character, most) for body in bodies]
            # The generator goes on at the end of the head: how far along is that?
            kept = FrameState.stack([head.kept for head in heads]).root_pos
            progress = torch.tensor([body.progress for body in bodies], device=self.device)
            for at in (kept.shape[1] // 2, kept.shape[1] - 1):
                progress = runner.paths.advance(progress, kept[:, at, :2])
            groups.append(write_after(runner, heads, progress, self._length, random))
        return FrameState.cat(groups, 0)

    def _arrival(self, trace: Trace, walked: Tensor) -> tuple[int, int] | None:
        """Row and last step of the body that arrives first and stays up for `margin` steps more, if any does."""
        step = torch.arange(trace.steps + 1, device=walked.device)
        last = trace.survived[:, None] - self.settings.margin
        there = (
            at_goal(self.path, trace.root_pos, walked, self.settings.radius, size_of(self.character))
            & (step >= PAST_FRAMES)
            & (step <= last)
        )
        if not bool(there.any()):
            return None
        first = torch.where(there.any(1), there.int().argmax(1), trace.steps + 1)
        row = int(first.argmin())
        stop = min(int(first[row]) + self.settings.margin, int(trace.survived[row]))
        return row, max(stop, int(first[row]))

    def _score(self, parents: list[Branch], trace: Trace, walked: Tensor, good: Tensor, keep: Tensor) -> Tensor:
        """[B], m of progress, higher is better; the tracker's value is that of the state which is kept."""
        row = torch.arange(len(good), device=good.device)
        end = good.clamp(0, trace.steps)
        before = {id(body): body.steps for body in parents}
        taken = end + torch.tensor([before[id(body)] for body in parents] or [0], device=good.device)
        ends = FutureEnds(
            walked[row, end],
            trace.root_pos[row, end],
            taken / self.stage.follower.fps,
            trace.survived / trace.steps,
            trace.drift[row, (end - 1).clamp_min(0)],
            self.stage.value(trace, keep.clamp(0, trace.steps)) if self.settings.value else None,
            crouch=self.stage.crouch(trace, self.settings.crouch_allowed) if self.settings.crouch else None,
        )
        return score_futures(ends, self._rows, None, self.settings, size=size_of(self.character))
