"""The paper's way across: the whole motion is planned first, then followed in simulation, without looking back.

Of a batch of motions along the whole path the best is chosen (`parc.correct.select_candidates`), corrected, and tracked from its
first frame. A try that fails is forgotten, and the next begins with other noise. This is what `parc.plan.offline_search` is
measured against.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from parc.character.posture import size_of
from parc.correct.correct_motions import OptimiseSettings, optimise
from parc.correct.select_candidates import SelectSettings, select
from parc.dataset.clip import Clip
from parc.generate.model.motion_generator import Generator
from parc.generate.rollout.path_rollout import RolloutSettings, roll_out
from parc.metrics.clip_batch import ClipBatch
from parc.motion.frame_state import FrameState
from parc.path.path_batch import PathBatch
from parc.path.terrain_path import TerrainPath
from parc.plan.future_tree import Branch
from parc.plan.offline_retries import SearchResult
from parc.plan.path_progress import at_goal, walk
from parc.plan.rehearsal_stage import RehearsalStage
from parc.terrain.terrain import Terrain


@dataclass(frozen=True)
class PlainSettings:
    """The paper's way."""

    candidates: int = 16
    """motions of which the best is tracked"""
    rollout: RolloutSettings = field(default_factory=lambda: RolloutSettings(seconds=20.0, slowest=0.5))
    select: SelectSettings = field(default_factory=SelectSettings)
    optimise: OptimiseSettings | None = field(default_factory=lambda: OptimiseSettings(iterations=200))
    """None: no kinematic correction"""
    radius: float = 0.5
    """m from the goal to the root that count as arrived"""
    seconds: float = 120.0
    """of wall time after which no new try begins"""


def run_plain(
    generator: Generator,
    stage: RehearsalStage,
    terrain: Terrain,
    path: TerrainPath,
    settings: PlainSettings,
    random: torch.Generator,
    tries: int,
    on_round: Callable[[int, int, float], object] | None = None,
) -> SearchResult:
    """`stage` has one body."""
    best: Branch | None = None
    began, simulated, survival, attempt = time.monotonic(), 0, 0.0, 0
    while attempt < tries and (attempt == 0 or time.monotonic() - began < settings.seconds):
        attempt += 1
        seed = int(torch.randint(2**31, (), generator=random, device=random.device))
        body, reached, steps, share = _attempt(generator, stage, terrain, path, settings, seed)
        simulated, survival = simulated + steps, survival + share
        best = body if best is None or reached or body.progress > best.progress else best
        if on_round is not None:
            on_round(attempt, attempt, path.length - best.progress)
        if reached:
            return SearchResult(best, True, 0.0, attempt, attempt, simulated, survival / attempt)
    left = path.length - (best.progress if best is not None else 0.0)
    return SearchResult(best, False, left, attempt, attempt, simulated, survival / attempt)


def _attempt(
    generator: Generator, stage: RehearsalStage, terrain: Terrain, path: TerrainPath, settings: PlainSettings, seed: int
) -> tuple[Branch, bool, int, float]:
    character, device = generator.character, generator.device
    rollouts = roll_out(generator, [terrain], [path], settings.candidates, settings.rollout, seed)
    clips = [Clip(f"{k}", motion, terrain, path) for k, motion in enumerate(rollouts.motions())]
    chosen = select(ClipBatch.stack(clips, character, device), rollouts.reached, settings.select)
    (row,) = chosen.best(torch.zeros(len(clips), dtype=torch.long))[0]
    clip = clips[row]
    if settings.optimise is not None:
        (clip,) = optimise([clip], character, settings.optimise, device)
    frames = FrameState.stack([FrameState.of_motion(clip.motion)]).to(device)
    steps = max(len(clip.motion) - 1, 1)
    tried = stage.rehearse(terrain, [], frames, steps)
    trace = tried.trace
    along = PathBatch.stack([path], device=device)
    size = size_of(generator.character)
    walked = walk(along, along.start(), trace.root_pos, size)
    good = int(trace.survived[0])
    there = at_goal(along, trace.root_pos, walked, settings.radius, size)[0, : good + 1]
    return tried.branch(0, good, progress=float(walked[0, good])), bool(there.any()), steps, good / steps
