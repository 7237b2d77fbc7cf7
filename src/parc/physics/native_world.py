"""The world on CPU threads: `mujoco.batch.Batch`, one simulation a world, each with its own window of ground.

MuJoCo computes in float64 and keeps each simulation's state in a row of one array. What the interface shows is float32 tensors,
copied after each step. With one character a step is as long as its small operations are many, and numpy's on small arrays take
half the time of torch's, hence numpy here, on the memory of the tensors.

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
from parc.physics.mujoco_model import WINDOW, build_model, native_copy, sealed_contract
from parc.physics.native_skeleton import NativeSkeleton
from parc.physics.physical_contract import Contract
from parc.physics.simulated_world import World, out_of_bounds
from parc.physics.terrain_window import window_boxes
from parc.physics.varied_model import VARIED, BodyVariation, VariedModel
from parc.terrain.terrain import CELL, Terrain, TerrainBatch

_STILL_ABOVE = 0.499
"""cells from the middle of its middle box within which a root needs no other window"""


class NativeWorld(World):
    """N worlds in MuJoCo on CPU threads; each has its own row of a bank of terrains."""

    def __init__(self, character: Character, contract: Contract, num_worlds: int, threads: int = 0, cell: float = CELL) -> None:
        """threads: 0 takes one for each CPU."""
        if num_worlds < 1 or threads < 0:
            raise SettingsError(f"{num_worlds} worlds on {threads} threads asked for, expected at least 1 world and 0 threads")
        self.character, self.contract = character, sealed_contract(character, contract)
        self.num_worlds, self.device, self.cell = num_worlds, torch.device("cpu"), cell
        self.model = build_model(character, contract, cell)
        threads = min(threads, num_worlds)
        self._batch = Batch(native_copy(self.model), num_worlds, threads)
        self._batch.warning[..., 1] = 1
        self._qpos, self._qvel, self._ctrl, self._warmstart, self._touches = (
            self._batch.bind(name) for name in ("qpos", "qvel", "ctrl", "qacc_warmstart", "sensordata")
        )
        self._window = self._batch.expand("geom_pos")[:, : WINDOW * WINDOW]
        self._varied: VariedModel | None = None
        self._skeleton = NativeSkeleton(character, self.model, num_worlds, threads)

        bodies = character.num_bodies
        self.qpos, self.qvel = (torch.from_numpy(state).float() for state in (self._qpos, self._qvel))
        self.body_pos, self.body_rot = torch.zeros(num_worlds, bodies, 3), torch.zeros(num_worlds, bodies, 4)
        self.contacts = torch.zeros(num_worlds, bodies)
        self.diverged = torch.zeros(num_worlds, dtype=torch.bool)
        self.idle = torch.zeros(num_worlds, dtype=torch.bool)
        self.terrain_row = torch.zeros(num_worlds, dtype=torch.long)
        self.set_terrains(TerrainBatch.stack([Terrain.flat((1, 1), cell=cell)]))
        self._publish()

    def set_terrains(self, bank: TerrainBatch) -> None:
        self.check_bank(bank)
        self._bank = bank.to(self.device)
        self._window_row = np.full(self.num_worlds, -1)
        """[N] terrain that the windows show; none of this bank yet"""
        self.terrain_row.zero_()

    def replace_terrains(self, rows: Tensor, terrains: TerrainBatch) -> None:
        self._bank.put(rows, terrains)
        self._window_row[np.isin(self._window_row, rows.numpy())] = -1

    @torch.no_grad()
    def reset(self, mask: Tensor, qpos: Tensor, qvel: Tensor) -> None:
        if not mask.any():
            return
        bad = out_of_bounds(qpos, qvel)
        taken = (mask & ~bad).numpy()
        self._qpos[taken], self._qvel[taken] = qpos.detach().numpy()[taken], qvel.detach().numpy()[taken]
        self._warmstart[mask.numpy()] = 0.0
        self.contacts[mask] = 0.0
        self.diverged[mask] = bad[mask]
        self._publish()

    def prepare_variation(self) -> None:
        if self._varied is None:
            fields = {name: torch.from_numpy(self._batch.expand(name)) for name in VARIED}
            self._varied = VariedModel(self.model, self.character, fields)
            self._late = np.zeros(self.num_worlds, dtype=np.int64)
            self._fresh = np.ones(self.num_worlds, dtype=bool)
            self._last_wanted = np.zeros((self.num_worlds, self.character.num_dof))

    def vary(self, mask: Tensor, variation: BodyVariation) -> None:
        self.prepare_variation()
        assert self._varied is not None
        self._varied.write(mask, variation)
        chosen = mask.numpy()
        self._late[chosen] = self.substeps_late(variation.delay).numpy()[chosen]
        self._fresh |= chosen

    def step(self, targets: Tensor) -> None:
        self.check_targets(targets)
        wanted, diverged = targets.detach().numpy(), self.diverged.numpy()
        diverged |= ~np.isfinite(wanted).all(-1)
        moving = ~(diverged | self.idle.numpy())
        good_qpos, good_qvel = self._qpos.copy(), self._qvel.copy()
        self._ctrl[:, : self.character.num_dof] = wanted  # stops of balls have no control
        self._move_windows()
        failed = self._run(moving, wanted)

        diverged |= out_of_bounds(self._qpos, self._qvel)
        diverged[failed] = True
        if diverged.any():
            self._qpos[diverged], self._qvel[diverged], self._warmstart[diverged] = good_qpos[diverged], good_qvel[diverged], 0.0
        np.copyto(self.contacts.numpy(), self._touches > 0, where=moving[:, None])
        self._publish()

    def _move_windows(self) -> None:
        """Those whose root is no longer above their middle box, or on another terrain."""
        self._check_rows()
        row, off = self.terrain_row.numpy(), np.abs(self._qpos[:, :2] - self._window[:, WINDOW * WINDOW // 2, :2])
        moved = (off > _STILL_ABOVE * self.cell).any(-1) | (row != self._window_row)
        if moved.any():
            which, root = torch.from_numpy(moved), torch.from_numpy(self._qpos[:, :2])
            self._window[moved] = window_boxes(self._bank, self.terrain_row[which], root[which]).numpy()
            self._window_row[moved] = row[moved]

    def _run(self, moving: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """All substeps of the moving worlds; returns the worlds in which MuJoCo gave up."""
        if self._varied is None or not self._late.any():
            failed = self._substeps(moving, self.contract.substeps)
        else:
            late, failed = np.where(self._fresh, 0, self._late), np.empty(0, dtype=np.int64)
            for substep in range(self.contract.substeps):
                waits = (substep < late)[:, None]
                self._ctrl[:, : self.character.num_dof] = np.where(waits, self._last_wanted, wanted)
                gave_up = self._substeps(moving, 1)
                moving = moving.copy()
                moving[gave_up] = False
                failed = np.concatenate([failed, gave_up])
        if self._varied is not None:
            self._last_wanted[...] = wanted
            self._fresh[...] = False
        return failed

    def _substeps(self, moving: np.ndarray, count: int) -> np.ndarray:
        if not moving.any():
            return np.empty(0, dtype=np.int64)
        try:
            self._batch.step(None if moving.all() else moving, nstep=count)
        except SimulationError as error:
            return np.asarray(error.ids)
        return np.empty(0, dtype=np.int64)

    def _check_rows(self) -> None:
        row = self.terrain_row.numpy()
        low, high = row.min(), row.max()
        if low < 0 or high >= len(self._bank):
            wrong = low if low < 0 else high
            raise TerrainError(f"terrain_row names terrain {wrong}, the bank has {len(self._bank)}")

    def _publish(self) -> None:
        self.qpos.numpy()[...] = self._qpos
        self.qvel.numpy()[...] = self._qvel
        self._skeleton.pose(self._qpos, self.body_pos, self.body_rot)

    def data_of(self, index: int) -> tuple[mujoco.MjModel, mujoco.MjData]:
        """One world as a MuJoCo model and data, for rendering or for any `mj_` function."""
        model, data = self._batch.get_model(index), self._batch.get_data(index)
        mujoco.mj_forward(model, data)
        return model, data
