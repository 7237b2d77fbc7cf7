"""Gradient descent with momentum whose rates are tensors, so that a step can be recorded as a CUDA graph.

b <- m b + g        x <- x - rate b
"""

from collections.abc import Callable
from typing import Any

import torch


class MomentumSgd(torch.optim.Optimizer):
    """Groups as for other optimisers of torch, each with its "lr", a tensor."""

    def __init__(self, groups: list[dict[str, Any]], momentum: float) -> None:
        super().__init__(groups, {})
        self.momentum = momentum
        for group in self.param_groups:
            for parameter in group["params"]:
                self.state[parameter]["momentum"] = torch.zeros_like(parameter)

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """One step along the gradients that are there; a closure is not called."""
        for group in self.param_groups:
            for parameter in group["params"]:
                momentum = self.state[parameter]["momentum"]
                momentum.mul_(self.momentum).add_(parameter.grad)
                parameter.sub_(group["lr"] * momentum)
