"""The simulated world: many copies of one character, each on its own terrain, stepped together.

Two engines implement it: `native_world` (MuJoCo on CPU threads) and `warp_world` (MuJoCo Warp on a GPU). Everything is a tensor
on `device` with a leading world dimension N, written in place, so that a caller may capture its own code around it.

`qpos` and `qvel` have MuJoCo's layout: root position 3, root quaternion 4 (wxyz, here only), then for each joint in body
order a quaternion (ball, wxyz) or an angle (hinge); qvel: root linear velocity (world), root angular velocity (root frame), then
3 or 1 a joint. `parc.motion.mujoco_qpos` converts to and from motion frames.

The tensors are for reading, except `terrain_row` and `idle`; a state is changed by `reset` alone. A world whose state stops
being finite, or whose targets are not finite, is put back to its last good state and stands still there, its `diverged` flag
set, until it is reset.
"""

import math
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from parc.character.character import Character
from parc.errors import SettingsError, TerrainError
from parc.physics.physical_contract import Contract
from parc.terrain.terrain import TerrainBatch

Array = TypeVar("Array", Tensor, np.ndarray)
MAX_SPEED = 200.0
"""m/s and rad/s; a world with any faster coordinate has diverged"""


def out_of_bounds(qpos: Array, qvel: Array) -> Array:
    """[N] worlds whose state is not finite or absurdly fast."""
    bounded: Any = (abs(qpos) < math.inf).all(-1) & (abs(qvel) <= MAX_SPEED).all(-1)
    return ~bounded


class World(ABC):
    """N simulated characters, each on a terrain of its own; what both engines do."""

    character: Character
    contract: Contract
    num_worlds: int
    device: torch.device
    cell: float
    """side of a terrain cell, m; fixed for the life of a world"""

    qpos: Tensor
    """[N, nq]"""
    qvel: Tensor
    """[N, nv]"""
    body_pos: Tensor
    """[N, B, 3] origins of the bodies, world frame, matching qpos"""
    body_rot: Tensor
    """[N, B, 4] xyzw"""
    contacts: Tensor
    """[N, B] 1 where the body touched the terrain in the last substep, else 0; 0 after a reset"""
    diverged: Tensor
    """[N] bool: state not finite or absurdly fast since the last reset of that world; such a world stands still until reset"""
    idle: Tensor
    """[N] bool, written by the caller: worlds nobody looks at. The CPU leaves them out of a step; a GPU gains nothing by that and
    steps them all the same"""
    terrain_row: Tensor
    """[N] long: which terrain of the bank each world is on; write into it together with `reset`"""

    @abstractmethod
    def set_terrains(self, bank: TerrainBatch) -> None:
        """The terrains worlds can be put on; replaces the bank and sets `terrain_row` to 0, then every world must be reset."""

    @abstractmethod
    def replace_terrains(self, rows: Tensor, terrains: TerrainBatch) -> None:
        """Other terrains [K] in rows [K] of the bank, padded to its grids; in place, so that a recorded step goes on.

        Worlds on these rows must be reset. The bank that was handed over may change with it.
        """

    @abstractmethod
    def reset(self, mask: Tensor, qpos: Tensor, qvel: Tensor) -> None:
        """Worlds where mask [N] is true take the state given ([N, nq], [N, nv]); body_pos and body_rot follow; no host sync.

        A state that is not finite is not taken: the world keeps the one it has and is flagged as diverged.
        """

    def check_targets(self, targets: Tensor) -> None:
        """An error in one sentence if targets have another shape than the motors."""
        expected = (self.num_worlds, self.character.num_dof)
        if tuple(targets.shape) != expected:
            raise SettingsError(
                f"targets have shape {list(targets.shape)}, expected {list(expected)} (worlds, degrees of freedom)"
            )

    def check_bank(self, bank: TerrainBatch) -> None:
        """An error in one sentence if terrains do not fit the world."""
        if abs(bank.cell - self.cell) > 1e-6:
            raise TerrainError(
                f"the terrains have cells of {bank.cell} m, this world was made for cells of {self.cell} m; "
                f"make the world with cell={bank.cell}"
            )

    def on_stream(self) -> AbstractContextManager:
        """Inside, torch works on the engine's own stream, so that neither waits for the other; nothing to do on the CPU."""
        return nullcontext()

    @abstractmethod
    def step(self, targets: Tensor) -> None:
        """One control step (1/30 s) with PD targets [N, D] in the character's DoF layout (exp maps and angles)."""
