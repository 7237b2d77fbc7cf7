"""What to do next: motions from the generator, tried out in simulation before one of them is chosen.

One round grows the tree of simulated futures (`parc.plan.online_future_tree`) by a stretch:

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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import NamedTuple

import torch
from torch import Tensor

from parc.errors import SettingsError
from parc.generate.model.motion_generator import Generator
from parc.generate.rollout.path_rollout import RolloutSettings
from parc.path.path_batch import PathBatch
from parc.plan.online_future_tree import STEADY, Branch, Origin
from parc.plan.online_rehearsal import PathOnTerrain, Rehearsal, RehearsalStage
from parc.plan.online_steering import NEARBY
from parc.plan.path_progress import CROUCH, STANDING, walk, worth
from parc.plan.tracker_critic import Critic
from parc.terrain.terrain import Terrain
from parc.track.follow.follower import Snapshot
from parc.track.follow.plan_reference import PlanReference
from parc.track.learn.policy import TrainedActor

STRIDE = 3
"""control steps between the places at which progress along a path is judged"""


@dataclass(frozen=True)
class PlannerSettings:
    candidates: int = 9
    """motions written and followed in a round"""
    beam: int = 3
    """leaves that motions are written after in a round"""
    kept: int = 12
    """leaves that are kept"""
    fatigue: float = 0.1
    """m of progress that a leaf is worth less for each motion that was written after it"""
    pace: float = 0.4
    """m of progress that a second is worth"""
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
    safety: float = 6.0
    """m of progress that a motion followed to its end outweighs one lost at once"""
    boldness: float = 0.1
    """share of what safety and value are worth that is left for a character without caution"""
    value: float = 0.3
    """m of progress that a unit of the tracker's value function is worth, where there is a critic"""
    content: float = 5.0
    """of that value, beyond which more is no better: who stands still is worth most"""
    climb: float = 1.5
    """m of progress that a metre up is worth"""
    idle: float = 0.3
    """m of progress that a pause costs: it is there for want of anything safer"""
    drift: float = 0.5
    """m of progress that a metre between root and reference costs"""
    off_path: float = 1.0
    """m of progress that a metre beside the path costs, beyond `corridor`"""
    pit: float = 3.0
    """m of progress that a metre below all of the path nearby costs, beyond `corridor`: from down there no way leads on"""
    low: float = 3.0
    """m of progress that a metre nearer to the ground than a crouch costs: who lies may be safe but does not get up"""
    off_map: float = 3.0
    """m of progress that a metre beyond the edge of the terrain costs"""
    corridor: float = 0.5
    """m beside the path, and below standing height over it, that are free"""
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
    given_up: threading.Event = threading.Event()
    """set when the plan is no longer wanted"""

    def is_wanted(self) -> bool:
        return not self.given_up.is_set()


