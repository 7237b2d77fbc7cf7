"""How well a policy tracks: each clip from its first frame, with the mean action, under the training's own terminations.

A clip is a success if it is tracked to within two frames of its end. The joint error is the mean over bodies of the distance
from the reference, root-relative, averaged over the steps tracked, then over clips. Further trials of each clip begin with the
training's start noise, which says how much of a success is luck; unless told how many, as many as there are worlds left over.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from parc.track.env import TrackEnv

END_SLACK = 2
"""frames at the end of a clip that need not be tracked"""
_LOOK_EVERY = 32
"""control steps between looks at whether all worlds are done (each waits for the device)"""


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
    clips, worlds = env.library.num_clips, env.num_worlds
    if trials is None:
        trials = max(0, worlds // clips - 1)
    runs = torch.arange(clips * (trials + 1))
    clip, noisy = runs % clips, runs >= clips
    longest_first = torch.argsort(env.library.length.cpu()[clip], descending=True, stable=True)
    rows = torch.zeros(len(runs), 3)
    for part in longest_first.split(worlds):
        rows[part] = _run(env, actor, clip[part], noisy[part])
    rows = rows.view(trials + 1, clips, 3)
    shaken = rows[1:, :, 0].mean(0).tolist() if trials else [None] * clips
    success, error, tracked = rows[0].unbind(-1)
    results = zip(env.library.names, (success > 0.5).tolist(), error.tolist(), tracked.tolist(), shaken, strict=True)
    return Evaluation(tuple(ClipScore(*result, trials) for result in results))


def _run(env: TrackEnv, actor: Callable[[Tensor], Tensor], clip: Tensor, noisy: Tensor) -> Tensor:
    """Success, joint error and tracked share [R, 3] of R runs, on the CPU; R at most the number of worlds."""
    device, count = env.world.device, len(clip)
    place = torch.arange(env.num_worlds, device=device) % count
    clip, noisy = clip.to(device)[place], noisy.to(device)[place]
    env.begin(clip, torch.zeros_like(clip), noisy)
    length = env.library.length[clip]
    alive = torch.arange(env.num_worlds, device=device) < count
    tracked, error = torch.zeros_like(clip), torch.zeros(env.num_worlds, device=device)
    for step in range(int(length.max()) - 1):
        if step % _LOOK_EVERY == 0 and not bool(alive.any()):
            break
        env.world.idle.copy_(~alive)
        env.step(actor(env.observation))
        good = alive & ~env.failed
        tracked += good
        error += env.error * good
        alive = good & ~env.at_end
    success = tracked >= length - 1 - END_SLACK
    share = tracked / (length - 1).clamp_min(1)
    error = torch.where(tracked > 0, error / tracked.clamp_min(1), env.settings.termination.body_distance)
    return torch.stack([success.float(), error, share], -1)[:count].cpu()


def _mean(values: list[float]) -> float:
    return sum(values) / max(len(values), 1)
