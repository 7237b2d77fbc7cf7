"""How well a policy tracks: each clip from its first frame, with the mean action, under the training's own terminations.

A clip is a success if it is tracked to within two frames of its end. The joint error is the mean over bodies of the distance
from the reference, root-relative, averaged over the steps tracked, then over clips. Further trials of each clip begin with the
training's start noise, which says how much of a success is luck; unless told how many, as many as there are worlds left over.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from parc.track.env.track_env import TrackEnv
from parc.track.follow.runner import Episodes, run_episodes


@dataclass(frozen=True)
class ClipScore:
    name: str
    success: bool
    joint_error: float
    """m"""
    tracked: float
    """share of the clip's frames before the first failure"""
    noisy_success: float | None
    """share of the noisy starts that succeeded; None if there were none"""
    trials: int = 0
    """noisy starts"""


@dataclass(frozen=True)
class Evaluation:
    clips: tuple[ClipScore, ...]

    @property
    def success(self) -> float:
        return _mean([float(c.success) for c in self.clips])

    @property
    def joint_error(self) -> float:
        return _mean([c.joint_error for c in self.clips])

    @property
    def tracked(self) -> float:
        return _mean([c.tracked for c in self.clips])

    @property
    def noisy_success(self) -> float | None:
        values = [c.noisy_success for c in self.clips if c.noisy_success is not None]
        return _mean(values) if values else None


@torch.no_grad()
def evaluate(env: TrackEnv, actor: Callable[[Tensor], Tensor], trials: int | None = None) -> Evaluation:
    """`trials` noisy ones of each clip beside the one without noise; None: those that fit into the worlds.

    Takes over the environment's worlds; call `env.restart_all` before training goes on.
    """
    clips = env.library.num_clips
    if trials is None:
        trials = max(0, env.num_worlds // clips - 1)
    runs = torch.arange(clips * (trials + 1))
    clip, noisy = runs % clips, runs >= clips
    length = env.library.length.cpu()
    trace = run_episodes(env, actor, Episodes(clip, torch.zeros_like(clip), noisy))
    share = trace.steps / (length[clip] - 1).clamp_min(1)
    lost = env.settings.termination.body_distance
    columns = (trace.reached_end.float(), trace.error.nan_to_num(lost), share)
    rows = torch.stack(columns, -1).view(trials + 1, clips, 3)
    shaken = rows[1:, :, 0].mean(0).tolist() if trials else [None] * clips
    success, error, tracked = rows[0].unbind(-1)
    results = zip(env.library.names, (success > 0.5).tolist(), error.tolist(), tracked.tolist(), shaken, strict=True)
    return Evaluation(tuple(ClipScore(*result, trials) for result in results))


def _mean(values: list[float]) -> float:
    return sum(values) / max(len(values), 1)
