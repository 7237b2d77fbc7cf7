"""What is kept of bodies that follow references: states to go on from, and what became of each body."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor

from parc.character import rotation
from parc.character.character import Character
from parc.motion.frame_state import FrameState
from parc.motion.motion import Motion
from parc.motion.mujoco_qpos import qpos_to_frames


class Snapshot(NamedTuple):
    """Bodies between two control steps: all that a simulation needs to go on. [K, ...], or of one body [...]."""

    qpos: Tensor
    """[nq]"""
    qvel: Tensor
    """[nv]"""
    contacts: Tensor
    """[B]"""
    qpos_before: Tensor
    """[nq] one control step earlier"""
    contacts_before: Tensor
    """[B]"""
    offset: Tensor
    """[D] rad, held by the motor targets (`parc.track.env.motor_action`)"""

    @classmethod
    def stack(cls, states: "Sequence[Snapshot]", dim: int = 0) -> "Snapshot":
        """Many side by side, [K, ...]; or with dim 1 one after the other in time."""
        return cls(*(torch.stack(parts, dim) for parts in zip(*states, strict=True)))

    def row(self, index: int) -> "Snapshot":
        """One of K."""
        return Snapshot(*(part[index] for part in self))

    def frames(self, character: Character) -> FrameState:
        """[..., 2, ...] the frame before and this one, as a generator sees a past."""
        qpos = torch.stack([self.qpos_before, self.qpos], -2)
        root_pos, root_rot, joint_rot = qpos_to_frames(character, qpos)
        contacts = torch.stack([self.contacts_before, self.contacts], -2)
        return FrameState(root_pos, rotation.to_matrix(root_rot), rotation.to_matrix(joint_rot), contacts)


def _none() -> Tensor:
    return torch.empty(0, 0)


@dataclass(eq=False)
class Trace:
    """What became of R bodies. Columns by step are empty unless they are kept; index 0 of states is before the first step."""

    survived: Tensor
    """[R] control steps before the body failed, had fallen (where that counts), or the clip was over"""
    mean_error: Tensor
    """[R] m, mean root-relative distance of the bodies from the reference's over these steps; NaN if there are none"""
    reached_end: Tensor
    """[R] bool, see `parc.track.follow.outcome`"""
    broken: Tensor
    """[R] bool, stopped because the simulation broke, not the pose"""
    error: Tensor = field(default_factory=_none)
    """[R, S] m, mean root-relative distance after each step"""
    drift: Tensor = field(default_factory=_none)
    """[R, S] m, distance of the root from the reference's"""
    states: Snapshot = field(default_factory=lambda: Snapshot(*[_none()] * 6))
    """[R, S + 1, ...]"""
    targets: Tensor = field(default_factory=_none)
    """[R, S, D] motor targets given"""
    observations: Tensor = field(default_factory=_none)
    """[R, S + 1, size] what the policy saw, or would see next"""
    motions: list[Motion] = field(default_factory=list)
    """R, each as far as it survived, frames 0 to `survived`, with the simulator's contacts; of clips only"""
    errors: list[Tensor] = field(default_factory=list)
    """R of [survived + 1] m, error of each frame, 0 in the first; of clips only"""

    @classmethod
    def empty(cls, runs: int) -> "Trace":
        """Of bodies that have not begun, on the CPU."""
        no, none = torch.zeros(runs, dtype=torch.bool), torch.zeros(runs)
        return cls(torch.zeros(runs, dtype=torch.long), none, no, no.clone())

    @property
    def steps(self) -> int:
        """S"""
        return self.error.shape[1]

    @property
    def root_pos(self) -> Tensor:
        """[R, S + 1, 3]"""
        return self.states.qpos[..., :3]

    def state(self, step: Tensor) -> Snapshot:
        """The states [R] after so many steps [R]."""
        row = torch.arange(len(step), device=step.device)
        return Snapshot(*(part[row, step] for part in self.states))
