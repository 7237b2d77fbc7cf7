"""The tracker on clips: the paper's Table 2 protocol, with trials that say how much of a success is luck.

*Success*: the clip is tracked from its first frame to within two frames of its end, with the mean action, without noise,
under the terminations of training. Further trials begin with the training's start noise. *Joint tracking error*: the
distance of the bodies from the reference's, root-relative, mean over bodies, then over the steps of an episode until it
ends or the pose is lost, then over episodes from random frames (the paper: 2048 a clip), then over clips. Nothing is
screened: a clip that cannot be tracked is a failure.
"""

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from parc.dataset.clip import Clip
from parc.errors import SettingsError
from parc.record.attempt import Simulator
from parc.track.env import TrackEnv
from parc.track.evaluate import END_SLACK
from parc.track.reference import ReferenceLibrary, ReferenceSettings, build_library
from parc.track.screen import ScreenSettings

SHORTEST = END_SLACK + 2
"""frames of a clip that can be tracked at all"""
_LOOK_EVERY = 32
"""control steps between looks at whether all episodes are over (each waits for the device)"""


@dataclass(frozen=True)
class TrackerTest:
    trials: int = 4
    """runs of each clip from its first frame: one without noise, which decides, and others with the training's start noise"""
    episodes: int = 32
    """runs of each clip from random frames, for the joint error (paper: 2048)"""
    seed: int = 1

    def __post_init__(self) -> None:
        if self.trials < 1 or self.episodes < 1:
            raise SettingsError(f"{self.trials} trials and {self.episodes} episodes were asked for, expected at least 1 of each")


@dataclass(frozen=True)
class ClipResult:
    name: str
    skill: str
    seconds: float
    success: bool
    """from the first frame, without noise"""
    noisy: tuple[bool, ...]
    """the same with start noise"""
    tracked: float
    """share of the clip until the pose was lost, without noise"""
    first_error: float
    """m, joint error of that run"""
    joint_error: float
    """m, mean over the episodes from random frames; NaN if all were lost at once"""


@torch.no_grad()
def evaluate_tracker(
    simulator: Simulator,
    clips: Sequence[Clip],
    test: TrackerTest = TrackerTest(),
    group: int = 0,
    on_step: Callable[[], object] | None = None,
) -> list[ClipResult]:
    """Clips of one group, in order; random numbers are drawn from SeedSequence([seed, group])."""
    long_enough = [clip for clip in clips if len(clip.motion) >= SHORTEST]
    found: list[ClipResult] = []
    if long_enough:
        unscreened = ReferenceSettings(ScreenSettings(enabled=False))
        library = build_library(simulator.trained.character, long_enough, unscreened, simulator.device, simulator.fps)
        runs = _runs(library.length.tolist(), test, group)
        steps, error = run_episodes(simulator, library, runs, test.seed + group, on_step)
        found = _results(long_enough, library.length.tolist(), runs, steps, error, test)
    tracked = iter(found)
    return [_untracked(clip, test) if len(clip.motion) < SHORTEST else next(tracked) for clip in clips]


@dataclass(frozen=True)
class Runs:
    """R episodes, clip by clip: its trials, then its random starts."""

    clip: list[int]
    start: list[int]
    noisy: list[bool]


def _runs(lengths: list[int], test: TrackerTest, group: int) -> Runs:
    rng = np.random.default_rng(np.random.SeedSequence([test.seed, group]))
    clip: list[int] = []
    start: list[int] = []
    noisy: list[bool] = []
    for c, length in enumerate(lengths):
        clip += [c] * (test.trials + test.episodes)
        start += [0] * test.trials + rng.integers(0, length - 1, test.episodes).tolist()
        noisy += [False] + [True] * (test.trials - 1) + [False] * test.episodes
    return Runs(clip, start, noisy)


