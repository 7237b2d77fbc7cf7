"""What to do next: motions from the generator, tried out in simulation before one of them is chosen.

A plan is asked for at control step t and is due at t + delay. Physics repeats itself, so where the body will be when the plan is
due can be had exactly, by simulating the plan in use that far ahead: the new plan continues from there, and the time it
takes to make costs nothing but foresight.

    t ---- simulate ahead ----> t + delay ---- K motions of `frames` ----> rehearse each ----> the best

One motion in three continues the plan in use at that frame, the others continue the simulated body. A plan continued from itself
has no seam, and is best while it is tracked well; one continued from the simulation starts where the body is. The rehearsal
decides.
"""

import time
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import torch
from torch import Tensor

from parc.errors import SettingsError
from parc.generate.frame import FrameState
from parc.generate.generator import Generator
from parc.generate.rollout import PathRunner, RolloutSettings
from parc.live.follower import Follower, Reference, Snapshot
from parc.path.follow import PathBatch
from parc.path.path import TerrainPath
from parc.terrain.terrain import Terrain, TerrainBatch
from parc.track.policy import TrainedActor


@dataclass(frozen=True)
class PlannerSettings:
    candidates: int = 3
    """motions of which the best is chosen"""
    frames: int = 39
    """control steps planned ahead; the tracker looks 30 ahead"""
    from_plan: float = 0.34
    """share of the motions that continue the plan in use instead of the simulated body"""
    rehearse: int = 30
    """control steps each motion is tried out in simulation; 0: the first one is taken untried"""
    safety: float = 10.0
    """m of progress that a rehearsal tracked to its end outweighs one lost at once"""
    boldness: float = 2.0
    """m, the same for a character that makes no headway"""
    error_weight: float = 0.3
    """m of progress that a mean tracking error of 1 m outweighs; larger makes it stand still, for that is tracked best"""
    rollout: RolloutSettings = field(default_factory=lambda: RolloutSettings(keep=13))
    """whole windows are kept: plans must be made in real time"""

    def __post_init__(self) -> None:
        if self.candidates < 1 or self.frames < 2 or self.rehearse < 0:
            raise SettingsError(
                f"{self.candidates} candidates of {self.frames} frames, {self.rehearse} rehearsed: expected at least 1, 2 and 0"
            )
        if not 0 <= self.from_plan <= 1:
            raise SettingsError(f"the share of motions from the plan is {self.from_plan}, expected 0 to 1")


class Request(NamedTuple):
    terrain: Terrain
    path: TerrainPath
    progress: float
    """m along the path"""
    state: Snapshot | None
    """of the body when the plan is asked for; None: out of nothing, at the beginning of the path"""
    reference: Reference | None
    """the plan in use"""
    frame: int
    """of the plan in use, that the body should be at"""
    delay: int
    """control steps until the new plan is due"""
    is_stuck: bool = False
    """it makes no headway, so that a risk is worth taking"""


class Plan(NamedTuple):
    reference: Reference
    """one; its frame 0 is the moment the plan is due"""
    state: Snapshot
    """the body expected at that moment"""
    safe: bool
    """its rehearsal was tracked to the end"""
    score: float
    from_plan: bool
    seconds: float
    """s it took"""


