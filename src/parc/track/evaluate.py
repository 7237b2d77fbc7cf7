"""How well a policy tracks: each clip from its first frame, with the mean action, under the training's own terminations.

A clip is a success if it is tracked to within two frames of its end. The joint error is the mean over bodies of the distance
from the reference, root-relative, averaged over the steps tracked, then over clips. Worlds left over repeat the clips with the
training's start noise, which says how much of a success is luck.
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
def evaluate(env: TrackEnv, actor: Callable[[Tensor], Tensor]) -> Evaluation:
    """Takes over the environment's worlds; call `env.restart_all` before training goes on."""
    clips, worlds = env.library.num_clips, env.num_worlds
    longest_first = torch.argsort(env.library.length, descending=True).tolist()
    scores: list[ClipScore | None] = [None] * clips
    for start in range(0, clips, worlds):
        chunk = longest_first[start : start + worlds]
        for index, score in zip(chunk, _evaluate_chunk(env, actor, chunk), strict=True):
            scores[index] = score
    return Evaluation(tuple(s for s in scores if s is not None))


def _evaluate_chunk(env: TrackEnv, actor: Callable[[Tensor], Tensor], chunk: list[int]) -> list[ClipScore]:
    device = env.world.device
    place = torch.arange(env.num_worlds, device=device) % len(chunk)
    clip = torch.tensor(chunk, device=device)[place]
    noisy = torch.arange(env.num_worlds, device=device) >= len(chunk)
    env.begin(clip, torch.zeros_like(clip), noisy)
    length = env.library.length[clip]
    alive = torch.ones_like(noisy)
    tracked, error = torch.zeros_like(clip), torch.zeros(env.num_worlds, device=device)
    for step in range(int(length.max()) - 1):
        if step % _LOOK_EVERY == 0 and not bool(alive.any()):
            break
        env.step(actor(env.observation))
        good = alive & ~env.failed
        tracked += good
        error += env.error * good
        alive = good & ~env.at_end
    success = tracked >= length - 1 - END_SLACK
    share = tracked / (length - 1).clamp_min(1)
    error = torch.where(tracked > 0, error / tracked.clamp_min(1), env.settings.termination.body_distance)
    rows = torch.stack([success.float(), error, share], -1).cpu()
    scores = []
    for k, index in enumerate(chunk):
        repeats = rows[k + len(chunk) :: len(chunk), 0]
        scores.append(
            ClipScore(
                name=env.library.names[index],
                success=bool(rows[k, 0] > 0.5),
                joint_error=float(rows[k, 1]),
                tracked=float(rows[k, 2]),
                noisy_success=float(repeats.mean()) if len(repeats) else None,
            )
        )
    return scores


def _mean(values: list[float]) -> float:
    return sum(values) / max(len(values), 1)
