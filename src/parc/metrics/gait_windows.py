"""Windows of one second, each labelled with what the body does in it and described by 26 numbers a person would name.

Labels, the first that fits:

    climb   hands touch for .07 of the window's frames and hands or more
    air     both soles more than 5 cm up for .2 s or more, at less than 2.2 m/s or with a change of height of .15 m
    step    the ground underfoot changes by more than .1 m, or the root rises or falls by more than .15 m
    stand, slow, walk, run    level; by the root's speed in the plane: below .25, .8, 1.7 m/s, and over it

Curves are low-passed at 6 Hz before ranges and extremes are taken, so that captured and simulated motion compare. A number
without meaning for a window (the strike of a foot that never strikes) is NaN.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from parc.metrics.body_signals import HANGS, BodySignals
from parc.metrics.masked_reductions import masked_correlation, masked_mean, masked_min, masked_quantile
from parc.metrics.time_filters import low_pass, moving_mean

WINDOW = 1.0
"""s"""
STRIDE = 1 / 6
"""s between the starts of windows"""
CUTOFF = 6.0
"""Hz"""
JITTER = 2.5
"""Hz, faster than this legs do not swing by will"""
LABELS = ("stand", "slow", "walk", "run", "step", "air", "climb")
STAND, SLOW, WALK, RUN, STEP, AIR, CLIMB = range(len(LABELS))
FEATURES = (
    "knee in stance",
    "least knee in stance",
    "range of knees",
    "pelvis over soles",
    "strikes",
    "clearance of moving feet",
    "toes up",
    "toes down",
    "range of thighs",
    "range of arms",
    "arms with opposite legs",
    "trunk lean",
    "sway of trunk",
    "head pitch",
    "drag",
    "double support",
    "rise and fall of pelvis",
    "speed",
    "gain of speed",
    "step width",
    "elbows",
    "slide of standing feet",
    "arms out",
    "jitter of legs",
    "foot at strike",
    "foot at lift-off",
)
_MOVES = 0.6
"""m/s, a foot faster than this moves"""
_DRAGS = 0.015
"""m, a moving foot lower than this drags"""
_STANDS = 0.02
"""m, the slide of a foot is looked at while it is lower than this"""
_AIR = 0.05
"""m"""


class GaitWindows(NamedTuple):
    """Windows of a batch, clip by clip in order of time."""

    clip: Tensor
    """[M] row of the batch"""
    start: Tensor
    """[M] first frame"""
    label: Tensor
    """[M] index into `LABELS`"""
    features: Tensor
    """[M, 26]"""


def gait_windows(s: BodySignals, stride: float = STRIDE) -> GaitWindows:
    """All windows of all motions; motions shorter than a second have none."""
    length = s.span(WINDOW)
    first = torch.arange(0, max(s.root.shape[1] - length + 1, 0), s.span(stride), device=s.root.device)
    clip, slot = torch.nonzero(first.unsqueeze(0) + length <= s.frames.unsqueeze(1), as_tuple=True)
    start = first[slot]
    row, frame = clip.unsqueeze(1), start.unsqueeze(1) + torch.arange(length, device=start.device)
    if len(clip) == 0:
        return GaitWindows(clip, start, clip, s.root.new_zeros(0, len(FEATURES)))

    def cut(values: Tensor) -> Tensor:
        return values[row, frame]

    def smooth(values: Tensor) -> Tensor:
        return cut(low_pass(values, s.fps, CUTOFF))

    root = smooth(s.root)
    stance, strike, lift = cut(s.stance), cut(s.strike), cut(s.lift_off)
    change = root[:, -1] - root[:, 0]
    speed = change[:, :2].norm(dim=-1) / ((length - 1) / s.fps)
    clearance = cut(s.clearance)
    label = _labels(s, cut, stance, clearance, speed, change[:, 2].abs())

    knee, pitch, thigh = smooth(s.knee), smooth(s.foot_pitch), smooth(s.thigh)
    arm, trunk, low = smooth(s.arm), smooth(s.trunk), smooth(s.clearance)
    foot_speed = cut(s.velocity(low_pass(s.at(s.limbs.ankle), s.fps, CUTOFF))[..., :2].norm(dim=-1))
    sole_speed = cut(s.velocity(low_pass(s.sole, s.fps, CUTOFF)).norm(dim=-1).amin(-1))
    moves = (foot_speed > _MOVES).flatten(1)
    stands = (low < _STANDS).flatten(1)
    bears = stance.flatten(1) | ~stance.flatten(1).any(1, keepdim=True)
    every = torch.ones_like(bears)
    trend = torch.linspace(0, 1, length, device=root.device)
    bounce = root[..., 2] - (root[:, :1, 2] + trend * change[:, 2:])
    with_arms = [_along(arm[..., side], thigh[..., 1 - side]) for side in (0, 1)]
    pace = cut(moving_mean(s.root_velocity[..., :2].norm(dim=-1), s.span(1 / 6)))
    end = s.span(0.2)
    feet = s.at(s.limbs.ankle)
    width = cut(((feet[:, :, 0] - feet[:, :, 1]) * s.left).sum(-1))
    before = torch.cat([s.foot_pitch[:, :1], s.foot_pitch[:, :-1]], 1)
    events = cut(before).flatten(1)
    jitter = cut(_band(torch.cat([s.knee, s.thigh], -1), s.fps))

    columns = (
        masked_quantile(knee.flatten(1), bears, 0.5),
        masked_min(knee.flatten(1), bears),
        _range(knee),
        cut(s.pelvis_height).mean(1),
        strike.sum((1, 2)) / WINDOW,
        100 * masked_quantile(low.flatten(1), moves, 0.6),
        masked_quantile(pitch.flatten(1), every, 0.95),
        masked_quantile(pitch.flatten(1), every, 0.05),
        _range(thigh),
        _range(arm),
        0.5 * (with_arms[0] + with_arms[1]),
        trunk.mean(1),
        trunk.std(1),
        smooth(s.head).mean(1),
        masked_mean((low.flatten(1) < _DRAGS).to(root.dtype), moves),
        stance.all(-1).to(root.dtype).mean(1),
        bounce.amax(1) - bounce.amin(1),
        speed,
        pace[:, -end:].mean(1) - pace[:, :end].mean(1),
        width.median(1).values,
        cut(s.elbow).mean((1, 2)),
        torch.log(0.05 + masked_mean(sole_speed.flatten(1), stands)),
        cut(s.abduction).mean((1, 2)),
        torch.log(1e-2 + jitter.flatten(1).std(1)),
        masked_mean(events, strike.flatten(1)),
        masked_mean(events, lift.flatten(1)),
    )
    return GaitWindows(clip, start, label, torch.stack(columns, -1))


def _labels(
    s: BodySignals, cut: Callable[[Tensor], Tensor], stance: Tensor, clearance: Tensor, speed: Tensor, rise: Tensor
) -> Tensor:
    """[M] index into `LABELS`; `rise` is how much the root's height changes."""
    ground = cut(s.ground.amax(-1)).flatten(1)
    stands = stance.flatten(1)
    highest, lowest = -masked_min(-ground, stands), masked_min(ground, stands)
    uneven = torch.nan_to_num(highest - lowest) > 0.1
    by_hand = cut(s.hand_touches).flatten(1).to(speed.dtype).mean(1) >= 0.066
    up = (clearance > _AIR).all(-1).sum(1) >= s.span(0.2)
    in_air = up & ((speed < 2.2) | (rise > 0.15))
    level = (speed >= 0.25).long() + (speed >= 0.8).long() + (speed >= 1.7).long()
    label = torch.where(uneven | (rise > 0.15), STEP, level)
    return torch.where(by_hand, CLIMB, torch.where(in_air, AIR, label))


def _range(curves: Tensor) -> Tensor:
    """Of [M, W, 2], mean of both sides."""
    return (curves.amax(1) - curves.amin(1)).mean(-1)


def _along(x: Tensor, y: Tensor) -> Tensor:
    return masked_correlation(x, y, torch.ones_like(x, dtype=torch.bool), HANGS)


def _band(curves: Tensor, fps: float) -> Tensor:
    return low_pass(curves, fps, CUTOFF) - low_pass(curves, fps, JITTER)
