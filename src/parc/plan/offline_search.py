"""A search through physics: many short plans are simulated, the bodies that fared best go on, the others are forgotten.

Every round starts from a few simulated bodies (the *beam*). The generator writes `candidates` references from there; each is
followed in simulation for `look` steps; a candidate is good up to `margin` steps before it lost its reference or fell. Of
the good ones the `beam` best keep their first `commit` steps and are the next round's bodies:

    beam --generate--> references --simulate look--> judged --keep commit steps--> next beam --> ... --> goal

References are written in two ways. *Continued*: the reference a body follows goes on where it ends, so that nothing changes for
the tracker. *Restarted*: the generator begins anew after the body's own last two simulated frames, so that plan and body agree
again. What is kept is one unbroken simulation: a body's next stretch begins in exactly the state the last one ended in.

At a hard place, where two rounds were no gain, a round is several such rounds from the same beam (`hard`), pooled.

When no candidate is good, or none gets on for a while, the try is over; `parc.plan.offline_retries` decides where the next
begins.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from parc.errors import SettingsError
from parc.generate.model.motion_generator import Generator
from parc.generate.model.prefix_transformer import PAST_FRAMES
from parc.generate.rollout.path_rollout import PathRunner, RolloutSettings
from parc.motion.frame_state import FrameState
from parc.path.path_batch import PathBatch
from parc.path.terrain_path import TerrainPath
from parc.plan.path_progress import at_goal, walk, worth
from parc.plan.tracker_critic import Critic
from parc.terrain.terrain import Terrain, TerrainBatch
from parc.track.follow.follower import Follower, Snapshot, Stretch
from parc.track.follow.plan_reference import PlanReference

GAIN = 0.5
"""m of worth (`parc.plan.path_progress`) that count as getting on"""


@dataclass(frozen=True)
class SearchSettings:
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
    pace: float = 0.4
    """m of progress that a second is worth"""
    climb: float = 1.5
    """m of progress that a metre up is worth"""
    survival: float = 1.5
    """m of progress that surviving the whole look is worth"""
    off_path: float = 1.0
    """m of progress that a metre beside the path costs, beyond `corridor`"""
    corridor: float = 0.5
    """m beside the path that are free"""
    value: float = 0.3
    """m of progress that a unit of the tracker's value function is worth; 0 does without the critic"""
    drift: float = 0.5
    """m of progress that a metre between body and reference costs at the end"""
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
class Node:
    """A simulated body at the end of a kept stretch."""

    parent: "Node | None"
    states: Snapshot
    """[n, ...] one after the other, the first being the parent's last"""
    targets: Tensor
    """[n - 1, D] motor targets between them"""
    plan: FrameState
    """[n, ...] the reference at these states"""
    ahead: FrameState
    """[m, ...] the reference from the last state on"""
    progress: float
    """m along the path"""
    steps: int
    """control steps since the start"""

    def chain(self) -> "list[Node]":
        node: Node | None = self
        found = []
        while node is not None:
            found.append(node)
            node = node.parent
        return found[::-1]


@dataclass(frozen=True, eq=False)
class SearchTry:
    """What one try came to."""

    levels: list[list[Node]]
    """the bodies kept after each round, those given to begin with among them"""
    end: Node | None
    """the body that arrived, or the one that came farthest; None if there never was one"""
    reached: bool
    rounds: int
    survival: float
    """sum over rounds of the mean share of the look that candidates survived"""


