"""Without gradients; on the CPU also without the bookkeeping that would let tensors take part in them later.

There a control step of one character is a few hundred operations of a microsecond each, and the bookkeeping is a sixth of it.
Tensors made inside are for reading; what is to outlive the block is copied after it.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def inference(device: torch.device) -> Iterator[None]:
    with torch.inference_mode(device.type == "cpu"), torch.no_grad():
        yield