class Planner:
    """Motions for one character; keeps worlds to rehearse in."""

    def __init__(self, generator: Generator, trained: TrainedActor, terrain: Terrain, settings: PlannerSettings) -> None:
        if settings.rollout.keep > generator.settings.future:
            settings = replace(settings, rollout=replace(settings.rollout, keep=generator.settings.future))
        self.generator, self.settings = generator, settings
        self._ahead = Follower(trained, terrain)
        self._stage = Follower(trained, terrain, settings.candidates, threads=2)
        self._terrain = terrain
        self._runner: PathRunner | None = None
        self._path: TerrainPath | None = None

    @torch.no_grad()
    def plan(self, request: Request, random: torch.Generator) -> Plan:
        began = time.perf_counter()
        self._prepare(request)
        count = self.settings.candidates
        continued = 0
        if request.state is None:
            reference = self._motions(request, None, random)
            hz = self._stage.trained.contract.control_hz
            states = [reference.start(self._stage.character, k, hz) for k in range(count)]
        else:
            state = self._look_ahead(request)
            past, continued = self._pasts(request, state)
            reference = self._motions(request, past, random)
            states = [state] * count
        survived, score = self._rehearse(request, reference, states)
        best = int(score.argmax())
        return Plan(
            reference.row(best), states[best], bool(survived[best] >= self.settings.rehearse), float(score[best]),
            best < continued, time.perf_counter() - began,
        )  # fmt: skip

    def _prepare(self, request: Request) -> None:
        if request.terrain is not self._terrain:
            self._terrain, self._runner = request.terrain, None
            self._ahead.set_terrain(request.terrain)
            self._stage.set_terrain(request.terrain)
        if self._runner is None or request.path is not self._path:
            self._path = request.path
            ground, path = TerrainBatch.stack([request.terrain]), PathBatch.stack([request.path])
            settings = self.settings
            self._runner = PathRunner(self.generator, ground, path, settings.candidates, settings.rollout, use_graph=False)

    def _look_ahead(self, request: Request) -> Snapshot:
        assert request.state is not None and request.reference is not None
        self._ahead.put(request.state)
        self._ahead.follow(request.reference, request.frame)
        for _ in range(request.delay):
            self._ahead.step()
        return self._ahead.snapshot()

    def _pasts(self, request: Request, state: Snapshot) -> tuple[FrameState, int]:
        """Past frames [K, 2, ...], the first few of them from the plan in use, and how many these are."""
        assert request.reference is not None
        count, simulated = self.settings.candidates, state.frames(self._stage.character)
        continued = round(self.settings.from_plan * count)
        last = min(request.frame + request.delay, len(request.reference) - 1)
        if last < 1 or request.frame + request.delay >= len(request.reference):
            continued = 0
        own = [continued, count - continued]
        device = self.generator.device
        parts = []
        for planned, real in zip(request.reference.frames, simulated, strict=True):
            pair = planned[0, last - 1 : last + 1] if continued else real
            parts.append(torch.cat([x.expand(n, *x.shape) for x, n in zip((pair, real), own, strict=True)]).to(device))
        return FrameState(*parts), continued

    def _motions(self, request: Request, past: FrameState | None, random: torch.Generator) -> Reference:
        """K motions; frame 0 is the last past frame, or the first of all where there is none."""
        runner, settings = self._runner, self.settings
        assert runner is not None
        runner.reset(past, random)
        runner.progress.fill_(request.progress)
        windows: list[FrameState] = [] if past is None else [past.narrow(1, 1)]
        have = len(windows)
        while have < settings.frames:
            windows.append(FrameState(*(part.clone() for part in runner.step(random))))
            have += settings.rollout.keep
        frames = FrameState(*(torch.cat(parts, 1)[:, : settings.frames].cpu() for parts in zip(*windows, strict=True)))
        return Reference.of(self._stage.character, frames)

    def _rehearse(self, request: Request, reference: Reference, states: list[Snapshot]) -> tuple[Tensor, Tensor]:
        """Control steps [K] each motion is tracked, and how good it is [K]: every step survived, then progress and closeness."""
        settings, stage, runner = self.settings, self._stage, self._runner
        assert runner is not None
        survived = torch.zeros(settings.candidates)
        if settings.rehearse == 0 or settings.candidates == 1:
            return survived + settings.rehearse, -torch.arange(settings.candidates, dtype=torch.float32)
        stage.put(*states)
        stage.follow(reference)
        alive = torch.ones(settings.candidates, dtype=torch.bool)
        error = torch.zeros(settings.candidates)
        where = stage.world.body_pos[:, 0, :2].clone()
        for _ in range(settings.rehearse):
            stage.step()
            tracking = stage.tracking()
            alive = alive & ~tracking.lost
            if not bool(alive.any()):
                break
            survived += alive
            error += torch.where(alive, tracking.error + tracking.root, 0.0)
            where = torch.where(alive[:, None], stage.world.body_pos[:, 0, :2], where)
        start = torch.full((settings.candidates,), float(request.progress))
        gained = runner.paths.advance(start.to(runner.progress.device), where.to(runner.progress.device), 4.0).cpu() - start
        safety = settings.boldness if request.is_stuck else settings.safety
        score = survived / settings.rehearse * safety + gained - settings.error_weight * error / survived.clamp_min(1)
        return survived, score