def run_episodes(
    simulator: Simulator, library: ReferenceLibrary, runs: Runs, seed: int = 0, on_step: Callable[[], object] | None = None
) -> tuple[Tensor, Tensor]:
    """Steps tracked [R] and the mean joint error over them [R] (NaN where there were none), many episodes side by side."""
    clip, start = torch.tensor(runs.clip), torch.tensor(runs.start)
    left = library.length.cpu()[clip] - 1 - start
    order = torch.argsort(left, descending=True, stable=True)
    world = simulator.world_for(len(order), library.bank.cell)
    steps, error = torch.zeros(len(order), dtype=torch.long), torch.zeros(len(order))
    with getattr(world, "on_stream", nullcontext)():
        generator = torch.Generator(device=world.device).manual_seed(seed)
        env = TrackEnv(world, library, simulator.trained.settings, generator, rewards=False)
        for first in range(0, len(order), world.num_worlds):
            part = order[first : first + world.num_worlds]
            places = part[torch.arange(world.num_worlds) % len(part)]
            noisy = torch.tensor([runs.noisy[i] for i in places.tolist()])
            ends = _run_part(simulator, env, clip[places], start[places], noisy, int(left[part].max()), on_step)
            steps[part], error[part] = (column[: len(part)].cpu() for column in ends)
    return steps, error


def _run_part(
    simulator: Simulator,
    env: TrackEnv,
    clip: Tensor,
    start: Tensor,
    noisy: Tensor,
    longest: int,
    on_step: Callable[[], object] | None,
) -> tuple[Tensor, Tensor]:
    device = env.world.device
    env.begin(clip.to(device), start.to(device), noisy.to(device))
    alive = torch.ones(len(clip), dtype=torch.bool, device=device)
    steps, total = torch.zeros(len(clip), dtype=torch.long, device=device), torch.zeros(len(clip), device=device)
    for step in range(longest):
        if step % _LOOK_EVERY == 0 and not bool(alive.any()):
            break
        env.step(simulator.act(env.observation))
        alive = alive & ~env.failed
        steps += alive
        total += env.error * alive
        alive = alive & ~env.at_end
        if on_step is not None:
            on_step()
    return steps, torch.where(steps > 0, total / steps.clamp_min(1), torch.nan)


def _results(
    clips: list[Clip], lengths: list[int], runs: Runs, steps: Tensor, error: Tensor, test: TrackerTest
) -> list[ClipResult]:
    each = test.trials + test.episodes
    results = []
    for c, clip in enumerate(clips):
        mine = slice(c * each, (c + 1) * each)
        reached = (steps[mine][: test.trials] >= lengths[c] - 1 - END_SLACK).tolist()
        results.append(
            ClipResult(
                name=clip.name,
                skill=clip.provenance.skill,
                seconds=clip.motion.duration,
                success=reached[0],
                noisy=tuple(reached[1:]),
                tracked=float(steps[mine][0]) / (lengths[c] - 1),
                first_error=float(error[mine][0]),
                joint_error=float(error[mine][test.trials :].nanmean()),
            )
        )
    return results


def _untracked(clip: Clip, test: TrackerTest) -> ClipResult:
    failed = (False,) * (test.trials - 1)
    return ClipResult(clip.name, clip.provenance.skill, clip.motion.duration, False, failed, 0.0, math.nan, math.nan)


def summarise_tracker(results: Sequence[ClipResult]) -> dict[str, float | int | list[float]]:
    """Success in % with its standard error, that of each noisy trial, tracked share in %, joint error in m."""
    count = len(results)
    success = np.array([r.success for r in results], float)
    errors = np.array([r.joint_error for r in results], float)
    errors = errors[~np.isnan(errors)]
    trials = len(results[0].noisy) if results else 0
    return {
        "clips": count,
        "success": 100 * float(success.mean()) if count else math.nan,
        "success_error": 100 * math.sqrt(success.mean() * (1 - success.mean()) / count) if count else math.nan,
        "success_noisy": [100 * sum(r.noisy[k] for r in results) / count for k in range(trials)],
        "tracked": 100 * sum(r.tracked for r in results) / count if count else math.nan,
        "joint_error": float(errors.mean()) if len(errors) else math.nan,
        "joint_error_error": float(errors.std(ddof=1) / math.sqrt(len(errors))) if len(errors) > 1 else math.nan,
    }


def by_skill(results: Sequence[ClipResult]) -> dict[str, dict[str, float | int | list[float]]]:
    """`summarise_tracker` of each skill, in alphabetical order."""
    skills = sorted({r.skill or "unnamed" for r in results})
    return {s: summarise_tracker([r for r in results if (r.skill or "unnamed") == s]) for s in skills}