class Search:
    """Buffers and worlds for one terrain and path."""

    def __init__(
        self,
        generator: Generator,
        follower: Follower,
        critic: Critic | None,
        terrain: Terrain,
        path: TerrainPath,
        settings: SearchSettings,
    ) -> None:
        self.settings, self.follower, self.critic, self.character = settings, follower, critic, generator.character
        self.device = generator.device
        self.path = PathBatch.stack([path], device=self.device)
        count = settings.candidates
        bank, paths = TerrainBatch.stack([terrain]), PathBatch.stack([path])
        near = replace(settings.rollout, lookahead=min(settings.near, settings.rollout.lookahead))
        continued = round(settings.continued * count)
        kinds = ((continued, True, settings.rollout), (count - continued, False, near))
        self._groups = [
            (PathRunner(generator, bank, paths, rows, rollout), from_plan) for rows, from_plan, rollout in kinds if rows
        ]
        self._first = PathRunner(generator, bank, paths, count, settings.rollout)
        self._rows = self.path.select(torch.zeros(count, dtype=torch.long, device=self.device))

    def run(
        self,
        random: torch.Generator,
        levels: list[list[Node]],
        deadline: float,
        on_round: Callable[[float], object] | None = None,
    ) -> SearchTry:
        """From the last of `levels` (none: from the path's start) until the goal, a dead end, or the deadline (time.monotonic).

        `on_round(progress)` after each round, m along the path.
        """
        settings, levels = self.settings, list(levels)
        best = max(levels[-1], key=lambda node: node.progress) if levels else None
        record, since = max(map(self._worth, levels[-1])) if levels else 0.0, 0
        rounds, survival = 0, 0.0
        while time.monotonic() < deadline:
            beam, times = levels[-1] if levels else [], settings.hard if since > 1 else 1
            survivors, arrived, share = self._rounds(beam, random, times)
            rounds, survival = rounds + times, survival + share
            if arrived is not None:
                return SearchTry([*levels, [arrived]], arrived, True, rounds, survival)
            if not survivors:
                break
            levels.append(survivors)
            front = max(survivors, key=lambda node: node.progress)
            best = front if best is None or front.progress > best.progress else best
            gained = max(map(self._worth, survivors))
            since, record = (0, gained) if gained > record + GAIN else (since + 1, record)
            if on_round is not None:
                on_round(front.progress)
            if since >= settings.stall or front.steps > settings.longest * self.follower.fps:
                break
        return SearchTry(levels, best, False, rounds, survival)

    def _worth(self, node: Node) -> float:
        arc = torch.tensor([node.progress], device=self.device)
        return float(worth(self.path, arc, node.states.qpos[-1, 2:3], self.settings.climb))

    def _rounds(self, beam: list[Node], random: torch.Generator, times: int) -> tuple[list[Node], Node | None, float]:
        """The next beam of so many rounds from one, the body that arrived, and the sum of shares survived."""
        pool: list[tuple[float, Node]] = []
        shares = 0.0
        for _ in range(times):
            found, arrived, share = self._round(beam, random)
            shares += share
            if arrived is not None:
                return [], arrived, shares
            pool += found
        pool.sort(key=lambda scored: -scored[0])
        chosen = _spread(list(range(len(pool))), [id(node.parent) for _, node in pool], self.settings.beam)
        return [pool[row][1] for row in chosen], None, shares

    def _round(self, beam: list[Node], random: torch.Generator) -> tuple[list[tuple[float, Node]], Node | None, float]:
        """Those that could go on with their scores, the body that arrived, and the mean share of the look survived."""
        settings, count = self.settings, self.settings.candidates
        parents: list[Node | None] = [beam[i % len(beam)] if beam else None for i in range(count)]
        frames = self._continue(parents, random) if beam else self._begin(random)
        reference = PlanReference.of(self.follower.anatomy, frames)
        last = [node.states.row(-1) for node in parents if node is not None]
        states = Snapshot.stack(last) if beam else self.follower.start(reference)
        stretch = self.follower.run(states, reference, settings.look)
        walked = self._progress(parents, stretch)
        arrived = self._arrival(parents, frames, stretch, walked)
        share = float((stretch.survived.float() / settings.look).mean())
        if arrived is not None:
            return [], arrived, share
        good = torch.where(stretch.survived >= settings.look, settings.look, stretch.survived - settings.margin)
        keep = good.clamp_max(settings.commit)
        score = self._score(parents, stretch, walked, good, keep)
        order = torch.argsort(score, descending=True).tolist()
        able = [row for row in order if int(keep[row]) >= settings.shortest][: settings.beam * 2]
        nodes = [self._node(parents[row], frames, stretch, walked, row, int(keep[row])) for row in able]
        return [(float(score[row]), node) for row, node in zip(able, nodes, strict=True)], None, share

    def _begin(self, random: torch.Generator) -> FrameState:
        self._first.reset(None, random)
        return self._written(self._first, self.settings.windows, random)

    def _continue(self, parents: list[Node | None], random: torch.Generator) -> FrameState:
        """References [candidates, L, ...] whose frame 0 is the present."""
        nodes = [node for node in parents if node is not None]
        groups = []
        length = self.settings.windows * self.settings.rollout.keep + 1
        for runner, from_plan in self._groups:
            rows, nodes = nodes[: runner.batch], nodes[runner.batch :]
            heads = [node.ahead if from_plan else self._present(node) for node in rows]
            short = min(self.settings.held, *(len(head.root_pos) for head in heads)) if from_plan else PAST_FRAMES
            heads = [FrameState(*(part[:short] for part in head)) for head in heads]
            head = FrameState(*(torch.stack(parts) for parts in zip(*heads, strict=True)))
            runner.reset(head.narrow(head.root_pos.shape[1] - PAST_FRAMES, PAST_FRAMES), random)
            progress = torch.tensor([node.progress for node in rows], device=self.device)
            for at in (head.root_pos.shape[1] // 2, head.root_pos.shape[1] - 1):
                progress = runner.paths.advance(progress, head.root_pos[:, at, :2])
            runner.progress.copy_(progress)
            kept = head if from_plan else head.narrow(PAST_FRAMES - 1, 1)
            windows = -(-(length - kept.root_pos.shape[1]) // self.settings.rollout.keep)
            written = self._written(runner, windows, random)
            whole = FrameState(*(torch.cat(parts, 1) for parts in zip(kept, written, strict=True)))
            groups.append(whole.narrow(0, length))
        return FrameState(*(torch.cat(parts) for parts in zip(*groups, strict=True)))

    def _present(self, node: Node) -> FrameState:
        """[2, ...] the body's last two simulated frames."""
        return node.states.row(-1).frames(self.character)

    def _written(self, runner: PathRunner, windows: int, random: torch.Generator) -> FrameState:
        parts = [FrameState(*(part.clone() for part in runner.step(random))) for _ in range(windows)]
        return FrameState(*(torch.cat(frames, 1) for frames in zip(*parts, strict=True)))

    def _progress(self, parents: list[Node | None], stretch: Stretch) -> Tensor:
        """[B, S + 1] m along the path."""
        progress = torch.tensor([0.0 if n is None else n.progress for n in parents], device=self.device)
        return walk(self._rows, progress, stretch.root_pos)

    def _arrival(self, parents: list[Node | None], frames: FrameState, stretch: Stretch, walked: Tensor) -> Node | None:
        """The body that arrives first and stays up for `margin` steps more, if any does."""
        step = torch.arange(stretch.steps + 1, device=walked.device)
        last = stretch.survived[:, None] - self.settings.margin
        there = at_goal(self.path, stretch.root_pos, walked, self.settings.radius) & (step >= PAST_FRAMES) & (step <= last)
        if not bool(there.any()):
            return None
        first = torch.where(there.any(1), there.int().argmax(1), stretch.steps + 1)
        row = int(first.argmin())
        stop = min(int(first[row]) + self.settings.margin, int(stretch.survived[row]))
        return self._node(parents[row], frames, stretch, walked, row, max(stop, int(first[row])))

    def _score(self, parents: list[Node | None], stretch: Stretch, walked: Tensor, good: Tensor, keep: Tensor) -> Tensor:
        """[B], m of progress, higher is better."""
        settings = self.settings
        row = torch.arange(len(good), device=good.device)
        end, kept = good.clamp(0, stretch.steps), keep.clamp(0, stretch.steps)
        taken = torch.tensor([0 if n is None else n.steps for n in parents], device=good.device) + end
        on_path = self._rows.position(walked[row, end])
        root = stretch.root_pos[row, end]
        aside = (root[:, :2] - on_path[:, :2]).norm(dim=-1)
        off = (aside - settings.corridor).clamp_min(0)
        score = (
            worth(self._rows, walked[row, end], root[:, 2], settings.climb)
            - settings.pace * taken / self.follower.fps
            - settings.off_path * off
        )
        score = score + settings.survival * stretch.survived / stretch.steps
        score = score - settings.drift * stretch.drift[row, (end - 1).clamp_min(0)]
        if settings.value and self.critic is not None:
            score = score + settings.value * self.critic(stretch.observations[row, kept])
        return score

    def _node(self, parent: Node | None, frames: FrameState, stretch: Stretch, walked: Tensor, row: int, steps: int) -> Node:
        span = slice(0, steps + 1)
        return Node(
            parent,
            Snapshot(*(part[row, span].clone() for part in stretch.states)),
            stretch.targets[row, :steps].clone(),
            FrameState(*(part[row, span].clone() for part in frames)),
            FrameState(*(part[row, steps:].clone() for part in frames)),
            float(walked[row, steps]),
            (0 if parent is None else parent.steps) + steps,
        )


def _spread(rows: list[int], parent: list[int], count: int) -> list[int]:
    """The first `count` rows, but no more than half of them of one parent while others have any."""
    most = -(-count // 2)
    taken: list[int] = []
    for row in rows:
        if sum(parent[other] == parent[row] for other in taken) < most:
            taken.append(row)
    return [*taken, *(row for row in rows if row not in taken)][:count]
