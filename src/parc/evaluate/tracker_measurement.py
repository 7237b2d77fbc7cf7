"""The tracker on clips: the paper's Table 2 protocol, with trials that say how much of a success is luck.

*Success*: the clip is tracked from its first frame to within two frames of its end, with the mean action, without noise,
under the terminations of training. Further trials begin with the training's start noise. *Joint tracking error*: the
distance of the bodies from the reference's, root-relative, mean over bodies, then over the steps of an episode until it
ends or the pose is lost, then over episodes from random frames (the paper: 2048 a clip), then over clips. Nothing is
screened: a clip that cannot be tracked is a failure.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from parc.dataset.clip import Clip
from parc.errors import SettingsError
from parc.track.follow.outcome import END_SLACK
from parc.track.follow.runner import Episodes, Runner
from parc.track.follow.trace import Trace

SHORTEST = END_SLACK + 2
"""frames of a clip that can be tracked at all"""


@dataclass(frozen=True)
class TrackerTest:
    """How a tracker is measured."""

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
    """How one motion was tracked."""

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


def evaluate_tracker(
    runner: Runner,
    clips: Sequence[Clip],
    test: TrackerTest = TrackerTest(),
    group: int = 0,
    on_step: Callable[[], object] | None = None,
) -> list[ClipResult]:
    """Clips of one group, in order; random numbers are drawn from SeedSequence([seed, group])."""
    long_enough = [clip for clip in clips if len(clip.motion) >= SHORTEST]
    found: list[ClipResult] = []
    if long_enough:
        library = runner.library(long_enough)
        lengths = library.length.tolist()
        trace = runner.run(library, _episodes(lengths, test, group), seed=test.seed + group, on_step=on_step)
        found = _results(long_enough, lengths, trace, test)
    tracked = iter(found)
    return [_untracked(clip, test) if len(clip.motion) < SHORTEST else next(tracked) for clip in clips]


def _episodes(lengths: list[int], test: TrackerTest, group: int) -> Episodes:
    """Clip by clip: its trials, then its random starts."""
    rng = np.random.default_rng(np.random.SeedSequence([test.seed, group]))
    each = test.trials + test.episodes
    noisy = torch.zeros(len(lengths), each, dtype=torch.bool)
    noisy[:, 1 : test.trials] = True
    start = [[0] * test.trials + rng.integers(0, length - 1, test.episodes).tolist() for length in lengths]
    clip = torch.arange(len(lengths)).repeat_interleave(each)
    return Episodes(clip, torch.tensor(start, dtype=torch.long).flatten(), noisy.flatten())


def _results(clips: list[Clip], lengths: list[int], trace: Trace, test: TrackerTest) -> list[ClipResult]:
    each = test.trials + test.episodes
    results = []
    for c, clip in enumerate(clips):
        mine = slice(c * each, (c + 1) * each)
        reached, error = trace.reached_end[mine][: test.trials].tolist(), trace.mean_error[mine]
        results.append(
            ClipResult(
                name=clip.name,
                skill=clip.provenance.skill,
                seconds=clip.motion.duration,
                success=reached[0],
                noisy=tuple(reached[1:]),
                tracked=float(trace.survived[mine][0]) / (lengths[c] - 1),
                first_error=float(error[0]),
                joint_error=float(error[test.trials :].nanmean()),
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
