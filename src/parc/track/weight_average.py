"""The weights of several trackers averaged: a tracker that was trained on, and what it has forgotten since.

Training on new motions costs some of the old ones. Along the straight line between the weights before and after, much of both
can be had; it needs trackers of one ancestry, as the averaged weights of strangers do nothing.

Each tracker normalises observations with statistics of its own. The first layers are therefore written in terms of the first
tracker's statistics before they are averaged, which changes no tracker's actions where its clamp does not bite.
"""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace

import torch
from torch import Tensor

from parc.errors import SettingsError
from parc.track.policy import Normalizer, TrainedActor


@torch.no_grad()
def average_trackers(trackers: Sequence[TrainedActor], weights: Sequence[float]) -> TrainedActor:
    """Settings and statistics of the first; weights are shares, in any unit."""
    if len(weights) != len(trackers) or not all(0 < w < float("inf") for w in weights):
        told = ", ".join(f"{w:g}" for w in weights)
        raise SettingsError(
            f"the weights of {len(trackers)} trackers are {told or 'missing'}, expected a positive number for each"
        )
    first = trackers[0]
    for other in trackers[1:]:
        if any(getattr(other.settings, n) != getattr(first.settings, n) for n in ("observation", "action", "policy")):
            raise SettingsError("trackers with different observations, actions or networks cannot be averaged")
        if other.contract != first.contract:
            raise SettingsError("trackers trained in different physical worlds cannot be averaged")
    actor = deepcopy(first.actor)
    sums: dict[str, Tensor] = {}
    for tracker, weight in zip(trackers, weights, strict=True):
        for name, tensor in _in_terms_of(first.actor.normalizer, tracker).items():
            sums[name] = sums.get(name, 0.0) + tensor * (weight / sum(weights))
    actor.network.load_state_dict({name: tensor.float() for name, tensor in sums.items()})
    return replace(first, actor=actor)


def _in_terms_of(normalizer: Normalizer, tracker: TrainedActor) -> dict[str, Tensor]:
    """A tracker's network, in float64, for observations that `normalizer` has normalised."""
    network, own = deepcopy(tracker.actor.network).double(), tracker.actor.normalizer
    layer, scale = [*network.layers(), network.last][0], own.scale().double()
    layer.bias.add_(layer.weight @ ((normalizer.mean - own.mean).double() * scale))
    layer.weight.mul_(scale / normalizer.scale().double())
    return dict(network.state_dict())
