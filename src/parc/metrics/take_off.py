"""Take-offs: how the legs and the centre of mass are when the ground lets go.

A *flight* is a stretch of .2 s or more in which nothing carries the body (`parc.metrics.free_flight.unsupported`); what a clip
begins with does not count, for its take-off is not seen. It is a *jump* if the centre of mass starts upwards with more than .5
m/s; otherwise it is a drop. The upward speed is the slope at the first frame of the parabola through that frame and two later
ones.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from parc.metrics.body_signals import BodySignals
from parc.metrics.clip_batch import ClipBatch
from parc.metrics.free_flight import unsupported

SHORTEST = 0.2
"""s, a flight"""
UPWARDS = 0.5
"""m/s, a flight that starts faster is a jump"""


class TakeOffs(NamedTuple):
    """Flights of a batch, one row each."""

    clip: Tensor
    """[F] row of the batch"""
    knee: Tensor
    """[F] degrees, flexion of the straighter knee in the last frame that carries"""
    speed: Tensor
    """[F] m/s, of the centre of mass upwards in the first frame that does not"""

    @property
    def is_jump(self) -> Tensor:
        """[F] bool"""
        return self.speed > UPWARDS


def take_offs(batch: ClipBatch, signals: BodySignals) -> TakeOffs:
    """All flights of all clips."""
    free = unsupported(batch)
    frames = signals.span(SHORTEST)
    starts = free[:, 1:] & ~free[:, :-1]
    clip, before = torch.nonzero(starts, as_tuple=True)
    at = (before + 1).unsqueeze(1) + torch.arange(frames, device=free.device)
    whole = at[:, -1] < free.shape[1]
    clip, before, at = clip[whole], before[whole], at[whole]
    flies = free[clip.unsqueeze(1), at].all(1)
    clip, before, at = clip[flies], before[flies], at[flies]
    step = max((frames - 1) // 2, 1)
    height = batch.centre_of_mass[..., 2]
    z0, z1, z2 = (height[clip, (before + 1 + k * step).clamp_max(free.shape[1] - 1)] for k in (0, 1, 2))
    speed = (-3 * z0 + 4 * z1 - z2) * batch.fps / (2 * step)
    return TakeOffs(clip, signals.knee[clip, before].amin(-1), speed)
