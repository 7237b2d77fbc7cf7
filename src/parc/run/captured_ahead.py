"""Run a function of static buffers again and again: captured as one CUDA graph before the first call, called plainly elsewhere.

The function takes nothing and returns nothing; it reads and writes tensors that stay where they are, never asks the host,
and draws random numbers only from the generators given here. Capture runs it a few times to warm up, so its buffers must be set
up (or restored) by the caller afterwards. Functions whose every run counts are for `parc.run.captured_underway`.
"""

import logging
from collections.abc import Callable

import torch

_log = logging.getLogger(__name__)
_WARM_UP = 3


class CapturedAhead:
    def __init__(self, function: Callable[[], None], device: torch.device, generators: tuple[torch.Generator, ...] = ()) -> None:
        self.function = function
        self.graph: torch.cuda.CUDAGraph | None = None
        if device.type == "cuda":
            try:
                self._capture(generators)
            except RuntimeError as error:
                self.graph = None
                torch.cuda.synchronize()
                _log.warning("CUDA graph capture failed, going on without it: %s", error)

    @property
    def is_captured(self) -> bool:
        return self.graph is not None

    def __call__(self) -> None:
        if self.graph is None:
            self.function()
        else:
            self.graph.replay()

    def _capture(self, generators: tuple[torch.Generator, ...]) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(_WARM_UP):
                self.function()
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        for generator in generators:
            graph.register_generator_state(generator)
        with torch.cuda.graph(graph):
            self.function()
        self.graph = graph
