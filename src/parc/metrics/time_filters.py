"""Filters over time for batches [N, T, ...]: zero phase, ends repeated."""

import math

import torch
from torch import Tensor
from torch.nn import functional


def low_pass(values: Tensor, fps: float, cutoff: float) -> Tensor:
    """Only what is slower than `cutoff` Hz: a Hann-windowed sinc, one period of the cutoff to each side."""
    if cutoff >= fps / 2:
        return values
    reach = round(fps / cutoff)
    t = torch.arange(-reach, reach + 1, device=values.device, dtype=values.dtype)
    kernel = torch.sinc(2 * cutoff / fps * t) * torch.cos(math.pi * t / (2 * reach + 2)).square()
    return convolved(values, kernel / kernel.sum())


def moving_mean(values: Tensor, frames: int) -> Tensor:
    """Mean over an odd number of frames around each."""
    frames = max(frames, 1) | 1
    return convolved(values, values.new_full((frames,), 1 / frames))


def convolved(values: Tensor, kernel: Tensor) -> Tensor:
    """With a symmetric kernel [2 R + 1]."""
    reach = len(kernel) // 2
    rows = values.movedim(1, -1)
    flat = functional.pad(rows.reshape(-1, 1, values.shape[1]), (reach, reach), mode="replicate")
    return functional.conv1d(flat, kernel.view(1, 1, -1)).view(rows.shape).movedim(-1, 1)


def tidied(mask: Tensor, frames: int) -> Tensor:
    """A mask [N, T, ...] with gaps shorter than `frames` closed, then stretches shorter than that removed."""
    half = max(frames, 1) // 2
    room = 4 * half  # the reach of the four steps together: ends are repeated once, before the first
    rows = mask.movedim(1, -1).to(torch.float32)
    flat = functional.pad(rows.reshape(-1, 1, mask.shape[1]), (room, room), mode="replicate")

    def grown(x: Tensor) -> Tensor:
        return functional.max_pool1d(x, 2 * half + 1, 1, half)

    def shrunk(x: Tensor) -> Tensor:
        return -grown(-x)

    closed = shrunk(grown(flat))
    opened = grown(shrunk(closed))[..., room : room + mask.shape[1]]
    return (opened.view(rows.shape) > 0.5).movedim(-1, 1)


def unwrapped(degrees: Tensor) -> Tensor:
    """Angles [N, T, ...] without jumps of a whole turn."""
    step = degrees.diff(dim=1)
    whole = 360 * torch.round(step / 360).cumsum(1)
    return torch.cat([degrees[:, :1], degrees[:, 1:] - whole], 1)
