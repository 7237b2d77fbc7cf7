"""The tracker's value function: how well it expects to follow a reference from a state on.

Trained beside the actor on the same observations (canonical view and normaliser included), V is the discounted sum of future
rewards. It knows only the references it was trained on: one that sinks into the ground can be worth more to it than a plain walk,
so it may help to choose among candidates that have been simulated, and must not replace the simulation.
"""

from pathlib import Path

import torch
from torch import Tensor

from parc.errors import FormatError
from parc.run.checkpoint import load_checkpoint
from parc.run.file_reading import reading
from parc.track.learn.mlp_network import MLP
from parc.track.learn.policy import TrainedActor


class Critic:
    """V of observations."""

    def __init__(self, trained: TrainedActor, flat: Tensor) -> None:
        """`flat`: all parameters of the value network one after the other, as `parc train-tracker` writes them."""
        shape, actor = trained.settings.policy, trained.actor
        self._actor = actor
        device = actor.normalizer.mean.device
        self._network = MLP(actor.normalizer.mean.shape[0], shape.hidden, 1, shape.activation).to(device).eval()
        sizes = [p.numel() for p in self._network.parameters()]
        if sum(sizes) != flat.numel():
            raise FormatError(f"the critic has {flat.numel()} weights, the tracker's settings ask for {sum(sizes)}")
        with torch.no_grad():
            for parameter, part in zip(self._network.parameters(), flat.float().to(device).split(sizes), strict=True):
                parameter.copy_(part.view(parameter.shape))

    @classmethod
    def load(cls, path: Path | str, trained: TrainedActor) -> "Critic":
        """From a file, which must be of the tracker's character."""
        tensors, meta = load_checkpoint(path)
        if meta.get("character") != trained.character.fingerprint or "critic" not in tensors:
            raise FormatError(f"{path} holds no critic for character '{trained.character.name}'")
        if not tensors["critic"].isfinite().all():
            raise FormatError(f"{path} holds weights that are not finite: its training diverged, or it is damaged")
        with reading(str(path), "critic"):
            return cls(trained, tensors["critic"])

    @torch.no_grad()
    def __call__(self, observations: Tensor) -> Tensor:
        """Values [...] of observations [..., size]."""
        rows = observations.flatten(0, -2)
        if self._actor.symmetry is not None:
            rows, _ = self._actor.symmetry.canonical(rows)
        return self._network(self._actor.normalizer(rows)).view(observations.shape[:-1])
