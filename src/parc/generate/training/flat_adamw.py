"""All weights of a network as one vector, and AdamW on it.

Parameters become views of one buffer, gradients of another. Clipping, the optimiser, the moving average and the sum over ranks
are then a dozen operations on long vectors instead of a dozen for each parameter, none of which asks the host anything: the
learning rate is a device scalar, and a step whose loss or gradient is not finite changes nothing and is counted (`skipped`).

    m = b1 m + (1 - b1) g,  v = b2 v + (1 - b2) g^2,  x -= lr (m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps) + decay x)
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

_ALIGN = 64
"""numbers; every parameter starts on a multiple of 128 bytes in any precision"""


class FlatParameters:
    """Moves the parameters of `module` into `values` (and their gradients into `grads`)."""

    def __init__(self, module: nn.Module, with_gradients: bool) -> None:
        parameters = list(module.parameters())
        device, dtype = parameters[0].device, parameters[0].dtype
        total = sum(_round_up(p.numel()) for p in parameters)
        self.values = torch.zeros(total, device=device, dtype=dtype)
        self.grads = torch.zeros_like(self.values) if with_gradients else self.values.new_zeros(0)
        self.is_matrix = torch.zeros(total, device=device)
        """1 where weight decay applies: matrices and kernels, not biases"""
        start = 0
        for p in parameters:
            stop = start + p.numel()
            self.values[start:stop].copy_(p.data.flatten())
            p.data = self.values[start:stop].view(p.shape)
            if with_gradients:
                p.grad = self.grads[start:stop].view(p.shape)
            self.is_matrix[start:stop].fill_(float(p.dim() > 1))
            start += _round_up(p.numel())


@dataclass(frozen=True)
class AdamSettings:
    """AdamW and the moving average of the weights."""

    rate: float = 4e-4
    """highest learning rate"""
    beta1: float = 0.9
    beta2: float = 0.99
    decay: float = 0.05
    """weight decay"""
    eps: float = 1e-8
    clip: float = 1.0
    """largest norm of the gradient; 0: any"""
    average: float = 0.999
    """decay of the moving average of the weights, approached as (1 + i) / (12 + i); 0: the last weights are used"""
    average_age: int = 0
    """what i starts from: the first weights count as the average of that many steps"""


class FlatAdamW:
    """AdamW on all weights at once, as in the formula above."""

    def __init__(self, flat: FlatParameters, settings: AdamSettings) -> None:
        self.flat, self.settings = flat, settings
        zero = flat.values.new_zeros(())
        self.first, self.second = torch.zeros_like(flat.values), torch.zeros_like(flat.values)
        self.average = flat.values.clone()
        self.rate, self.count, self.skipped, self.norm = zero.clone(), zero.clone(), zero.clone(), zero.clone()
        self._first_age = zero + settings.average_age

    def begin_again(self, settings: AdamSettings) -> None:
        """As if made anew for the present weights, in the same memory; only rate and age may differ from the old settings."""
        self.settings = settings
        for tensor in (self.first, self.second, self.rate, self.count, self.skipped, self.norm):
            tensor.zero_()
        self.average.copy_(self.flat.values)
        self._first_age.fill_(settings.average_age)

    def step(self, loss: Tensor) -> None:
        """One update from the gradients that lie in `flat`; `loss` (0-d) that is not finite makes it none."""
        s, x, grads = self.settings, self.flat.values, self.flat.grads
        self.norm.copy_(grads.norm())
        finite = torch.isfinite(self.norm) & torch.isfinite(loss)
        go = finite.to(x.dtype)
        self.count.add_(go)
        self.skipped.add_(1 - go)
        shortened = grads * (s.clip / (self.norm + 1e-6)).clamp_max(1.0) if s.clip > 0 else grads
        g = torch.where(finite, shortened, torch.zeros_like(grads))
        self.first.lerp_(g, (1 - s.beta1) * go)
        self.second.lerp_(g.square(), (1 - s.beta2) * go)
        t = self.count.clamp_min(1)
        scale = 1 / (1 - torch.pow(s.beta1, t))
        spread = (self.second / (1 - torch.pow(s.beta2, t))).sqrt_().add_(s.eps)
        change = (self.first * scale).div_(spread).add_(x * self.flat.is_matrix, alpha=s.decay)
        x.sub_(change.mul_(self.rate * go))
        # the first steps are averaged over a short past, or the average would remember the random start for thousands of steps
        age = self.count + self._first_age
        kept = torch.minimum((1 + age) / (12 + age), torch.full_like(t, s.average))
        self.average.lerp_(x, (1 - kept) * go)

    def state(self) -> dict[str, Tensor]:
        """Everything a resumed run needs, by name."""
        return {
            "values": self.flat.values, "first": self.first, "second": self.second, "average": self.average,
            "count": self.count, "skipped": self.skipped,
        }  # fmt: skip

    def restore(self, state: dict[str, Tensor]) -> None:
        """The inverse of `state`."""
        for name, tensor in self.state().items():
            tensor.copy_(state[name])


def _round_up(count: int) -> int:
    return -(-count // _ALIGN) * _ALIGN
