"""A function that runs thousands of times with the same tensors: recorded once as a CUDA graph, then replayed.

Recording does not execute, and functions here change state (they step worlds and optimisers), so nothing is run merely to warm
up: the first calls are ordinary ones, the next is recorded and replayed. Inputs and outputs live in tensors the function
closes over. On the CPU, or with graphs off, every call is an ordinary one. (`parc.run.captured_ahead` is for functions whose
buffers can be set back: captured before the first call, and able to register random generators.)
"""

import warnings
from collections.abc import Callable

import torch


class CapturedUnderway:
    def __init__(self, function: Callable[[], None], device: torch.device, enabled: bool = True, ordinary_calls: int = 3) -> None:
        self.function = function
        self.device = device
        self._left = ordinary_calls
        self._record = enabled and device.type == "cuda"
        self._graph: torch.cuda.CUDAGraph | None = None

    def __call__(self) -> None:
        if self._graph is not None:
            self._graph.replay()
        elif not self._record or self._left > 0:
            self._left -= 1
            self.function()
        else:
            self._record_graph()
            self()

    def _record_graph(self) -> None:
        """On the current stream if it is not the default one, so that all work stays in one order."""
        current = torch.cuda.current_stream(self.device)
        stream = None if current == torch.cuda.default_stream(self.device) else current
        torch.cuda.synchronize(self.device)
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph, stream=stream):
                self.function()
        except RuntimeError as error:
            self._record = False
            torch.cuda.synchronize(self.device)
            name = getattr(self.function, "__qualname__", str(self.function))
            warnings.warn(f"{name} cannot be recorded as a CUDA graph and runs call by call: {error}", stacklevel=2)
        else:
            self._graph = graph
