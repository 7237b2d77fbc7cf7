"""A network's weights as float16 in blocks for the CPU: half the memory to read, the same numbers.

One character's step uses each of five million weights once, so it lasts as long as reading them does. Files of actors hold
float16 weights: kept like that, and widened only in registers, they come out of the cache in half the time. Activations and
sums stay float32, so nothing is rounded that was not, and only networks whose weights are float16 numbers are packed. A row's
result depends neither on the other rows nor on the number of threads.
"""

import torch
from torch import Tensor, nn

from parc.track.learn.mlp_network import MLP


class PackedMLP:
    """The same function as an `MLP` that `can_be_packed`, for inference on the CPU; weights are taken over as they are now."""

    def __init__(self, network: MLP) -> None:
        self._activation = None if isinstance(network.activation, nn.ReLU) else network.activation
        self._hidden = [_packed(layer) for layer in network.layers()]
        self._last = _packed(network.last)

    def __call__(self, rows: Tensor) -> Tensor:
        for layer in self._hidden:
            if self._activation is None:
                rows = torch.ops.quantized.linear_relu_dynamic_fp16(rows, layer)
            else:
                rows = self._activation(torch.ops.quantized.linear_dynamic_fp16(rows, layer))
        return torch.ops.quantized.linear_dynamic_fp16(rows, self._last)


def can_be_packed(network: MLP) -> bool:
    """Whether this processor has the kernels, and float16 holds every weight."""
    if torch.backends.quantized.engine not in ("x86", "fbgemm"):
        return False
    weights = [layer.weight.detach() for layer in (*network.layers(), network.last)]
    return all(w.device.type == "cpu" and torch.equal(w.half().float(), w) for w in weights)


def _packed(layer: nn.Linear) -> torch.ScriptObject:
    return torch.ops.quantized.linear_prepack_fp16(layer.weight.detach(), layer.bias.detach())
