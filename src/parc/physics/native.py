"""The world on CPU threads: `mujoco.batch.Batch`, one simulation a world, each with its own window of ground.

MuJoCo computes in float64 and keeps each simulation's state in a row of one array; torch tensors over that array share its
memory. What the interface shows is float32, copied after each step, and positions of bodies come from our own forward
kinematics at the new qpos (MuJoCo's own lag one substep behind after a step).

Worlds that have diverged are left out of the call, so a broken world costs nothing and warns once at most. MuJoCo prints a
warning only while a simulation's counter for it is zero: counters start at one, which keeps it silent.
"""

import mujoco
import numpy as np
import torch
from mujoco.batch import Batch, SimulationError
from torch import Tensor

from parc.character.character import Character
from parc.errors import SettingsError, TerrainError
from parc.motion.qpos import qpos_to_bodies
from parc.physics.contract import Contract
from parc.physics.model import WINDOW, build_model, native_copy, sealed_contract
from parc.physics.window import window_boxes
from parc.physics.world import World, out_of_bounds
from parc.terrain.terrain import CELL, Terrain, TerrainBatch


class NativeWorld(World):
    def __init__(self, character: Character, contract: Contract, num_worlds: int, threads: int = 0, cell: float = CELL) -> None:
        """threads: 0 takes one for each CPU."""
        if num_worlds < 1 or threads < 0:
            raise SettingsError(f"{num_worlds} worlds on {threads} threads asked for, expected at least 1 world and 0 threads")
        self.character, self.contract = character, sealed_contract(character, contract)
        self.num_worlds, self.device, self.cell = num_worlds, torch.device("cpu"), cell
        self.model = build_model(character, contract, cell)
        self._batch = Batch(native_copy(self.model), num_worlds, min(threads, num_worlds))
        self._batch.warning[..., 1] = 1
        self._qpos, self._qvel, self._ctrl, self._warmstart = (
            torch.from_numpy(self._batch.bind(name)) for name in ("qpos", "qvel", "ctrl", "qacc_warmstart")
        )
        self._window = torch.from_numpy(self._batch.expand("geom_pos"))[:, : WINDOW * WINDOW]
        self._touches = self._batch.bind("sensordata")

        bodies = character.num_bodies
        self.qpos, self.qvel = self._qpos.float(), self._qvel.float()
        self.body_pos, self.body_rot = torch.zeros(num_worlds, bodies, 3), torch.zeros(num_worlds, bodies, 4)
        self.contacts = torch.zeros(num_worlds, bodies)
        self.diverged = torch.zeros(num_worlds, dtype=torch.bool)
        self.idle = torch.zeros(num_worlds, dtype=torch.bool)
        self.terrain_row = torch.zeros(num_worlds, dtype=torch.long)
        self._bank = TerrainBatch.stack([Terrain.flat((1, 1), cell=cell)])
        self._publish()

    def set_terrains(self, bank: TerrainBatch) -> None:
        self.check_bank(bank)
        self._bank = bank.to(self.device)
        self.terrain_row.zero_()

    @torch.no_grad()
    def reset(self, mask: Tensor, qpos: Tensor, qvel: Tensor) -> None:
        if not mask.any():
            return
        bad = out_of_bounds(qpos, qvel)
        taken = mask & ~bad
        self._qpos[taken], self._qvel[taken] = qpos[taken].double(), qvel[taken].double()
        self._warmstart[mask] = 0.0
        self.contacts[mask] = 0.0
        self.diverged[mask] = bad[mask]
        self._publish()

    @torch.no_grad()
    def step(self, targets: Tensor) -> None:
        self.check_targets(targets)
        self._check_rows()
        self.diverged |= ~targets.isfinite().all(-1)
        moving = ~(self.diverged | self.idle)
        good_qpos, good_qvel = self._qpos.clone(), self._qvel.clone()
        self._ctrl.copy_(targets)
        self._window.copy_(window_boxes(self._bank, self.terrain_row, self._qpos[:, :2]))
        failed = self._run(moving)

        self.diverged |= out_of_bounds(self._qpos, self._qvel)
        self.diverged[failed] = True
        still = self.diverged
        self._qpos[still], self._qvel[still], self._warmstart[still] = good_qpos[still], good_qvel[still], 0.0
        self.contacts[moving] = torch.from_numpy(self._touches > 0).float()[moving]
        self._publish()

    def _run(self, moving: Tensor) -> np.ndarray:
        """All substeps of the moving worlds; returns the worlds in which MuJoCo gave up."""
        if not moving.any():
            return np.empty(0, dtype=np.int64)
        try:
            self._batch.step(None if moving.all() else moving.numpy(), nstep=self.contract.substeps)
        except SimulationError as error:
            return np.asarray(error.ids)
        return np.empty(0, dtype=np.int64)

    def _check_rows(self) -> None:
        low, high = int(self.terrain_row.min()), int(self.terrain_row.max())
        if low < 0 or high >= len(self._bank):
            wrong = low if low < 0 else high
            raise TerrainError(f"terrain_row names terrain {wrong}, the bank has {len(self._bank)}")

    def _publish(self) -> None:
        self.qpos.copy_(self._qpos)
        self.qvel.copy_(self._qvel)
        pose = qpos_to_bodies(self.character, self.qpos)
        self.body_pos.copy_(pose.pos)
        self.body_rot.copy_(pose.rot)

    def data_of(self, index: int) -> tuple[mujoco.MjModel, mujoco.MjData]:
        """One world as a MuJoCo model and data, for rendering or for any `mj_` function."""
        model, data = self._batch.get_model(index), self._batch.get_data(index)
        mujoco.mj_forward(model, data)
        return model, data
