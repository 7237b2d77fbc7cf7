"""Gait: how a motion walks on level ground, how it stands, how it leaves the ground.

A *stride* goes from one strike of a foot to its next with one strike of the other foot between, in .35 to 2.2 s. It is *level*
if the ground under the three footholds differs by at most 6 cm and no hand touches anything. Its speed is the way of the root
in the plane over its duration. Strides of .8 to 1.6 m/s are *walking*; people walk, shuffle and run differently, so the classes
are never mixed: `measure_gait` tells of walking strides, `gait_by_pace` of each class.

What people do (retargeted motion capture): stance knee 23 to 30 degrees, 103 strikes a minute, strides of 1.29 m, 94 % of
strikes on the heel, arms with the opposite legs (.92), steps equally long within 2 %.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor

from parc.metrics.body_signals import HANGS, BodySignals, signals_of
from parc.metrics.clip_batch import ClipBatch
from parc.metrics.masked_reductions import masked_correlation, masked_mean, masked_min, masked_quantile
from parc.metrics.take_off import take_offs

SHORTEST, LONGEST = 0.35, 2.2
"""s, a stride"""
LEVEL = 0.06
"""m between the footholds of a level stride"""
PACES = {"slow": (0.0, 0.8), "walking": (0.8, 1.6), "fast": (1.6, torch.inf)}
"""m/s, classes of level strides by speed"""
HEEL_FIRST = 3.0
"""degrees, toes up by more than this at a strike: on the heel"""
STILL = 0.25
"""m/s, slower than this with both feet down is standing"""
STRAIGHT = 15.0
"""degrees, a stride during which the pelvis turns by less is straight"""
UNDERWAY = 0.5
"""m/s, straight strides slower than this are starts and stops"""

UNITS = {
    "strides": "level strides at .8 to 1.6 m/s, which the next eight are medians of",
    "stance_knee": "degrees, flexion of the standing knee in the middle of its stance",
    "pelvis_height": "m, root over the lower sole",
    "cadence": "strikes a minute",
    "stride": "m, a foot's strike to its next",
    "swing_clearance": "mm, least height of the sole over the ground in the middle third of a swing",
    "strike_angle": "degrees of the foot at its strike, toes up",
    "arm_leg": "correlation of arms with the opposite legs: 1 together, -1 against each other, 0 still",
    "step_asymmetry": "%, difference of the two steps of a stride over their sum",
    "heel_first": "%, strikes with the toes up by more than 3 degrees, of the same strides",
    "straight_speed": "m/s, straight level strides over .5 m/s",
    "speed_variation": "%, standard deviation of their speeds over the mean",
    "standing_knee": "degrees, flexion of both knees while standing",
    "takeoff_knee": "degrees, flexion of the straighter knee at the start of a flight of .2 s or more",
    "takeoff_speed": "m/s, upward speed of the centre of mass at the start of a flight that is a jump",
}
"""What `measure_gait` returns, in this order."""
_MEDIANS = ("stance_knee", "pelvis_height", "cadence", "stride", "swing_clearance", "strike_angle", "arm_leg", "step_asymmetry")


class Strides(NamedTuple):
    """Level strides of a batch, one row each, clip by clip."""

    clip: Tensor
    """[S] row of the batch"""
    speed: Tensor
    """[S] m/s"""
    turn: Tensor
    """[S] degrees the pelvis turns by"""
    values: dict[str, Tensor]
    """[S] of each measure of `UNITS` that has a value for a stride"""

    def select(self, mask: Tensor) -> "Strides":
        """The rows that a mask names."""
        return Strides(self.clip[mask], self.speed[mask], self.turn[mask], {k: v[mask] for k, v in self.values.items()})

    @classmethod
    def joined(cls, parts: Sequence["Strides"]) -> "Strides":
        """Those of several batches; clips are no longer told apart."""
        values = {k: torch.cat([p.values[k].cpu() for p in parts]) for k in parts[0].values}
        clip, speed, turn = (torch.cat([getattr(p, k).cpu() for p in parts]) for k in ("clip", "speed", "turn"))
        return cls(clip, speed, turn, values)

    def at_pace(self, name: str) -> "Strides":
        """Those of a class of `PACES`."""
        slowest, fastest = PACES[name]
        return self.select((self.speed >= slowest) & (self.speed < fastest))

    def medians(self) -> dict[str, float]:
        """Over all strides, with their number and the share of heel-first strikes."""
        known = {k: float(v.median()) if len(v) else float("nan") for k, v in self.values.items()}
        heel = 100 * float((self.values["strike_angle"] > HEEL_FIRST).float().mean())
        return {"strides": len(self.clip)} | {k: known[k] for k in _MEDIANS} | {"heel_first": heel}


@dataclass(frozen=True, eq=False)
class _Span:
    """Frames of every stride: strike, lift-off and next strike of one foot, strike of the other between."""

    clip: Tensor
    foot: Tensor
    strike: Tensor
    lift: Tensor
    end: Tensor
    other: Tensor
    """[S] frame of the other foot's strike"""