class Plan(NamedTuple):
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
        return self.leaves[0]


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
        self.settings = settings
        self._origins = origins(settings)
        self._alone = RehearsalStage(generator, trained, critic, terrain, 1, settings.rollout)
        self._stage = RehearsalStage(generator, trained, critic, terrain, settings.candidates, settings.rollout)

    @torch.no_grad()
    def plan(self, request: Request, random: torch.Generator) -> Plan:
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
        order = spread_out(every, score.tolist(), self.settings.kept)
        leaves, scores = tuple(every[k] for k in order), tuple(float(score[k]) for k in order)
        return Plan(leaves, scores, tuple(parents), request.stop, time.perf_counter() - began)

    def _look_ahead(self, ground: PathOnTerrain, start: Start) -> Branch:
        """What the body does on its own until the plan is due."""
        trial = self._alone.follow(ground.terrain, start.state, start.reference, max(start.steps, 1), 0, first=start.frame)
        return _branch(trial, 0, start.steps, first=start.frame)

    def _prolonged(self, ground: PathOnTerrain, branch: Branch, steps: int) -> Branch:
        """A branch that goes on after another's record, with the same reference: who stands goes on standing."""
        at = branch.first + branch.end
        trial = self._alone.follow(ground.terrain, branch.last, branch.reference, steps, steps, first=at)
        return _branch(trial, 0, steps, "pause", branch, at)

    def _try(self, request: Request, parents: list[Branch], kinds: list[Origin], random: torch.Generator) -> list[Branch]:
        """What became of motions written after the parents, or out of nothing."""
        settings, stage, ground = self.settings, self._stage, request.ground
        anatomy, count = stage.follower.anatomy, settings.candidates
        if parents:
            frames = stage.write(ground, parents, kinds, settings.frames, random, request.is_wanted)
            reference = PlanReference.of(anatomy, frames)
            states = Snapshot.stack([parent.last for parent in parents])
        else:
            reference = PlanReference.of(anatomy, stage.begin(ground, count, settings.frames, random))
            states = stage.follower.start(reference)
        trial = stage.follow(ground.terrain, states, reference, settings.rehearse, request.commit, request.is_wanted)
        if not parents:
            return [_branch(trial, k, request.commit) for k in range(count)]
        rows = enumerate(zip(parents, kinds, strict=True))
        return [_branch(trial, k, self._end(request, trial, k, origin), origin, parent) for k, (parent, origin) in rows]

    def _end(self, request: Request, trial: Rehearsal, row: int, origin: Origin) -> int:
        """Steps of a new branch. Who stands safely stands for all of the rehearsal: there is more time to find a way."""
        is_steady = int(trial.survived[row]) >= self.settings.rehearse and float(trial.drift[row, -1]) < STEADY
        stands = origin == "pause" and is_steady
        return self.settings.rehearse if stands else request.commit

    def _score(self, request: Request, branches: Sequence[Branch]) -> Tensor:
        """[N], m of progress, higher is better."""
        settings, ground = self.settings, request.ground
        steps = torch.tensor([branch.recorded for branch in branches])
        survived = torch.tensor([branch.survived for branch in branches])
        good = torch.where(survived >= steps, steps, (survived - settings.margin).clamp_min(0))
        way, taken = _way([_lineage(branch, request.lineages) for branch in branches], good)
        root = way[:, -1]
        paths = PathBatch.stack([ground.path]).select(torch.zeros_like(good))
        progress = walk(paths, torch.full_like(paths.length, ground.progress), way)[:, -1]
        aside = (root - paths.position(progress))[:, :2].norm(dim=-1)
        off = settings.off_path * (aside - settings.corridor).clamp_min(0)
        off = off + settings.pit * (_lowest(paths, progress) + STANDING - root[:, 2] - settings.corridor).clamp_min(0)
        height = root[:, 2] - ground.terrain.height_at(root[:, :2])
        off = off + settings.low * (STANDING - CROUCH - height).clamp_min(0)
        low, high = ground.terrain.extent
        off = off + settings.off_map * torch.maximum(low - root[:, :2], root[:, :2] - high).clamp_min(0).norm(dim=-1)
        drift = torch.stack([branch.drift[max(int(at) - 1, 0)] for branch, at in zip(branches, good, strict=True)])
        value = torch.tensor([branch.value for branch in branches]).clamp_max(settings.content)
        idle = torch.tensor([float(branch.origin == "pause") for branch in branches])
        price = max(request.caution, settings.boldness)
        return (
            worth(paths, progress, root[:, 2], settings.climb)
            - settings.pace * taken / self._stage.follower.trained.contract.control_hz
            + price * (settings.safety * survived / steps + settings.value * value)
            - off
            - settings.drift * drift
            - settings.idle * idle
        )


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


def _lowest(paths: PathBatch, progress: Tensor) -> Tensor:
    """[K] m, the lowest level of the paths within `NEARBY` of where bodies are."""
    around = torch.linspace(-NEARBY, NEARBY, 9)
    return torch.stack([paths.position(progress + step)[:, 2] for step in around]).amin(0)


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


def spread_out(branches: Sequence[Branch], scores: Sequence[float], count: int) -> list[int]:
    """Rows of the `count` best, the best first, but no more than half of them of one parent while others have any.

    Safe pauses are kept besides.
    """
    order = sorted(range(len(branches)), key=lambda k: -scores[k])
    most = -(-count // 2)
    taken: list[int] = []
    for k in order:
        if sum(branches[other].parent is branches[k].parent for other in taken) < most:
            taken.append(k)
    rest = [k for k in order if k not in taken]
    chosen = [*taken, *rest][:count]
    pauses = [k for k in order if k not in chosen and branches[k].origin == "pause" and branches[k].is_safe]
    return sorted([*chosen, *pauses], key=lambda k: -scores[k])


def _branch(
    trial: Rehearsal, row: int, end: int, origin: Origin | None = None, parent: Branch | None = None, first: int = 0
) -> Branch:
    states = trial.states.row(row)
    survived, value = int(trial.survived[row]), float(trial.value[row])
    reference = trial.reference.row(row)
    return Branch(
        states, trial.error[row], trial.drift[row], reference, first, end, survived, value, origin=origin, parent=parent
    )
