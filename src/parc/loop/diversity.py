"""Collapse of diversity: when the new clips are too much alike, those that make them so are refused.

A generator that has found one motion that always works makes little else, learns from it, and makes still less else. How alike
clips are is the mean distance of their half-second windows, in deviations of the starting set D_0:

    div(S) = sum_{a, b in S} w_a w_b d_ab / (sum_{a in S} w_a)^2        d_ab  mean distance of windows of clips a and b
                                                                        w_a   number of windows of a

As long as div(S) of the new clips is below a share of div(D_0), the clip nearest to all others (least sum_b w_b d_ab) is left
out: of a hundred walks and ten climbs the walks go, until what is left is diverse enough. If nothing is left, nothing joins.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.metrics.clip_batch import ClipBatch
from parc.metrics.motion_distance import STRIDE, WINDOW, deviations, diversity, window_features

_AT_ONCE = 64
"""clips whose features or distances are computed together, to bound memory"""
_WINDOWS = 8
"""of a clip, evenly taken, whose distances are looked at"""


@dataclass(frozen=True)
class Diversity:
    """How diverse clips are before and after an admission: mean distance of pairs of windows."""

    start: float
    """of the starting set"""
    new: float
    """of the new clips that are sound and no copies; NaN if there are none"""
    joined: float
    """of those that join"""
    all: float
    """of the set with them"""
    least: float
    """share of `start` below which `new` has collapsed"""

    @property
    def has_collapsed(self) -> bool:
        return self.new < self.least * self.start

    @property
    def sentence(self) -> str:
        share = 100 * self.new / self.start
        return f"the new clips are only {share:.0f} % as diverse as the starting set ({100 * self.least:g} % is the least)"


def diversity_of(clips: Sequence[Clip], ground: Tensor | None, character: Character, device: torch.device | str = "cpu") -> float:
    """Of a set of clips, in deviations of the features `ground` of the starting set; NaN where there are no windows."""
    features = features_of(clips, character, device)
    return float("nan") if ground is None or features is None else diversity(features, against=ground)


def find_surplus(
    clips: Sequence[Clip], ground: Tensor, least: float, character: Character, device: torch.device | str = "cpu"
) -> list[int]:
    """Clips to leave out so that the diversity of the rest is at least `least`; all of them if that cannot be had."""
    apart, weight = _distances(clips, deviations(ground), character, device)
    kept = torch.ones(len(clips), dtype=torch.bool)
    near = apart @ weight
    surplus: list[int] = []
    while kept.any():
        total = weight[kept].sum()
        if total > 0 and (weight * near)[kept].sum() / total.square() >= least:
            return surplus
        i = int(torch.where(kept, near, torch.inf).argmin())
        surplus.append(i)
        kept[i] = False
        near = near - apart[:, i] * weight[i]
    return list(range(len(clips)))


def features_of(clips: Sequence[Clip], character: Character, device: torch.device | str = "cpu") -> Tensor | None:
    """Features [M, F] of all half-second windows; None if no clip is that long."""
    parts = []
    for start in range(0, len(clips), _AT_ONCE):
        with_window = [clip for clip in clips[start : start + _AT_ONCE] if _windows_in(clip)]
        if with_window:
            parts.append(window_features(ClipBatch.stack(with_window, character, device)))
    return torch.cat(parts) if parts else None


def _windows_in(clip: Clip) -> int:
    """Half-second windows; none in a clip of another frame rate."""
    if abs(clip.motion.fps - 30.0) > 1e-6:
        return 0
    return max(0, (len(clip.motion) - WINDOW) // STRIDE + 1)


def _distances(clips: Sequence[Clip], scale: Tensor, character: Character, device: torch.device | str) -> tuple[Tensor, Tensor]:
    """Mean distances of windows of any two clips [N, N], and how many windows each has [N]; on the CPU, in double precision."""
    count = torch.tensor([_windows_in(clip) for clip in clips])
    features = features_of(clips, character, device)
    apart = torch.zeros(len(clips), len(clips), dtype=torch.float64)
    if features is None:
        return apart, count.double()
    assert len(features) == int(count.sum())
    taken = (torch.linspace(0, 1, _WINDOWS) * (count - 1).clamp_min(0).unsqueeze(1)).round().long()
    first = count.cumsum(0) - count
    rows = (first.unsqueeze(1) + taken).clamp_max(len(features) - 1).to(features.device)
    points = (features / scale)[rows]
    for start in range(0, len(clips), _AT_ONCE):
        some = points[start : start + _AT_ONCE]
        pairs = torch.cdist(some.flatten(0, 1), points.flatten(0, 1)).view(len(some), _WINDOWS, len(clips), _WINDOWS)
        apart[start : start + _AT_ONCE] = pairs.mean((1, 3)).double().cpu()
    return apart, count.double()
