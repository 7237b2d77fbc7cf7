"""How people move, in numbers: a Gaussian for each activity over windows of real motion capture (`parc.metrics.gait_windows`).

Every subject counts the same, however long it was recorded: mean and covariance of an activity are those of its subjects'
moments, averaged. Correlations are shrunk by .3 towards none. The distance of a window is its Mahalanobis distance to the
Gaussian of its activity, a root mean square over the features, each at most 6 standard deviations from the mean; a feature
without a value counts as average.

What the file holds are moments of each subject, no motion. A subject can so be left out: people are compared with *other* people.

    reference_gait.safetensors    {"meta": subjects, rows (activity, subject), windows of each row, character, ...}
      centre, scale [26]          features are stored as (x - centre) / scale
      mean [R, 26], second [R, 351]    moments of each row; the second's upper triangle
      unit, limit [7]             distance of people from other people, median and 95 %
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from parc.errors import FormatError
from parc.metrics.clip_subject import NOBODY
from parc.metrics.gait_windows import FEATURES, LABELS
from parc.run.checkpoint import load_checkpoint, save_checkpoint

SHRINKAGE = 0.3
FARTHEST = 6.0
"""standard deviations a feature may count"""
LEAST_WINDOWS = 6
"""of a subject, for it to count: about two seconds"""
LEAST_SUBJECTS = 2
"""for an activity to have a Gaussian"""
_FILE = Path(__file__).with_name("reference_gait.safetensors")
_VERSION = 1


class Scored(NamedTuple):
    """Windows beside people."""

    ratio: Tensor
    """[M] distance over the median distance of people from other people: 1 is a person; NaN for an activity without people"""
    inside: Tensor
    """[M] bool: nearer than 95 % of people's windows"""
    deviation: Tensor
    """[M, 26] standard deviations of people, 0 for a feature without a value"""


class _Moments(NamedTuple):
    """Rows (activity, subject)."""

    label: Tensor
    subject: Tensor
    mean: Tensor
    """[R, F]"""
    second: Tensor
    """[R, F, F]"""


