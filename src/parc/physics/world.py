"""The simulated world: many copies of one character, each on its own terrain, stepped together.

Two engines implement it: `native` (MuJoCo on CPU threads) and `warp` (MuJoCo Warp on a GPU). Everything is a tensor on
`device` with a leading world dimension N, written in place, so that a caller may capture its own code around it.

`qpos` and `qvel` have MuJoCo's layout: root position 3, root quaternion 4 (wxyz, here only), then for each joint in body
order a quaternion (ball, wxyz) or an angle (hinge); qvel: root linear velocity (world), root angular velocity (root frame), then
3 or 1 a joint. `parc.physics.state` converts to and from motion frames.
"""

from abc import ABC, abstractmethod

import torch
from torch import Tensor

from parc.character.character import Character
from parc.physics.contract import Contract
from parc.terrain.terrain import TerrainBatch


class World(ABC):
    character: Character
    contract: Contract
    num_worlds: int
    device: torch.device

    qpos: Tensor
    """[N, nq]"""
    qvel: Tensor
    """[N, nv]"""
    body_pos: Tensor
    """[N, B, 3] origins of the bodies, world frame, matching qpos"""
    body_rot: Tensor
    """[N, B, 4] xyzw"""
    contacts: Tensor
    """[N, B] 1 where the body touches the terrain after the last substep"""
    diverged: Tensor
    """[N] bool: state not finite or absurdly fast since the last reset of that world; such a world stands still until reset"""
    terrain_row: Tensor
    """[N] long: which terrain of the bank each world is on; write into it together with `reset`"""

    @abstractmethod
    def set_terrains(self, bank: TerrainBatch) -> None:
        """The terrains worlds can be put on; replaces the bank, then every world must be reset."""

    @abstractmethod
    def reset(self, mask: Tensor, qpos: Tensor, qvel: Tensor) -> None:
        """Worlds where mask [N] is true take the state given ([N, nq], [N, nv]); body_pos and body_rot follow; no host sync."""

    @abstractmethod
    def step(self, targets: Tensor) -> None:
        """One control step (1/30 s) with PD targets [N, D] in the character's DoF layout (exp maps and angles)."""
