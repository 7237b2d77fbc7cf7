"""What to do next: motions from the generator, tried out in simulation before one of them is chosen.

One round grows the tree of simulated futures (`parc.plan.future_tree`) by a stretch:

    the `beam` best leaves --write `candidates` motions--> follow each in simulation for `rehearse` steps --> more leaves

Every leaf has taken `commit` steps of its motion; that it was followed for `rehearse` steps says that there is more where it
leads. The bodies that fared best go on, and which of them the character becomes is left open for as long as the tree is deep.
The search is best first: leaves are judged alike however deep they are, with a price on time, and one that was tried in vain
yields to others, so that the search comes back to an earlier place when it is at a dead end.

Which candidate survives is mostly a matter of the state it begins in, and of chance: of two motions written after the same
state, none of penetration, jerk, contacts or the tracker's value tells the better one in more than 58 of 100 cases. Hence
nothing is chosen unsimulated, and what is kept is judged by the tracker's value of the state it leads to.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import NamedTuple

import torch
from torch import Tensor

from parc.character.posture import size_of
from parc.errors import SettingsError
from parc.generate.model.motion_generator import Generator
from parc.generate.rollout.path_rollout import PathRunner, RolloutSettings
from parc.motion.frame_state import FrameState
from parc.path.path_batch import PathBatch
from parc.path.terrain_path import TerrainPath
from parc.plan.future_score import FutureEnds, ScoreSettings, score_futures
from parc.plan.future_tree import STEADY, Branch, Origin, spread_out
from parc.plan.path_progress import walk
from parc.plan.plan_writing import Head, head_after, is_always_wanted, write_after, write_new
from parc.plan.rehearsal_stage import RehearsalStage
from parc.plan.tracker_critic import Critic
from parc.terrain.terrain import Terrain, TerrainBatch
from parc.track.follow.follower import SETTLED, Follower
from parc.track.follow.outcome import FallSettings
from parc.track.follow.plan_reference import PlanReference
from parc.track.follow.trace import Snapshot, Trace
from parc.track.learn.policy import TrainedActor

STRIDE = 3
"""control steps between the places at which progress along a path is judged"""
FALL = FallSettings(patience=0.4)
"""sooner than the character itself: what lies at the end of a rehearsal has no time left to lie"""
REACH = 4.0
"""m along the path that a body may have come since its progress was last known"""


@dataclass(frozen=True)
class PathOnTerrain:
    """Where to and on what."""

    terrain: Terrain
    path: TerrainPath
    progress: float
    """m along the path, of the character when the plan was asked for"""


@dataclass(frozen=True, kw_only=True)
class PlannerSettings(ScoreSettings):
    """How a round of planning is made, and what futures are worth (`ScoreSettings`)."""

    candidates: int = 9
    """motions written and followed in a round"""
    beam: int = 3
    """leaves that motions are written after in a round"""
    kept: int = 12
    """leaves that are kept"""
    fatigue: float = 0.1
    """m of progress that a leaf is worth less for each motion that was written after it"""
    frames: int = 37
    """control steps a motion is long; the tracker looks 30 ahead"""
    from_plan: float = 0.17
    """share of the motions that continue the reference in use"""
    held: float = 0.34
    """share of the motions that keep what is left of the reference in use; the rest continue the simulated body"""
    pause: int = 1
    """motions that continue the simulated body and stand still, if there are four or more"""
    rehearse: int = 30
    """control steps each motion is followed in simulation"""
    margin: int = 6
    """control steps before a loss that do not count as good"""
    survival: float = 6.0
    content: float = 5.0
    pit: float = 3.0
    low: float = 3.0
    off_map: float = 3.0
    idle: float = 0.3
    rollout: RolloutSettings = field(default_factory=lambda: RolloutSettings(keep=13, steps=3))
    """whole windows are kept and fewer sampler steps taken: plans must be made in real time"""

    def __post_init__(self) -> None:
        if min(self.candidates, self.beam, self.rehearse) < 1 or self.frames < 2:
            raise SettingsError(
                f"{self.candidates} candidates of {self.frames} frames, {self.rehearse} rehearsed, {self.beam} kept: expected at "
                "least 1, 2, 1 and 1"
            )
        if self.from_plan < 0 or self.held < 0 or self.from_plan + self.held > 1:
            raise SettingsError(f"shares of motions from the plan are {self.from_plan} and {self.held}, expected 0 to 1 in all")


class Start(NamedTuple):
    """A body that is on its own until the plan is there: it was pushed, or the ground changed under it."""

    state: Snapshot
    reference: PlanReference
    frame: int
    """of the reference, that the body should be at"""
    steps: int
    """control steps until the plan is due"""


class Request(NamedTuple):
    """What a round of planning is asked for."""

    ground: PathOnTerrain
    leaves: tuple[Branch, ...] = ()
    """to grow from, the best first; none and no start: out of nothing, at the beginning of the path"""
    others: tuple[Branch, ...] = ()
    """leaves that are judged with them"""
    stop: Branch | None = None
    """after which a pause is tried"""
    wait: int = 0
    """control steps that the one leaf, a pause, is prolonged; nothing grows from it yet"""
    lineages: Mapping[Branch, list[Branch]] = MappingProxyType({})
    """of all these when the plan was asked for: the tree loses its beginning while it is made"""
    start: Start | None = None
    commit: int = 15
    """control steps of a new branch"""
    caution: float = 1.0
    """1 to 0: less for a character that makes no headway, for whom a risk is worth taking"""
    written: int = 0
    """frames of one motion after `start`, that is only written and not tried out; 0: a round of rehearsals"""
    given_up: threading.Event = threading.Event()
    """set when the plan is no longer wanted"""

    def is_wanted(self) -> bool:
        """Not given up yet."""
        return not self.given_up.is_set()


class Plan(NamedTuple):
    """What came of it."""

    leaves: tuple[Branch, ...]
    """old and new, the best first"""
    scores: tuple[float, ...]
    """of theirs, m of progress"""
    parents: tuple[Branch, ...]
    """of the new ones"""
    stop: Branch | None
    """after which a pause was tried"""
    seconds: float
    """s it took"""

    @property
    def best(self) -> Branch:
        """The leaf that is worth most."""
        return self.leaves[0]

    @property
    def is_safe(self) -> bool:
        """The rehearsal of the best was tracked to its end."""
        return self.best.is_safe

    @property
    def is_continued(self) -> bool:
        """The best goes on from the plan before, not from the simulated body."""
        return self.best.from_plan

    def note(self) -> None:
        """Write scores and tries down in the branches; for the thread that has the tree."""
        for leaf, score in zip(self.leaves, self.scores, strict=True):
            leaf.score = score
        for parent in self.parents:
            parent.tries += 1
        if self.stop is not None:
            self.stop.has_pause = True


class WrittenPlan(NamedTuple):
    """A motion that goes on after a body's last two frames, not tried out."""

    reference: PlanReference
    """one; its frame 0 is the body as it was when the plan was asked for"""
    frame: int
    """of it, that the body should be at when the plan is due"""
    seconds: float
    """s it took"""
    is_safe: bool = False
    """nobody has tried"""
    is_continued: bool = False
    """it goes on from the body"""

    def note(self) -> None:
        """There is no tree to note anything in."""


