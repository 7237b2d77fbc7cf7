"""The policy: observations to motor actions, with the statistics that normalise them and the symmetry that halves them.

An observation goes through three steps before the network: the canonical view of the two mirror images (see
`parc.track.learn.policy_symmetry`), the running mean and variance, a clamp. `Actor` is that plus the network, all that is needed
to run a policy; its file carries the physical contract and the character it was trained for, and loading refuses anything else.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from parc.character.character import Character
from parc.character.named_character import character_in_file
from parc.errors import CharacterError, FormatError, SettingsError
from parc.physics.physical_contract import Contract
from parc.run.checkpoint import check_room, fill, load_checkpoint, save_checkpoint
from parc.run.dataclass_json import from_json
from parc.run.distributed import Group
from parc.run.file_reading import reading
from parc.track.env.body_tables import BodyTables
from parc.track.env.observation_layout import ObservationLayout
from parc.track.learn.fp16_linear_cpu import PackedMLP, can_be_packed
from parc.track.learn.mlp_network import MLP
from parc.track.learn.policy_symmetry import Symmetry
from parc.track.tracker_settings import TrackerSettings

_KIND = "tracker actor"
_VARIANCE_FLOOR = 1e-4


class Normalizer(nn.Module):
    """Running mean and variance of observations, over all ranks; `longest` bounds the memory so that it keeps adapting."""

    def __init__(self, size: int, clamp: float = 10.0, longest: float = 2e7) -> None:
        super().__init__()
        self.clamp, self.longest = clamp, longest
        self.mean: Tensor
        self.variance: Tensor
        self.count: Tensor
        self._first: Tensor
        self._second: Tensor
        self._seen: Tensor
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("variance", torch.ones(size))
        self.register_buffer("count", torch.full((), 1e-4))
        self.register_buffer("_first", torch.zeros(size), persistent=False)
        self.register_buffer("_second", torch.zeros(size), persistent=False)
        self.register_buffer("_seen", torch.zeros(()), persistent=False)

    def forward(self, rows: Tensor) -> Tensor:
        """Observations less the mean, over the standard deviation, clamped."""
        return self.scaled(rows, self.scale())

    def scale(self) -> Tensor:
        """[size] one over the standard deviation."""
        return torch.rsqrt(self.variance + _VARIANCE_FLOOR)

    def scaled(self, rows: Tensor, scale: Tensor) -> Tensor:
        """The same with `scale` given."""
        return ((rows - self.mean) * scale).clamp(-self.clamp, self.clamp)

    def collect(self, rows: Tensor) -> None:
        """Add rows [N, size] to what the next `update` folds in; deviations from the current mean keep float32 exact enough."""
        deviation = rows - self.mean
        self._first.add_(deviation.sum(0))
        self._second.add_(deviation.square().sum(0))
        self._seen.add_(rows.shape[0])

    def update(self, group: Group) -> None:
        """Chan's formula for the union of two samples, with the collected sums of all ranks."""
        group.sum_([self._first, self._second, self._seen])
        new = self._seen.clamp_min(1.0)
        shift = self._first / new
        variance = (self._second / new - shift.square()).clamp_min(0.0)
        total = self.count + new
        merged = (self.variance * self.count + variance * new + shift.square() * self.count * new / total) / total
        self.variance.copy_(merged)
        self.mean.add_(shift * new / total)
        self.count.copy_(total.clamp_max(self.longest))
        for sums in (self._first, self._second, self._seen):
            sums.zero_()


class Actor(nn.Module):
    """Observations [N, size] to mean actions [N, D]; symmetric if `symmetry` is given."""

    def __init__(self, normalizer: Normalizer, network: MLP, symmetry: Symmetry | None) -> None:
        super().__init__()
        self.normalizer, self.network, self.symmetry = normalizer, network, symmetry

    def forward(self, observations: Tensor) -> Tensor:
        """Observations [N, size] to mean actions [N, D]."""
        return self._act(observations, self.normalizer.scale(), self.network)

    def packed(self) -> Callable[[Tensor], Tensor]:
        """The same function as it is now, for inference only: on the CPU sooner."""
        if not can_be_packed(self.network):
            return self
        return partial(self._act, scale=self.normalizer.scale(), network=PackedMLP(self.network))

    def _act(self, observations: Tensor, scale: Tensor, network: Callable[[Tensor], Tensor]) -> Tensor:
        if self.symmetry is None:
            return network(self.normalizer.scaled(observations, scale))
        rows, flip = self.symmetry.canonical(observations)
        return self.symmetry.action_back(network(self.normalizer.scaled(rows, scale)), flip)


@dataclass(frozen=True, eq=False)
class TrainedActor:
    """An actor from a file, with what it was trained for."""

    actor: Actor
    settings: TrackerSettings
    contract: Contract
    character: Character

    @cached_property
    def act(self) -> Callable[[Tensor], Tensor]:
        """`actor`, packed: observations [N, size] to mean actions [N, D]."""
        return self.actor.packed()

    def __getstate__(self) -> dict[str, Any]:
        """For another process, which packs the network anew."""
        return {name: value for name, value in vars(self).items() if name != "act"}


