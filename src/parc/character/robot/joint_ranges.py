"""Joint coordinates inside of the body's ranges and under its motors' speeds, by construction.

A coordinate that may change by at most L from frame to frame has two envelopes,

    f(t) = min_s q(s) + L |t - s|        g(t) = max_s q(s) - L |t - s|

the lowest and the highest track that nowhere changes faster and goes through a point of q: their mean changes no faster either,
is q where q was slow enough, and stays in every range in which q is. Only hinges have exact ranges, so only characters of hinges
(robots) are held to them; a ball's are intervals of an exponential map, which fits keep to softly.
"""

import math
from functools import cache

import torch
from torch import Tensor

from parc.character.character import Character
from parc.character.joint_coordinates import beyond_limits, dof_to_joints, joints_to_dof

_INSIDE = 1e-5
"""rad, and share of a speed, by which it is kept inside: quaternions of float32 are not exact"""


@cache  # captured graphs read this tensor, so it may not be dropped
def speed_limits(character: Character, device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32) -> Tensor | None:
    """[D] rad/s; None for a character without any."""
    limits = [b.joint.speed_limit or math.inf for b in character.bodies for _ in b.joint.axes]
    if all(math.isinf(limit) for limit in limits):
        return None
    with torch.inference_mode(False):
        return torch.tensor(limits, device=device, dtype=dtype)


def speed_excess(character: Character, joint_rot: Tensor, fps: float) -> Tensor:
    """[..., T-1, D] rad a frame by which coordinates of joint rotations [..., T, B-1, 4] change faster than their motors turn."""
    dof = joints_to_dof(character, joint_rot)
    step = _wrapped(dof[..., 1:, :] - dof[..., :-1, :]).abs()
    limits = speed_limits(character, joint_rot.device, joint_rot.dtype)
    return torch.zeros_like(step) if limits is None else (step - limits / fps).clamp_min(0)


def within_ranges(character: Character, joint_rot: Tensor, fps: float) -> Tensor:
    """Joint rotations [T, B-1, 4] of a character of hinges, moved into their ranges and under their speeds."""
    dof = joints_to_dof(character, joint_rot.double())
    ends = [end for b in character.bodies for end in zip(b.joint.lower, b.joint.upper, strict=True)]
    ranges = [(a, b) if a < b else (-math.inf, math.inf) for a, b in ends]
    lower, upper = torch.tensor(ranges, dtype=dof.dtype).reshape(-1, 2).unbind(-1)
    dof = dof.clamp(lower + _INSIDE, upper - _INSIDE)
    if (limits := speed_limits(character, "cpu", dof.dtype)) is not None:
        dof = _slowed(dof, limits * (1 - _INSIDE) / fps)
    return dof_to_joints(character, dof).to(joint_rot)


def violations(character: Character, joint_rot: Tensor, fps: float, slack: float = 1e-4) -> tuple[int, int]:
    """Frames with a coordinate outside of its range, and frames to whose next one any changes faster than its motor turns."""
    outside = (beyond_limits(character, joint_rot) > slack).any(-1)
    fast = (speed_excess(character, joint_rot, fps) * fps > slack * fps).any(-1)
    return int(outside.sum()), int(fast.sum())


def _slowed(dof: Tensor, step: Tensor) -> Tensor:
    """Mean of the envelopes; one pass forwards and one backwards make each."""
    low, high = dof.clone(), dof.clone()
    for order in (range(1, len(dof)), range(len(dof) - 2, -1, -1)):
        for t in order:
            before = t - order.step
            low[t] = torch.minimum(low[t], low[before] + step)
            high[t] = torch.maximum(high[t], high[before] - step)
    return 0.5 * (low + high)


def _wrapped(angle: Tensor) -> Tensor:
    return (angle + math.pi) % (2 * math.pi) - math.pi
