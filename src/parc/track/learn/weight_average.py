"""The weights of several trackers averaged: a tracker that was trained on, and what it has forgotten since.

Training on new motions costs some of the old ones. Along the straight line between the weights before and after, much of both
can be had; it needs trackers of one ancestry, as the averaged weights of strangers do nothing.

Each tracker normalises observations with statistics of its own. The first layers are therefore written in terms of the first
tracker's statistics before they are averaged, which changes no tracker's actions where neither clamp of observations bites.
"""

import math
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace

import torch
from torch import Tensor

from parc.errors import SettingsError
from parc.track.learn.policy import Normalizer, TrainedActor

_LARGEST_HALF = 65504.0
"""what float16, in which trackers are stored, can hold"""


def shares_of(weights: Sequence[float], count: int) -> list[float]:
    """Positive numbers, one for each of `count` trackers, as shares of 1."""
    if count < 2:
        raise SettingsError(f"an average needs two trackers or more, {count} given")
    if len(weights) != count:
        raise SettingsError(f"{len(weights)} weights for {count} trackers, expected one for each")
    total = sum(weights)
    if not (all(w > 0 for w in weights) and math.isfinite(total)):
        raise SettingsError(
            f"the weights are {', '.join(f'{w:g}' for w in weights)}, expected positive numbers with a finite sum"
        )
    return [w / total for w in weights]


@torch.no_grad()
def average_trackers(trackers: Sequence[TrainedActor], weights: Sequence[float]) -> TrainedActor:
    """Settings and statistics of the first; each tracker's weight is its share of the average, in any unit."""
    shares, first = shares_of(weights, len(trackers)), trackers[0]
    for other in trackers[1:]:
        _check_alike(first, other)
    average: dict[str, Tensor] = {}
    for tracker, share in zip(trackers, shares, strict=True):
        for name, tensor in _in_terms_of(first.actor.normalizer, tracker).items():
            average[name] = average.get(name, 0.0) + share * tensor
    if any(not bool((tensor.abs() <= _LARGEST_HALF).all()) for tensor in average.values()):
        raise SettingsError(
            "the statistics of these trackers are too far apart: their average has weights that float16 cannot hold"
        )
    actor = deepcopy(first.actor)
    actor.network.load_state_dict({name: tensor.float() for name, tensor in average.items()})
    return replace(first, actor=actor)


def _check_alike(first: TrainedActor, other: TrainedActor) -> None:
    a, b = first.settings, other.settings
    if a.observation != b.observation or a.action != b.action:
        raise SettingsError("trackers with different observations or actions cannot be averaged")
    if any(getattr(a.policy, name) != getattr(b.policy, name) for name in ("hidden", "activation", "symmetry")):
        raise SettingsError("trackers with different networks cannot be averaged")
    if first.contract != other.contract:
        raise SettingsError("trackers trained in different physical worlds cannot be averaged")


def _in_terms_of(normalizer: Normalizer, tracker: TrainedActor) -> dict[str, Tensor]:
    """A tracker's network, in float64, for observations that `normalizer` has normalised."""
    network, own = deepcopy(tracker.actor.network).double(), tracker.actor.normalizer
    first_layer, scale = [*network.layers(), network.last][0], own.scale().double()
    first_layer.bias.add_(first_layer.weight @ ((normalizer.mean - own.mean).double() * scale))
    first_layer.weight.mul_(scale / normalizer.scale().double())
    return dict(network.state_dict())