class TrackerPolicy(nn.Module):
    """Actor, critic and normaliser in training, with the actor's average over time."""

    def __init__(self, character: Character, settings: TrackerSettings, device: torch.device | str) -> None:
        super().__init__()
        shape, anatomy = settings.policy, BodyTables(character, device)
        layout = ObservationLayout(anatomy, settings.observation)
        self.size, self.actions = layout.size, character.num_dof
        self.mirror = Symmetry(anatomy, layout, settings.observation) if shape.symmetry != "none" else None
        self.symmetry: Literal["canonical", "augment", "none"] = shape.symmetry
        self.actor = MLP(self.size, shape.hidden, self.actions, shape.activation)
        self.critic = MLP(self.size, shape.hidden, 1, shape.activation)
        self.averaged = MLP(self.size, shape.hidden, self.actions, shape.activation)
        self.log_std = nn.Parameter(torch.full((self.actions,), shape.std).log(), requires_grad=shape.learn_std)
        self.normalizer = Normalizer(self.size)
        self.to(device)

    def view(self, observations: Tensor) -> tuple[Tensor, Tensor | None]:
        """What the networks are shown before normalisation, and which rows are mirror images."""
        if self.mirror is None or self.symmetry != "canonical":
            return observations, None
        return self.mirror.canonical(observations)

    def action_back(self, actions: Tensor, flip: Tensor | None) -> Tensor:
        """Actions of mirrored rows as the character should do them."""
        return actions if flip is None or self.mirror is None else self.mirror.action_back(actions, flip)

    def averaged_actor(self) -> Actor:
        """For evaluation and recording; shares memory with the policy."""
        return Actor(self.normalizer, self.averaged, self.mirror if self.symmetry == "canonical" else None)


def log_probability(actions: Tensor, mean: Tensor, log_std: Tensor) -> Tensor:
    """Of a diagonal Gaussian, without the constant: [..., D] to [...]."""
    return (-0.5 * ((actions - mean) * torch.exp(-log_std)).square() - log_std).sum(-1)


def save_actor(
    path: Path | str, actor: Actor, character: Character, contract: Contract, settings: TrackerSettings, half: bool = True
) -> None:
    """Weights in float16 unless `half` is False; the normaliser's statistics stay float32."""
    tensors = {}
    for name, tensor in actor.state_dict().items():
        tensors[name] = tensor.half() if half and name.startswith("network.") else tensor
    meta: dict[str, Any] = {
        "kind": _KIND,
        "character": character.fingerprint,
        "character_name": character.name,
        "contract": asdict(contract),
        "settings": asdict(settings),
    }
    if (held := character_in_file(character)) is not None:
        meta["held"] = held
    save_checkpoint(path, tensors, meta)


def load_actor(path: Path | str, character: Character, device: torch.device | str = "cpu") -> TrainedActor:
    """From a file of `save_actor`; refused where it was trained for another character."""
    tensors, meta = load_checkpoint(path)
    if meta.get("kind") != _KIND:
        raise FormatError(f"{path} holds '{meta.get('kind')}', expected a {_KIND}")
    if meta.get("character") != character.fingerprint:
        raise CharacterError(
            f"{path} was trained for character '{meta.get('character_name')}' ({meta.get('character')}), "
            f"not for '{character.name}' ({character.fingerprint})"
        )
    try:
        settings, contract = from_json(TrackerSettings, meta["settings"]), from_json(Contract, meta["contract"])
    except (KeyError, TypeError, AttributeError, ValueError, StopIteration, RecursionError, SettingsError) as error:
        raise FormatError(f"the header of {path} describes no tracker this version knows: {error}") from None
    with reading(str(path), _KIND):
        anatomy = BodyTables(character, device)
        layout = ObservationLayout(anatomy, settings.observation)
        statistics = tensors.get("normalizer.mean")
        if statistics is None or statistics.shape != (layout.size,):
            told = "no statistics" if statistics is None else f"statistics of {statistics.numel()} numbers"
            raise FormatError(f"{path} holds {told}, the observations that its header describes have {layout.size}")
        widths = (layout.size, *settings.policy.hidden, character.num_dof)
        check_room(path, sum(a * b for a, b in pairwise(widths)), tensors)
        symmetry = Symmetry(anatomy, layout, settings.observation) if settings.policy.symmetry == "canonical" else None
        network = MLP(layout.size, settings.policy.hidden, character.num_dof, settings.policy.activation)
        actor = Actor(Normalizer(layout.size), network, symmetry)
    fill(actor, {name: tensor.float() for name, tensor in tensors.items()}, path)
    return TrainedActor(actor.to(device).eval(), settings, contract, character)