def level_strides(s: BodySignals) -> Strides:
    """All level strides of all motions."""
    span = _complete_strides(s)
    frame = span.strike.unsqueeze(1) + torch.arange(s.span(LONGEST) + 2, device=s.root.device)
    inside = frame <= span.end.unsqueeze(1)
    frame = frame.minimum(span.end.unsqueeze(1))
    row, foot, opposite = span.clip.unsqueeze(1), span.foot.unsqueeze(1), 1 - span.foot.unsqueeze(1)

    holds = [
        _foothold(s, span.clip, *hold) for hold in ((span.foot, span.strike), (1 - span.foot, span.other), (span.foot, span.end))
    ]
    height = torch.stack([h[:, 2] for h in holds], -1)
    free = ~(s.hand_touches.any(-1)[row, frame] & inside).any(1)
    seconds = (span.end - span.strike) / s.fps
    way = s.root[span.clip, span.end] - s.root[span.clip, span.strike]
    first, second = ((b - a)[:, :2].norm(dim=-1) for a, b in pairwise(holds))

    stance, swing = (span.lift - span.strike).unsqueeze(1), (span.end - span.lift).unsqueeze(1)
    since = frame - span.strike.unsqueeze(1)
    mid_stance = (since >= 0.3 * stance) & (since <= 0.7 * stance)
    after = frame - span.lift.unsqueeze(1)
    mid_swing = (after >= swing // 3) & (after < torch.maximum(2 * swing // 3, swing // 3 + 1)) & inside
    pitch = s.foot_pitch[span.clip, span.strike, span.foot]
    before = s.foot_pitch[span.clip, (span.strike - 1).clamp_min(0), span.foot]
    with_arms = [
        masked_correlation(s.arm[row, frame, side], s.thigh[row, frame, 1 - side], inside, HANGS) for side in (foot, opposite)
    ]
    values = {
        "stance_knee": masked_mean(s.knee[row, frame, foot], mid_stance),
        "pelvis_height": masked_mean(s.pelvis_height[row, frame], inside),
        "cadence": 120 / seconds,
        "stride": (holds[2] - holds[0])[:, :2].norm(dim=-1),
        "swing_clearance": 1000 * masked_min(s.clearance[row, frame, foot], mid_swing),
        "strike_angle": torch.maximum(pitch, before),
        "arm_leg": 0.5 * (with_arms[0] + with_arms[1]),
        "step_asymmetry": 100 * (first - second).abs() / (first + second).clamp_min(1e-6),
    }
    turn = (s.yaw[span.clip, span.end] - s.yaw[span.clip, span.strike]).abs()
    found = Strides(span.clip, way[:, :2].norm(dim=-1) / seconds, turn, values)
    return found.select((height.amax(1) - height.amin(1) <= LEVEL) & free)


def _complete_strides(s: BodySignals) -> _Span:
    strike = s.strike.movedim(1, -1)
    clip, foot, begin = torch.nonzero(strike, as_tuple=True)
    again = (clip[1:] == clip[:-1]) & (foot[1:] == foot[:-1])
    clip, foot, begin, end = clip[:-1][again], foot[:-1][again], begin[:-1][again], begin[1:][again]
    seconds = (end - begin) / s.fps
    steps = strike.long().cumsum(-1)
    between = steps[clip, 1 - foot, end - 1] - steps[clip, 1 - foot, begin]
    fits = (seconds > SHORTEST) & (seconds < LONGEST) & (between == 1)
    clip, foot, begin, end = clip[fits], foot[fits], begin[fits], end[fits]
    other = _next(strike)[clip, 1 - foot, begin + 1]
    lift = _next(s.lift_off.movedim(1, -1))[clip, foot, begin + 1]
    return _Span(clip, foot, begin, lift, end, other)


def _next(events: Tensor) -> Tensor:
    """[..., T] frame of the next event at or after each frame; T where none follows."""
    length = events.shape[-1]
    at = torch.where(events, torch.arange(length, device=events.device), length)
    return at.flip(-1).cummin(-1).values.flip(-1)


def _foothold(s: BodySignals, clip: Tensor, foot: Tensor, frame: Tensor) -> Tensor:
    """[S, 3] middle of the sole, with the highest ground under it."""
    return torch.cat([s.sole[clip, frame, foot, :, :2].mean(1), s.ground[clip, frame, foot].amax(-1, keepdim=True)], -1)


def gait_by_pace(parts: Sequence[Strides]) -> dict[str, dict[str, float]]:
    """{class of `PACES`: number of strides and medians over them}; classes without a stride are left out."""
    if not parts:
        return {}
    strides = Strides.joined(parts)
    classes = {name: strides.at_pace(name) for name in PACES}
    return {name: found.medians() for name, found in classes.items() if len(found.clip)}


def measure_gait(batch: ClipBatch, signals: BodySignals | None = None) -> dict[str, Tensor]:
    """Every measure of `UNITS` of every clip, [N] each; NaN where a clip shows nothing of it."""
    s = signals or signals_of(batch)
    if s is None:
        nothing = torch.full((len(batch),), torch.nan, device=batch.frames.device)
        return dict.fromkeys(UNITS, nothing)
    strides = level_strides(s)
    walking = strides.at_pace("walking")
    known, values = _by_clip(walking, len(batch))
    count = known.sum(1)
    found = {"strides": count.to(s.root.dtype)}
    found |= {k: masked_quantile(values[k], known, 0.5) for k in _MEDIANS}
    found["heel_first"] = 100 * masked_mean((values["strike_angle"] > HEEL_FIRST).to(s.root.dtype), known)
    known, values = _by_clip(strides.select((strides.turn < STRAIGHT) & (strides.speed > UNDERWAY)), len(batch))
    speed, count = masked_mean(values["speed"], known), known.sum(1)
    spread = (masked_mean((values["speed"] - speed.unsqueeze(1)).square(), known) * count / (count - 1).clamp_min(1)).sqrt()
    found["straight_speed"] = speed
    found["speed_variation"] = torch.where(count > 2, 100 * spread / speed, torch.nan)
    found["standing_knee"] = standing_knee(s)
    flights = take_offs(batch, s)
    found["takeoff_knee"] = _mean_by_clip(flights.clip, flights.knee, len(batch))
    jump = flights.is_jump
    found["takeoff_speed"] = _mean_by_clip(flights.clip[jump], flights.speed[jump], len(batch))
    return {k: found[k] for k in UNITS}


def standing_knee(s: BodySignals) -> Tensor:
    """[N] degrees: both knees while both feet stand, no hand touches and the root hardly moves, for .2 s in all or more."""
    still = (s.root_velocity.norm(dim=-1) < STILL) & s.stance.all(-1) & ~s.hand_touches.any(-1) & s.valid
    return torch.where(still.sum(1) >= s.span(0.2), masked_mean(s.knee.mean(-1), still), torch.nan)


def _by_clip(strides: Strides, clips: int) -> tuple[Tensor, dict[str, Tensor]]:
    """Rows of strides beside each other: [N, S] which are real, and the values, speed among them."""
    count = torch.bincount(strides.clip, minlength=clips)
    place = torch.arange(len(strides.clip), device=strides.clip.device) - (count.cumsum(0) - count)[strides.clip]
    shape = (clips, max(int(count.max()), 1))

    def spread(values: Tensor) -> Tensor:
        return values.new_zeros(shape).index_put((strides.clip, place), values)

    return spread(torch.ones_like(strides.clip)) > 0, {
        k: spread(v) for k, v in (strides.values | {"speed": strides.speed}).items()
    }


def _mean_by_clip(clip: Tensor, values: Tensor, clips: int) -> Tensor:
    count = torch.bincount(clip, minlength=clips)
    return values.new_zeros(clips).index_add(0, clip, values) / torch.where(count > 0, count, torch.nan)