AnyPlan = Plan | WrittenPlan


class Planner:
    """Motions for one character."""

    def __init__(
        self,
        generator: Generator,
        trained: TrainedActor,
        terrain: Terrain,
        settings: PlannerSettings = PlannerSettings(),
        critic: Critic | None = None,
    ) -> None:
        if settings.rollout.keep > generator.settings.future:
            settings = replace(settings, rollout=replace(settings.rollout, keep=generator.settings.future))
        self.settings, self.generator = settings, generator
        self._origins = origins(settings)
        self._alone, self._stage = (
            RehearsalStage(Follower(trained, terrain, bodies, threads=2), critic, terrain) for bodies in (1, settings.candidates)
        )

    @torch.no_grad()
    def plan(self, request: Request, random: torch.Generator) -> AnyPlan:
        """What was asked for: a round of rehearsals, or one motion that is only written."""
        return self.write_on(request, random) if request.written else self.rehearse(request, random)

    @torch.no_grad()
    def write_on(self, request: Request, random: torch.Generator) -> WrittenPlan:
        """The motion of a reflex: from the body's own last two frames, along the path."""
        began, start = time.perf_counter(), request.start
        assert start is not None
        past = start.state.frames(self.generator.character)
        heads = [Head(past.row(slice(-1, None)), past)]
        runner = self._runner(request.ground, 1)
        progress = self._progress(runner, request.ground, heads)
        frames = write_after(runner, heads, progress, request.written, random, request.is_wanted)
        return WrittenPlan(PlanReference.of(self._alone.follower.anatomy, frames), start.steps, time.perf_counter() - began)

    @torch.no_grad()
    def rehearse(self, request: Request, random: torch.Generator) -> Plan:
        """A round: more leaves of the tree, and all of them judged."""
        began = time.perf_counter()
        leaves = list(request.leaves)
        if request.start is not None:
            leaves = [self._look_ahead(request.ground, request.start)]
        if request.wait:
            longer = self._prolonged(request.ground, leaves[0], request.wait)
            request = request._replace(stop=leaves[0])
            if longer.is_safe:
                return self._plan(request, list(request.others), [], [longer], began)
        parents = [leaves[k % min(len(leaves), self.settings.beam)] for k in range(self.settings.candidates if leaves else 0)]
        kinds = again(parents, self._origins)
        if leaves and request.stop is not None and "pause" in self._origins:
            parents[-1], kinds[-1] = request.stop, "pause"
        found = self._try(request, parents, kinds, random)
        return self._plan(request, [*leaves, *request.others], parents, found, began)

    def _plan(self, request: Request, old: list[Branch], parents: list[Branch], new: list[Branch], began: float) -> Plan:
        """Old and new leaves in order of what they are worth."""
        every = [*old, *new]
        score = self._score(request, every)
        tried = Counter(id(parent) for parent in parents)
        score = score - self.settings.fatigue * torch.tensor([float(leaf.tries + tried[id(leaf)]) for leaf in every])
        values = score.tolist()
        order = sorted(spread_out(every, values, self.settings.kept), key=lambda k: -values[k])
        leaves, scores = tuple(every[k] for k in order), tuple(values[k] for k in order)
        return Plan(leaves, scores, tuple(parents), request.stop, time.perf_counter() - began)

    def _look_ahead(self, ground: PathOnTerrain, start: Start) -> Branch:
        """What the body does on its own until the plan is due."""
        trace = self._go_on(ground, start.state, start.reference, max(start.steps, 1), start.frame)
        return Branch.of(trace, start.reference, 0, start.steps, first=start.frame)

    def _prolonged(self, ground: PathOnTerrain, branch: Branch, steps: int) -> Branch:
        """A branch that goes on after another's record, with the same reference: who stands goes on standing."""
        at = branch.first + branch.end
        trace = self._go_on(ground, branch.last, branch.reference, steps, at)
        value = self._alone.value(trace, steps)
        known = 0.0 if value is None else float(value[0])
        return Branch.of(trace, branch.reference, 0, steps, "pause", branch, at, known)

    def _try(self, request: Request, parents: list[Branch], kinds: list[Origin], random: torch.Generator) -> list[Branch]:
        """What became of motions written after the parents, or out of nothing."""
        settings, stage, ground = self.settings, self._stage, request.ground
        if parents:
            frames = self.write(ground, parents, kinds, settings.frames, random, request.is_wanted)
        else:
            runner = self._runner(ground, settings.candidates)
            frames = write_new(runner, settings.frames, random).narrow(0, settings.frames).to(stage.follower.world.device)
        steps = settings.rehearse
        tried = stage.rehearse(ground.terrain, parents, frames, steps, SETTLED, FALL, request.is_wanted)
        value = stage.value(tried.trace, request.commit) if 0 < request.commit <= steps else None
        values = [0.0] * settings.candidates if value is None else value.tolist()
        bent = stage.crouch(tried.trace, settings.crouch_allowed).tolist() if settings.crouch else [0.0] * len(values)
        if not parents:
            return [tried.branch(k, request.commit, None, values[k], crouch=bent[k]) for k in range(settings.candidates)]
        ends = [self._end(request, tried.trace, k, kind) for k, kind in enumerate(kinds)]
        return [tried.branch(k, ends[k], kind, values[k], crouch=bent[k]) for k, kind in enumerate(kinds)]

    def _end(self, request: Request, trace: Trace, row: int, origin: Origin) -> int:
        """Steps of a new branch. Who stands safely stands for all of the rehearsal: there is more time to find a way."""
        is_steady = int(trace.survived[row]) >= self.settings.rehearse and float(trace.drift[row, -1]) < STEADY
        return self.settings.rehearse if origin == "pause" and is_steady else request.commit

    @torch.no_grad()
    def write(
        self,
        ground: PathOnTerrain,
        leaves: Sequence[Branch],
        kinds: Sequence[Origin],
        frames: int,
        random: torch.Generator,
        is_wanted: Callable[[], bool] = is_always_wanted,
    ) -> FrameState:
        """A motion [K, frames, ...] after each leaf; frame 0 is the leaf's last."""
        runner = self._runner(ground, len(leaves))
        heads = [head_after(leaf, kind, self.generator.character) for leaf, kind in zip(leaves, kinds, strict=True)]
        for row, (leaf, kind) in enumerate(zip(leaves, kinds, strict=True)):
            if kind == "pause":
                runner.paths.points[row] = leaf.last.qpos[:3]
                runner.paths.length[row] = 0.0
        return write_after(runner, heads, self._progress(runner, ground, heads), frames, random, is_wanted)

    def _progress(self, runner: PathRunner, ground: PathOnTerrain, heads: Sequence[Head]) -> Tensor:
        """[K] m along the path where motions with these heads go on."""
        paths = runner.paths
        places = torch.stack([head.past.root_pos[-1, :2] for head in heads]).to(paths.length.device)
        return paths.advance(torch.full_like(paths.length, ground.progress), places, REACH)

    def _go_on(self, ground: PathOnTerrain, state: Snapshot, reference: PlanReference, steps: int, first: int) -> Trace:
        """What one body does that follows its reference from a frame on."""
        return self._alone.follow(ground.terrain, state, reference, steps, first, SETTLED, FALL)

    def _runner(self, ground: PathOnTerrain, count: int) -> PathRunner:
        bank, path = TerrainBatch.stack([ground.terrain]), PathBatch.stack([ground.path])
        return PathRunner(self.generator, bank, path, count, self.settings.rollout, use_graph=False)

    def _score(self, request: Request, branches: Sequence[Branch]) -> Tensor:
        """[N], m of progress, higher is better: of each branch where it was still good."""
        settings, ground, size = self.settings, request.ground, size_of(self._stage.follower.world.character)
        steps = torch.tensor([branch.recorded for branch in branches])
        survived = torch.tensor([branch.survived for branch in branches])
        good = torch.where(survived >= steps, steps, (survived - settings.margin).clamp_min(0))
        way, taken = _way([_lineage(branch, request.lineages) for branch in branches], good)
        paths = PathBatch.stack([ground.path]).select(torch.zeros_like(good))
        ends = FutureEnds(
            walk(paths, torch.full_like(paths.length, ground.progress), way, size)[:, -1],
            way[:, -1],
            taken / self._stage.follower.fps,
            survived / steps,
            torch.stack([branch.drift[max(int(at) - 1, 0)] for branch, at in zip(branches, good, strict=True)]),
            torch.tensor([branch.value for branch in branches]),
            torch.tensor([float(branch.origin == "pause") for branch in branches]),
            torch.tensor([branch.crouch for branch in branches]),
        )
        return score_futures(ends, paths, ground.terrain, settings, request.caution, size)


