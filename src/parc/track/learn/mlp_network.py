"""Multi-layer perceptrons in bfloat16 with a float32 last layer, and their parameters as one flat tensor.

All parameters of a network are views of one tensor: the optimiser, the average over time and the exchange between GPUs
each are one operation instead of one for each layer.
"""

from itertools import pairwise

import torch
from torch import Tensor, nn

from parc.errors import SettingsError

ACTIVATIONS: dict[str, type[nn.Module]] = {"relu": nn.ReLU, "elu": nn.ELU, "silu": nn.SiLU}


class MLP(nn.Module):
    def __init__(
        self, inputs: int, hidden: tuple[int, ...], outputs: int, activation: str = "relu", last_scale: float = 0.01
    ) -> None:
        super().__init__()
        if activation not in ACTIVATIONS:
            raise SettingsError(f"activation is '{activation}', expected one of {', '.join(ACTIVATIONS)}")
        widths = (inputs, *hidden)
        self.hidden = nn.ModuleList([nn.Linear(a, b) for a, b in pairwise(widths)])
        self.last = nn.Linear(widths[-1], outputs)
        self.activation = ACTIVATIONS[activation]()
        self.last_scale = last_scale
        """bound of the last layer's first weights: small, so that a new policy does almost nothing"""

    def layers(self) -> list[nn.Linear]:
        """Without the last."""
        return [layer for layer in self.hidden if isinstance(layer, nn.Linear)]

    def forward(self, rows: Tensor) -> Tensor:
        kind = rows.device.type
        with torch.autocast(kind, dtype=torch.bfloat16, enabled=kind == "cuda", cache_enabled=False):
            for layer in self.hidden:
                rows = self.activation(layer(rows))
        with torch.autocast(kind, enabled=False):
            return self.last(rows.float())


def initialise(module: nn.Module, generator: torch.Generator) -> None:
    """Redraw all weights of the perceptrons in a module (on the CPU) from an explicit generator."""
    for network in module.modules():
        if isinstance(network, MLP):
            for layer in network.layers():
                _redraw(layer, layer.in_features**-0.5, generator)
            _redraw(network.last, network.last_scale, generator)


@torch.no_grad()
def _redraw(layer: nn.Linear, bound: float, generator: torch.Generator) -> None:
    layer.weight.copy_((torch.rand(layer.weight.shape, generator=generator) * 2.0 - 1.0) * bound)
    layer.bias.zero_()


def flatten_parameters(parameters: list[nn.Parameter]) -> nn.Parameter:
    """Move the parameters into one new tensor, which is returned; they become views of it."""
    flat = nn.Parameter(torch.cat([p.detach().reshape(-1) for p in parameters]))
    for p, part in zip(parameters, flat.detach().split([p.numel() for p in parameters]), strict=True):
        p.data = part.view(p.shape)
    return flat
