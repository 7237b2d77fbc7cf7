"""How like the data generated motions are, as distributions of half-second windows.

The Frechet distance on hand-made features (`parc.metrics.motion_distance`), beside its floor: the distance between two halves
of the data, clip by clip, which no generator should be expected to beat. Diversity is told as a share of the data's.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.loop.diversity import features_of
from parc.metrics.motion_distance import diversity, frechet_distance


def likeness(
    motions: Sequence[Clip], data: Sequence[Clip], character: Character, device: torch.device | str = "cpu"
) -> dict[str, Any]:
    """{"frechet", "frechet_floor", "diversity" in % of the data's}; None where there is too little to tell."""
    ours, theirs = features_of(motions, character, device), features_of(data, character, device)
    halves = [features_of(data[k::2], character, device) for k in (0, 1)]
    known: dict[str, Any] = {"frechet": None, "frechet_floor": None, "diversity": None}
    if ours is not None and theirs is not None and len(theirs) > 1:
        known["diversity"] = 100 * diversity(ours, against=theirs) / diversity(theirs, against=theirs)
    if _is_enough(ours, theirs):
        known["frechet"] = frechet_distance(theirs, ours)  # type: ignore[arg-type]
    if _is_enough(*halves):
        known["frechet_floor"] = frechet_distance(*halves)  # type: ignore[arg-type]
    return known


def _is_enough(*sets: Tensor | None) -> bool:
    """A covariance needs more windows than there are features."""
    return all(features is not None and len(features) > features.shape[1] for features in sets)