def _lineage(branch: Branch, known: Mapping[Branch, list[Branch]]) -> list[Branch]:
    """From where the tree began when the plan was asked for."""
    if branch in known:
        return known[branch]
    return [*(() if branch.parent is None else _lineage(branch.parent, known)), branch]


def _way(lineages: Sequence[list[Branch]], good: Tensor) -> tuple[Tensor, Tensor]:
    """[N, T, 3] roots from where the tree begins to where each body was good, every few steps, and those steps' number [N]."""
    ways, taken = [], []
    for (*before, own), last in zip(lineages, good.tolist(), strict=True):
        parts = [part.states.qpos[: part.end : STRIDE, :3] for part in before]
        ways.append(torch.cat([*parts, own.states.qpos[:last:STRIDE, :3], own.states.qpos[last : last + 1, :3]]))
        taken.append(sum(part.end for part in before) + last)
    most = max(len(way) for way in ways)
    return torch.stack([torch.cat([way[:1].expand(most - len(way), 3), way]) for way in ways]), torch.tensor(taken)


def origins(settings: PlannerSettings) -> list[Origin]:
    """How each of the motions is written; those that hold their reference come first."""
    count = settings.candidates
    held, plan = round(settings.held * count), round(settings.from_plan * count)
    pause = min(settings.pause, count - held - plan) if count >= 4 else 0
    counts: dict[Origin, int] = {"held": held, "plan": plan, "body": count - held - plan - pause, "pause": pause}
    return [origin for origin, times in counts.items() for _ in range(times)]


def again(parents: Sequence[Branch], kinds: Sequence[Origin]) -> list[Origin]:
    """How motions are written after parents some of which were tried before: what is held or stands would be the same again."""
    other: dict[Origin, Origin] = {"held": "plan", "pause": "body"}
    pairs = zip(parents, kinds, strict=False)
    return [other.get(kind, kind) if parent.tries or kind == "pause" else kind for parent, kind in pairs]
