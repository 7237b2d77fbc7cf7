"""Make one fused function of many small operations, where torch.compile alone cannot.

Kinematics and features look their index tensors up in caches keyed by the character, which the compiler would trace into. Here
the function is first run once and its tensor operations recorded (shapes are fixed, nothing depends on the data); cached tensors
become constants of the record, and the record is what gets compiled. If that fails, the function itself is returned, and the log
says why.
"""

import logging
from collections.abc import Callable

import torch
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx

_log = logging.getLogger(__name__)

Tensors = tuple[Tensor, ...]


def fuse(function: Callable[..., Tensors], example: Tensors, backend: str = "inductor") -> Callable[..., Tensors]:
    """`function` of tensors without gradients, compiled for the shapes and the device of `example`."""
    with torch.no_grad():
        try:
            recorded = make_fx(function)(*example)
            compiled = torch.compile(recorded, dynamic=False, backend=backend)
            compiled(*example)
        except Exception as error:  # whatever the compiler stumbles over, the plain function still works
            _log.warning("compilation failed, going on without it: %s: %s", type(error).__name__, str(error)[:500])
            return function
    return compiled