class People:
    """Gaussians of all activities, and those with each subject left out."""

    def __init__(
        self,
        subjects: Sequence[str],
        moments: _Moments,
        centre: Tensor,
        scale: Tensor,
        unit: Tensor,
        limit: Tensor,
        character: str,
    ) -> None:
        self.subjects, self.character = tuple(subjects), character
        self._moments, self._centre, self._scale, self._unit, self._limit = moments, centre, scale, unit, limit
        groups = [self._without(label, who) for label in range(len(LABELS)) for who in range(-1, len(subjects))]
        self._mean, self._deviation, self._precision = (torch.stack(v) for v in zip(*groups, strict=True))

    def row_of(self, subjects: Sequence[str]) -> Tensor:
        """[N] number of each subject, 0 for somebody else."""
        known = {name: k + 1 for k, name in enumerate(self.subjects)}
        return torch.tensor([known.get(name, 0) for name in subjects], dtype=torch.long)

    def score(self, features: Tensor, label: Tensor, left_out: Tensor | None = None) -> Scored:
        """Windows [M, 26] of activities [M] beside people, without the subjects `left_out` [M] of `row_of`."""
        distance, deviation = self._distance(features, label, left_out)
        ratio = distance / self._unit.to(distance)[label]
        return Scored(ratio, ratio <= self._limit.to(ratio)[label], deviation)

    def _distance(self, features: Tensor, label: Tensor, left_out: Tensor | None) -> tuple[Tensor, Tensor]:
        group = label * (len(self.subjects) + 1) + (0 if left_out is None else left_out)
        mean, spread, precision = (t.to(features.device)[group] for t in (self._mean, self._deviation, self._precision))
        x = (features - self._centre.to(features)) / self._scale.to(features)
        z = torch.where(features.isnan(), 0.0, (x - mean) / spread)
        near = z.clamp(-FARTHEST, FARTHEST)
        square = (torch.bmm(precision, near.unsqueeze(-1)).squeeze(-1) * near).sum(-1) / len(FEATURES)
        return square.clamp_min(0).sqrt(), z

    def _without(self, label: int, who: int) -> tuple[Tensor, Tensor, Tensor]:
        """Mean, deviations and the inverse of the shrunk correlations of an activity, a subject left out (-1: nobody)."""
        m = self._moments
        rows = (m.label == label) & (m.subject != who)
        if int(rows.sum()) < LEAST_SUBJECTS - (who >= 0):
            nothing = torch.full((len(FEATURES),), torch.nan)
            return nothing, nothing, torch.full((len(FEATURES), len(FEATURES)), torch.nan)
        mean, second = m.mean[rows].mean(0).double(), m.second[rows].mean(0).double()
        covariance = second - torch.outer(mean, mean)
        deviation = covariance.diagonal().clamp_min(1e-6).sqrt()
        correlation = (1 - SHRINKAGE) * covariance / torch.outer(deviation, deviation) + SHRINKAGE * torch.eye(len(mean))
        return mean.float(), deviation.float(), torch.linalg.inv(correlation).float()

    # ---- made from windows, kept in a file -------------------------------------------------------------------------

    @classmethod
    def of(cls, features: Tensor, label: Tensor, subjects: Sequence[str], character: str) -> "People":
        """From windows [M, 26] of activities [M], each shown by one of `subjects` (M names)."""
        names = sorted(set(subjects) - {NOBODY})
        number = torch.tensor([names.index(s) if s in names else -1 for s in subjects])
        known = ~features.isnan()
        centre = torch.where(known, features, 0.0).sum(0) / known.sum(0).clamp_min(1)
        scale = torch.where(known, (features - centre).square(), 0.0).sum(0).div(known.sum(0).clamp_min(1)).sqrt().clamp_min(1e-6)
        x = (features - centre) / scale
        kept = [
            (a, who)
            for a in range(len(LABELS))
            for who in range(len(names))
            if int(((label == a) & (number == who)).sum()) >= LEAST_WINDOWS
        ]
        rows = [(label == a) & (number == who) for a, who in kept]
        average = {a: _known_mean(torch.stack([_known_mean(x[r]) for (b, _), r in zip(kept, rows, strict=True) if b == a]))
                   for a in {a for a, _ in kept}}  # fmt: skip
        filled = [torch.where(x[r].isnan(), torch.nan_to_num(average[a]), x[r]) for (a, _), r in zip(kept, rows, strict=True)]
        moments = _Moments(
            torch.tensor([a for a, _ in kept]),
            torch.tensor([who for _, who in kept]),
            torch.stack([f.mean(0) for f in filled]),
            torch.stack([f.T @ f / len(f) for f in filled]),
        )
        plain = torch.ones(len(LABELS))
        people = cls(names, moments, centre, scale, plain, plain, character)
        distance, _ = people._distance(features, label, (number + 1).clamp_min(0))
        people._unit = torch.full((len(LABELS),), torch.nan)
        people._limit = people._unit.clone()
        for a in range(len(LABELS)):
            mine = [distance[r] for (b, _), r in zip(kept, rows, strict=True) if b == a]
            if len(mine) >= LEAST_SUBJECTS:
                people._unit[a] = _quantile_of_groups(mine, 0.5)
                people._limit[a] = _quantile_of_groups(mine, 0.95) / people._unit[a]
        return people

    def save(self, file: Path | str, meta: dict) -> None:
        """Moments and limits; `meta` says what they were made from."""
        m, (i, j) = self._moments, torch.triu_indices(len(FEATURES), len(FEATURES))
        tensors = {
            "centre": self._centre, "scale": self._scale, "unit": self._unit, "limit": self._limit,
            "label": m.label, "subject": m.subject, "mean": m.mean.float(), "second": m.second[:, i, j].float(),
        }  # fmt: skip
        head = {
            "version": _VERSION,
            "features": FEATURES,
            "labels": LABELS,
            "subjects": self.subjects,
            "character": self.character,
        }
        save_checkpoint(file, tensors, head | meta)

    @classmethod
    def load(cls, file: Path | str = _FILE) -> "People":
        """From a file of `save`; the one in the box if none is named."""
        t, meta = load_checkpoint(file)
        if (
            meta.get("version") != _VERSION
            or tuple(meta.get("features", ())) != FEATURES
            or tuple(meta.get("labels", ())) != LABELS
        ):
            raise FormatError(f"{file} holds no statistics of people that this version of parc reads; make it again from clips")
        i, j = torch.triu_indices(len(FEATURES), len(FEATURES))
        second = t["second"].new_zeros(len(t["second"]), len(FEATURES), len(FEATURES))
        second[:, i, j] = t["second"]
        second[:, j, i] = t["second"]
        moments = _Moments(t["label"], t["subject"], t["mean"], second)
        return cls(meta["subjects"], moments, t["centre"], t["scale"], t["unit"], t["limit"], meta["character"])


@cache
def people() -> People:
    """The statistics in the box."""
    return People.load()


def _known_mean(values: Tensor) -> Tensor:
    """[F] over the rows of [K, F] that have a value; NaN where none has."""
    return torch.nanmean(values, 0)


def _quantile_of_groups(groups: list[Tensor], q: float) -> float:
    """Of all values, every group weighing the same."""
    values, order = torch.cat(groups).sort()
    weight = torch.cat([torch.full_like(g, 1 / len(g)) for g in groups])[order].cumsum(0)
    return float(values[min(int((weight < q * len(groups)).sum()), len(values) - 1)])
