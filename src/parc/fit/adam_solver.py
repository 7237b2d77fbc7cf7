"""One solver for every fit: Adam on a scalar loss of a few tensors.

`descend` takes a fixed number of steps whose size falls as a cosine. `until_still` cuts the step to a third whenever the loss
stands still, three times, then ends. A loss that is a fixed list of tensor operations without host sync can be `captured`: on
CUDA an iteration is then recorded once as a graph and replayed.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from parc.run.cuda_graph import CudaGraph

_CUTS = 3
"""times that a step is cut before the end"""
_EVERY = 50
"""iterations between two looks at the loss, at most"""


class AdamSolver:
    """Minimises `loss`, a scalar that is computed anew in every step, over groups of (tensors, size of their steps)."""

    def __init__(
        self,
        loss: Callable[[], Tensor],
        groups: Sequence[tuple[Sequence[Tensor], float]],
        betas: tuple[float, float] = (0.9, 0.999),
        captured: bool = False,
    ) -> None:
        self._loss, self._tensors = loss, [x for tensors, _ in groups for x in tensors]
        first = self._tensors[0]
        self.done = 0
        """steps taken; replays of a captured step are not counted"""
        self.total = torch.zeros((), device=first.device, dtype=first.dtype)
        """the loss before the last step"""
        # a captured step reads its size from the device, where `until_still` changes it
        rates = [torch.full((), rate, device=first.device) if captured else rate for _, rate in groups]
        sets = [{"params": list(tensors), "lr": rate} for (tensors, _), rate in zip(groups, rates, strict=True)]
        on_gpu = captured and first.is_cuda
        self._rates = rates
        self._adam = torch.optim.Adam(sets, lr=rates[0], betas=betas, capturable=on_gpu, fused=on_gpu or None)
        self._captured = captured

    def stepper(self) -> Callable[[], None]:
        """One iteration, captured where that is wanted and possible; those that warm up are iterations too."""
        for x in self._tensors:
            x.grad = torch.zeros_like(x)
        return CudaGraph(self._step, self.total.device, every_run_counts=False, enabled=self._captured)

    def _step(self) -> None:
        self._adam.zero_grad(set_to_none=False)
        value = self._loss()
        value.backward()
        self._adam.step()
        self.total.copy_(value.detach())
        self.done += 1

    def descend(self, steps: int, last: float) -> None:
        """So many steps; their size falls as a cosine to the size `last`."""
        step = self.stepper()
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(self._adam, steps, last)
        for _ in range(steps):
            step()
            schedule.step()

    def until_still(
        self, steps: int, patience: int, gain: float, on_progress: Callable[[int, float], None] | None = None
    ) -> None:
        """At most so many steps; after `patience` of them without a relative `gain` they are cut, with 0 never."""
        step = self.stepper()
        best, since, cuts = float("inf"), 0, 0
        check = max(1, min(_EVERY, patience or _EVERY))
        for i in range(steps):
            step()
            if (i + 1) % check:
                continue
            now = float(self.total)
            if on_progress:
                on_progress(i + 1, now)
            best, since = (now, 0) if now < best * (1 - gain) else (best, since + check)
            if patience and since >= patience:
                if cuts == _CUTS:
                    return
                for rate in self._rates:
                    rate.mul_(1 / 3)  # type: ignore[union-attr]
                cuts, since = cuts + 1, 0
