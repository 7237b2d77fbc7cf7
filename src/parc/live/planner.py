"""What to do next: motions from the generator, tried out in simulation before one of them is chosen.

One round grows the tree of simulated futures (`parc.live.branch`) by a stretch:

    leaves --write `candidates` motions--> follow each in simulation for `rehearse` steps --keep the `beam` best--> new leaves

Every leaf has taken `commit` steps of its motion; that it was followed for `rehearse` steps says that there is more where it
leads. The bodies that fared best go on, and which of them the character becomes is left open for as long as the tree is deep.

Which candidate survives is mostly a matter of the state it begins in, and of chance: of two motions written after the same
state, none of penetration, jerk, contacts or the tracker's value tells the better one in more than 58 of 100 cases. Hence
nothing is chosen unsimulated, and what is kept is judged by the tracker's value of the state it leads to.
"""

import threading
import time
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import torch
from torch import Tensor

from parc.errors import SettingsError
from parc.generate.generator import Generator
from parc.generate.rollout import RolloutSettings
from parc.live.branch import Branch, Origin
from parc.live.follower import Reference, Snapshot
from parc.live.stage import Ground, Stage, Trial
from parc.live.steer import NEARBY
from parc.path.follow import PathBatch
from parc.terrain.terrain import Terrain
from parc.track.policy import TrainedActor
from parc.traverse.arrive import STANDING
from parc.traverse.critic import Critic


@dataclass(frozen=True)
class PlannerSettings:
    candidates: int = 7
    """motions written and followed in a round"""
    beam: int = 3
    """bodies that go on after a round"""
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
    drift: float = 0.5
    """m of progress that a metre between root and reference costs"""
    off_path: float = 1.0
    """m of progress that a metre beside, above or below the path costs, beyond `corridor`"""
    pit: float = 3.0
    """m of progress that a metre below all of the path nearby costs, beyond `corridor`: from down there no way leads on"""
    off_map: float = 3.0
    """m of progress that a metre beyond the edge of the terrain costs"""
    corridor: float = 0.5
    """m beside the path, and above and below standing height over it, that are free"""
    rollout: RolloutSettings = field(default_factory=lambda: RolloutSettings(keep=13))
    """whole windows are kept: plans must be made in real time"""

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
    reference: Reference
    frame: int
    """of the reference, that the body should be at"""
    steps: int
    """control steps until the plan is due"""


class Request(NamedTuple):
    ground: Ground
    leaves: tuple[Branch, ...] = ()
    """to grow from; none and no start: out of nothing, at the beginning of the path"""
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
    """the best first"""
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
        self._alone = Stage(generator, trained, critic, terrain, 1, settings.rollout)
        self._stage = Stage(generator, trained, critic, terrain, settings.candidates, settings.rollout)

    @torch.no_grad()
    def plan(self, request: Request, random: torch.Generator) -> Plan:
        began = time.perf_counter()
        leaves = request.leaves
        if request.start is not None:
            leaves = (self._look_ahead(request.ground, request.start),)
        found = self._try(request, leaves, random)
        found.sort(key=lambda branch: -branch.score)
        return Plan(tuple(spread(found, self.settings.beam)), time.perf_counter() - began)

    def _look_ahead(self, ground: Ground, start: Start) -> Branch:
        """What the body does on its own until the plan is due."""
        trial = self._alone.follow(ground.terrain, [start.state], start.reference, max(start.steps, 1), 0, first=start.frame)
        return _branch(trial, 0, start.steps, 0.0, first=start.frame)

    def _try(self, request: Request, leaves: tuple[Branch, ...], random: torch.Generator) -> list[Branch]:
        settings, stage, ground = self.settings, self._stage, request.ground
        character, count = stage.follower.character, settings.candidates
        if leaves:
            parents = [leaves[k % len(leaves)] for k in range(count)]
            frames = stage.write(ground, parents, self._origins, settings.frames, random, request.is_wanted)
            reference = Reference.of(character, frames)
            states = [parent.last for parent in parents]
        else:
            reference = Reference.of(character, stage.begin(ground, count, settings.frames, random))
            hz = stage.follower.trained.contract.control_hz
            states = [reference.start(character, k, hz) for k in range(count)]
        trial = stage.follow(ground.terrain, states, reference, settings.rehearse, request.commit, request.is_wanted)
        score = self._score(request, trial)
        if not leaves:
            return [_branch(trial, k, request.commit, float(score[k])) for k in range(count)]
        rows = enumerate(zip(parents, self._origins, strict=True))
        return [_branch(trial, k, request.commit, float(score[k]), origin, parent) for k, (parent, origin) in rows]

    def _score(self, request: Request, trial: Trial) -> Tensor:
        """[K], m of progress, higher is better."""
        settings, ground = self.settings, request.ground
        steps = trial.error.shape[1]
        good = torch.where(trial.survived >= steps, steps, (trial.survived - settings.margin).clamp_min(0))
        row = torch.arange(len(good))
        root = trial.states.qpos[row, good, :3]
        paths = PathBatch.stack([ground.path]).select(torch.zeros_like(row))
        progress = Stage.progress(paths, ground, root[:, :2])
        on_path = paths.position(progress)
        aside = (root[:, :2] - on_path[:, :2]).norm(dim=-1)
        above = (root[:, 2] - on_path[:, 2] - STANDING).abs()
        off = settings.off_path * ((aside - settings.corridor).clamp_min(0) + (above - settings.corridor).clamp_min(0))
        off = off + settings.pit * (_lowest(paths, progress) + STANDING - root[:, 2] - settings.corridor).clamp_min(0)
        low, high = ground.terrain.extent
        beyond = torch.maximum(low - root[:, :2], root[:, :2] - high).clamp_min(0).norm(dim=-1)
        off = off + settings.off_map * beyond
        price = max(request.caution, settings.boldness)
        score = progress - ground.progress + price * settings.safety * trial.survived / steps - off
        score = score - settings.drift * trial.drift[row, (good - 1).clamp_min(0)]
        return score + price * settings.value * trial.value


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


def spread(branches: list[Branch], count: int) -> list[Branch]:
    """The first `count`, but no more than half of them of one parent while others have any."""
    most = -(-count // 2)
    taken: list[Branch] = []
    for branch in branches:
        if sum(other.parent is branch.parent for other in taken) < most:
            taken.append(branch)
    rest = [branch for branch in branches if not any(branch is other for other in taken)]
    return sorted([*taken, *rest][:count], key=lambda branch: -branch.score)


def _branch(
    trial: Trial, row: int, end: int, score: float, origin: Origin | None = None, parent: Branch | None = None, first: int = 0
) -> Branch:
    states = Snapshot(*(part[row] for part in trial.states))
    survived = int(trial.survived[row])
    return Branch(states, trial.error[row], trial.reference.row(row), first, end, survived, score, origin, parent)
