"""The plan that is being made: beside the physics in a thread, or when it is taken.

At most one is open. It is due at a fixed control step, and is waited for where it is late, so that a run does not depend on how
fast plans are made.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import torch

from parc.plan.online_planner import AnyPlan, Planner, Request


class PlanOrder:
    """Asks a planner for one plan at a time."""

    def __init__(self, planner: Planner, seed: int, device: torch.device, threaded: bool) -> None:
        """`device` is the generator's."""
        self._planner, self._seed, self._device, self._asked = planner, seed, device, 0
        self._pool = ThreadPoolExecutor(1, "pilot planner", torch.set_num_threads, (1,)) if threaded else None
        self._pending: Future[AnyPlan] | Callable[[], AnyPlan] | None = None
        self._given_up = threading.Event()
        self._due = 0
        self._late_since: float | None = None
        self.is_for_wish = False
        """it was asked for since the last wish, or for a body that begins anew"""

    @property
    def is_open(self) -> bool:
        """A plan was asked for and not taken."""
        return self._pending is not None

    def is_due(self, step: int) -> bool:
        """It is to be taken at this control step."""
        return self._pending is not None and step >= self._due

    def is_late(self, step: int) -> bool:
        """It is due and still being made; from the first such look on it counts as waited for."""
        late = self.is_due(step) and isinstance(self._pending, Future) and not self._pending.done()
        if late and self._late_since is None:
            self._late_since = time.perf_counter()
        return late

    def ask(self, request: Request, due: int) -> None:
        """For a plan that is due at a control step."""
        self._given_up = threading.Event()
        request, random = request._replace(given_up=self._given_up), self._random()
        if self._pool is None:
            self._pending = lambda: self._planner.plan(request, random)
        else:
            self._pending = self._pool.submit(self._planner.plan, request, random)
        self._due = due

    def take(self) -> tuple[AnyPlan, float | None]:
        """The plan, and s that were waited for it; None if it was there in time."""
        pending, self._pending, self.is_for_wish = self._pending, None, False
        assert pending is not None
        if not isinstance(pending, Future):
            return pending(), None
        began = time.perf_counter() if self._late_since is None and not pending.done() else self._late_since
        plan = pending.result()
        self._late_since = None
        return plan, None if began is None else time.perf_counter() - began

    def give_up(self) -> None:
        """Forget a plan that is being made; the planner does not finish it."""
        self._given_up.set()
        self._pending = self._late_since = None
        self.is_for_wish = False

    def close(self) -> None:
        """End the thread."""
        self.give_up()
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def _random(self) -> torch.Generator:
        """Numbers for the next plan, which do not depend on whether the plans before it were made or given up."""
        self._asked += 1
        state = np.random.SeedSequence([self._seed, 0, self._asked]).generate_state(1, np.uint64)
        return torch.Generator(self._device).manual_seed(int(state[0]) >> 1)
