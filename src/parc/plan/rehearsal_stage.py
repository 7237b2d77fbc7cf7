"""A place to try out plans before one of them is chosen: simulated bodies follow them, and every step is kept."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from parc.character.posture import crouch
from parc.motion.frame_state import FrameState
from parc.motion.mujoco_qpos import qpos_to_bodies
from parc.plan.future_tree import Branch, Origin
from parc.plan.plan_writing import GivenUp, is_always_wanted
from parc.plan.tracker_critic import Critic
from parc.terrain.terrain import Terrain
from parc.track.follow.follower import Follower
from parc.track.follow.outcome import FallSettings
from parc.track.follow.plan_reference import PlanReference
from parc.track.follow.trace import Snapshot, Trace


@dataclass(frozen=True, eq=False)
class Rehearsed:
    """What became of K bodies that followed K plans."""

    trace: Trace
    """[K]"""
    reference: PlanReference
    """[K]"""
    parents: Sequence[Branch]
    """K branches that the plans were written after; none if they were written out of nothing"""

    def branch(
        self, row: int, end: int, origin: Origin | None = None, value: float = 0.0, progress: float = 0.0, crouch: float = 0.0
    ) -> Branch:
        """One of them, grown from its parent, of which `end` steps are taken."""
        parent = self.parents[row] if self.parents else None
        return Branch.of(self.trace, self.reference, row, end, origin, parent, 0, value, progress, crouch)


class RehearsalStage:
    """K simulated bodies, and the tracker's opinion of where they came."""

    def __init__(self, follower: Follower, critic: Critic | None, terrain: Terrain) -> None:
        """`terrain` is the one that the follower was made for."""
        self.follower, self.critic = follower, critic
        self._terrain = terrain

    def rehearse(
        self,
        terrain: Terrain,
        parents: Sequence[Branch],
        frames: FrameState,
        steps: int,
        age: int = 0,
        fall: FallSettings = FallSettings.at_once(),
        is_wanted: Callable[[], bool] = is_always_wanted,
    ) -> Rehearsed:
        """Plans [K, n, ...] written after K branches, or out of nothing, are followed for so many steps; rest as for `follow`."""
        reference = PlanReference.of(self.follower.anatomy, frames)
        states = Snapshot.stack([parent.last for parent in parents]) if parents else None
        trace = self.follow(terrain, states, reference, steps, 0, age, fall, is_wanted)
        return Rehearsed(trace, reference, parents)

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
    def crouch(self, trace: Trace, allowed: float) -> Tensor:
        """[K] rad that the straighter knee is bent beyond `allowed`, mean over the steps (`parc.character.posture`)."""
        character = self.follower.world.character
        pose = qpos_to_bodies(character, trace.states.qpos[:, 1:])
        return crouch(character, pose, trace.states.contacts[:, 1:], allowed).mean(1)

    @torch.no_grad()
    def value(self, trace: Trace, step: Tensor | int) -> Tensor | None:
        """[K] what the tracker expects after so many steps [K]; None without a critic."""
        if self.critic is None:
            return None
        rows = torch.arange(len(trace.observations), device=trace.observations.device)
        return self.critic(trace.observations[rows, step])
