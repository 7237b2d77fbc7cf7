"""A function of tensors that stay where they are, captured once as a CUDA graph and then replayed.

The function takes nothing and returns nothing; it reads and writes tensors that it closes over, never asks the host, and draws
random numbers only from the generators given here. Capturing does not execute, and needs a few runs before it, in which libraries
and caches set themselves up. What those runs do decides when the graph is captured:

    every run counts    the first calls are ordinary ones, the next is captured and replayed (worlds and optimisers that step)
    runs do not count   it is run and captured before the first call; the caller then sets the buffers back, or lets them be

On the CPU, with graphs off, or where capturing fails, every call is an ordinary one.
"""

import logging
from collections.abc import Callable

import torch

_log = logging.getLogger(__name__)
_WARM_UP = 3
"""runs before a capture"""


class CudaGraph:
    """A function that is called as it is at first, and replayed as soon as it has been captured."""

    def __init__(
        self,
        function: Callable[[], None],
        device: torch.device,
        every_run_counts: bool,
        generators: tuple[torch.Generator, ...] = (),
        enabled: bool = True,
    ) -> None:
        """`generators`: all that the function draws from; each goes on from replay to replay."""
        self.function, self.device, self._generators = function, device, generators
        self._graph: torch.cuda.CUDAGraph | None = None
        self._is_wanted = enabled and device.type == "cuda"
        self._ordinary_calls_left = _WARM_UP
        if self._is_wanted and not every_run_counts:
            self._try(self._warm_up_and_capture)

    @property
    def is_captured(self) -> bool:
        """Whether calls are replays."""
        return self._graph is not None

    def __call__(self) -> None:
        # the graph's first call: capturing did not execute, so it is replayed at once
        if self._graph is None and self._is_wanted and self._ordinary_calls_left == 0:
            torch.cuda.synchronize(self.device)
            self._try(self._capture)
        if self._graph is not None:
            self._graph.replay()
        else:
            self._ordinary_calls_left = max(0, self._ordinary_calls_left - 1)
            self.function()

    def _try(self, capture: Callable[[], None]) -> None:
        """Capture, or say why not and go on without."""
        try:
            capture()
        except RuntimeError as error:
            self._graph, self._is_wanted = None, False
            torch.cuda.synchronize(self.device)
            name = getattr(self.function, "__qualname__", str(self.function))
            _log.warning("%s cannot be captured as a CUDA graph and runs call by call: %s", name, error)

    def _warm_up_and_capture(self) -> None:
        """Warm up on a stream beside the current one, as torch asks for where gradients are taken."""
        current = torch.cuda.current_stream(self.device)
        beside = torch.cuda.Stream(self.device)
        beside.wait_stream(current)
        with torch.cuda.stream(beside):
            for _ in range(_WARM_UP):
                self.function()
        current.wait_stream(beside)
        torch.cuda.synchronize(self.device)
        self._capture()

    def _capture(self) -> None:
        """On the current stream if it is not the default one, so that all work stays in one order."""
        current = torch.cuda.current_stream(self.device)
        stream = None if current == torch.cuda.default_stream(self.device) else current
        graph = torch.cuda.CUDAGraph()
        for generator in self._generators:
            graph.register_generator_state(generator)
        with torch.cuda.graph(graph, stream=stream):
            self.function()
        self._graph = graph
