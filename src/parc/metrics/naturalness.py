"""How human motion is: windows of a second beside those of real people doing the same (`parc.metrics.people_statistics`).

    R   the Mahalanobis distance of a window, over the median distance of people from other people: 1 is a person
    N   share of windows that are nearer than 95 % of people's

It agrees with the eye on *classes* of motions, by their medians, not on single windows. A clip whose source names a person who
is among the people is compared with the others only.
"""

from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import Tensor

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.metrics.body_signals import BodySignals, signals_of
from parc.metrics.clip_batch import ClipBatch
from parc.metrics.gait_windows import FEATURES, LABELS, STRIDE, WALK, gait_windows
from parc.metrics.masked_reductions import masked_quantile
from parc.metrics.people_statistics import People, people

UNITS = {
    "walk_r": "R, distance of walking from people's over people's own from each other; 1 is a person",
    "human_r": "R of whatever the body does, second by second",
    "human_n": "%, seconds of it that are nearer than 95 % of people's",
}
"""What `measure_naturalness` returns, in this order."""


class ScoredWindows(NamedTuple):
    """Windows of a batch beside people."""

    clip: Tensor
    """[M] row of the batch"""
    start: Tensor
    """[M] first frame"""
    label: Tensor
    """[M] index into `LABELS`"""
    ratio: Tensor
    """[M] R; NaN for an activity without people"""
    inside: Tensor
    """[M] bool"""
    deviation: Tensor
    """[M, 26] of each of `FEATURES`, in standard deviations of people"""


def score_windows(
    batch: ClipBatch, signals: BodySignals | None = None, among: People | None = None, stride: float = STRIDE
) -> ScoredWindows | None:
    """Every window of every motion, one each `stride` seconds; None for a character of whom there are no people."""
    among = among or people()
    s = signals or signals_of(batch)
    if s is None or batch.character.fingerprint != among.character:
        return None
    found = gait_windows(s, stride)
    left_out = among.row_of(batch.subjects).to(found.clip.device)[found.clip] if batch.subjects else None
    scored = among.score(found.features, found.label, left_out)
    return ScoredWindows(found.clip, found.start, found.label, *scored)


def measure_naturalness(batch: ClipBatch, signals: BodySignals | None = None) -> dict[str, Tensor]:
    """Every measure of `UNITS` of every clip, [N] each; NaN where no window says anything of it."""
    nothing = torch.full((len(batch),), torch.nan, device=batch.frames.device)
    windows = score_windows(batch, signals)
    if windows is None or len(windows.clip) == 0:
        return dict.fromkeys(UNITS, nothing)
    count = torch.bincount(windows.clip, minlength=len(batch))
    place = torch.arange(len(windows.clip), device=count.device) - (count.cumsum(0) - count)[windows.clip]
    at = (windows.clip, place)
    shape = (len(batch), int(count.max()))
    known = torch.zeros(shape, dtype=torch.bool, device=count.device).index_put(at, ~windows.ratio.isnan())
    walks = known & torch.zeros_like(known).index_put(at, windows.label == WALK)
    ratio = nothing.new_zeros(shape).index_put(at, torch.nan_to_num(windows.ratio))
    inside = nothing.new_zeros(shape).index_put(at, windows.inside.to(nothing.dtype))
    share = 100 * (inside * known).sum(1) / known.sum(1)
    return {"walk_r": masked_quantile(ratio, walks, 0.5), "human_r": masked_quantile(ratio, known, 0.5), "human_n": share}


def naturalness_of(clip: Clip, character: Character) -> dict[str, float]:
    """`measure_naturalness` of one clip."""
    return {name: float(value) for name, value in measure_naturalness(ClipBatch.stack([clip], character)).items()}


def by_activity(parts: Iterable[ScoredWindows | None], most: int = 3) -> dict[str, dict]:
    """{activity: {"seconds", "r" (median), "n" in %, "off": the features farthest from people's in the median}}, `all` last."""
    known = [p for p in parts if p is not None]
    if not known:
        return {}
    label, ratio, inside, deviation = (
        torch.cat([getattr(p, k).cpu() for p in known]) for k in ("label", "ratio", "inside", "deviation")
    )
    table = {}
    for name, mask in [*((LABELS[k], label == k) for k in range(len(LABELS))), ("all", torch.ones_like(inside))]:
        rows = mask & ~ratio.isnan()
        if not bool(rows.any()):
            continue
        typical = deviation[rows].median(0).values
        worst = typical.abs().argsort(descending=True)[:most].tolist()
        table[name] = {
            "seconds": int(rows.sum()) * STRIDE,
            "r": float(ratio[rows].median()),
            "n": 100 * float(inside[rows].float().mean()),
            "off": {FEATURES[k]: round(float(typical[k]), 2) for k in worst},
        }
    return table
