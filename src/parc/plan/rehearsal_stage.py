"""A place to try out plans before one of them is chosen: simulated bodies follow them, and every step is kept."""

from collections.abc import Callable

import torch
from torch import Tensor

from parc.plan.plan_writing import GivenUp, is_always_wanted
from parc.plan.tracker_critic import Critic
from parc.terrain.terrain import Terrain
from parc.track.follow.follower import Follower
from parc.track.follow.outcome import FallSettings
from parc.track.follow.plan_reference import PlanReference
from parc.track.follow.trace import Snapshot, Trace


class RehearsalStage:
    """K simulated bodies, and the tracker's opinion of where they came."""

    def __init__(self, follower: Follower, critic: Critic | None, terrain: Terrain) -> None:
        """`terrain` is the one that the follower was made for."""
        self.follower, self.critic = follower, critic
        self._terrain = terrain

    @torch.no_grad()
    def follow(
        self,
        terrain: Terrain,
        states: Snapshot | None,
        reference: PlanReference,
        steps: int,
        first: int = 0,
        age: int = 0,
        fall: FallSettings = FallSettings.at_once(),
        is_wanted: Callable[[], bool] = is_always_wanted,
    ) -> Trace:
        """K bodies follow their references for so many steps, from states [K, ...], or from the references' first frames.

        `first` is the frame of the references at which the bodies should be, `age` control steps after a start. `fall` says
        who has fallen.
        """
        follower = self.follower
        if terrain is not self._terrain:
            self._terrain = terrain
            follower.set_terrain(terrain)

        def check() -> None:
            if not is_wanted():
                raise GivenUp

        check()
        states = follower.start(reference) if states is None else states
        return follower.run(states, reference, steps, first, age, fall, check)

    @torch.no_grad()
    def value(self, trace: Trace, step: Tensor | int) -> Tensor | None:
        """[K] what the tracker expects after so many steps [K]; None without a critic."""
        if self.critic is None:
            return None
        rows = torch.arange(len(trace.observations), device=trace.observations.device)
        return self.critic(trace.observations[rows, step])
