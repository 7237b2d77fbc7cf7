"""What bodies did that cross by reflex, step by step: the loop that measurement and crowds share.

On a GPU a step waits for nothing: states are kept on the device, and it is asked only now and then whether anybody still runs.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from parc.plan.reflex import Reflex

LOOK_EVERY = {"cpu": 1, "cuda": 15}
"""control steps after which it is asked whether anybody still runs; on a GPU that waits"""


@dataclass(frozen=True, eq=False)
class ReflexRecording:
    """N bodies from their beginnings on, on the CPU; what a body does after its end means nothing."""

    qpos: Tensor
    """[N, T + 1, nq]"""
    contacts: Tensor
    """[N, T + 1, B]"""
    outcome: Tensor
    """[N] index into `parc.plan.reflex.OUTCOMES`"""
    steps: Tensor
    """[N] control steps until then"""
    progress: Tensor
    """[N] m along the path"""
    warm: int
    """control steps before the clock began"""
    wall: float
    """s of real time of the steps after those"""

    @property
    def timed_steps(self) -> int:
        """Control steps of bodies that were on their way while the clock ran."""
        return int((self.steps - self.warm).clamp_min(0).sum())


def record_crossings(
    reflex: Reflex,
    before_step: Callable[[int], object] = lambda step: None,
    on_step: Callable[[], object] = lambda: None,
    warm: int = 0,
) -> ReflexRecording:
    """From where a reflex has begun until nobody runs; `before_step(k)` may push. The clock begins after `warm` steps."""
    crossings, count, device = reflex.crossings, reflex.count, reflex.world.device
    qpos, contacts = [reflex.world.qpos.clone()], [reflex.bodies.contacts.clone()]
    limit = int(crossings.limits.max()) + 1
    began = time.perf_counter()
    for step in range(limit):
        if step % LOOK_EVERY[device.type] == 0 and reflex.is_over():
            break
        if step == warm:
            _wait_for(device)
            began = time.perf_counter()
        before_step(step)
        reflex.step()
        qpos.append(reflex.world.qpos.clone())
        contacts.append(reflex.bodies.contacts.clone())
        on_step()
    _wait_for(device)
    wall = time.perf_counter() - began
    states, touches = (torch.stack(column, 1)[:count].cpu() for column in (qpos, contacts))
    outcome, steps, progress = (c[:count].cpu() for c in (crossings.outcome, crossings.steps, crossings.progress))
    return ReflexRecording(states, touches, outcome, steps, progress, warm, wall)


def _wait_for(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
