"""Simulated bodies that follow plans: references which are made while they run.

`parc.track.follow.runner` follows clips that are known from the start; here the reference changes under a running body. One
`Follower` holds K bodies on one terrain, each with its own plan, all at the same frame: one body is the character itself, K are a
rehearsal of K plans. Nothing restarts and nothing is drawn: a body that fails or falls goes on being simulated, and
`Trace.survived` tells how many steps before that were good.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from parc.errors import SettingsError
from parc.physics.choose_engine import make_world
from parc.terrain.terrain import Terrain, TerrainBatch
from parc.track.env.body_tables import BodyTables
from parc.track.follow.outcome import FallSettings, is_broken
from parc.track.follow.plan_reference import PlanReference
from parc.track.follow.reference_table import WrittenTable
from parc.track.follow.runner import OnStep, follow_steps
from parc.track.follow.trace import Snapshot, Trace
from parc.track.follow.tracked_bodies import TrackedBodies
from parc.track.learn.inference_mode import inference
from parc.track.learn.policy import TrainedActor

SETTLED = 1 << 20
"""control steps after a start that are past any grace"""


class Tracking(NamedTuple):
    """How far bodies are from where they should be."""

    error: Tensor
    """[K] m, mean root-relative distance of the bodies from the reference's"""
    root: Tensor
    """[K] m, distance of the root from the reference's"""
    lost: Tensor
    """[K] bool, beyond the tracker's limits, or the simulation broke"""


class Follower:
    """K bodies with one policy: `put` them, `follow` a reference, then `step`; or all at once, `run`."""

    def __init__(
        self,
        trained: TrainedActor,
        terrain: Terrain | Sequence[Terrain],
        bodies: int = 1,
        threads: int = 1,
        graphs: bool = False,
    ) -> None:
        """On the policy's device, on one terrain or each body on its own; threads (0: all cores) are the CPU engine's.

        graphs: record CUDA graphs, which no other thread may disturb.
        """
        terrains = [terrain] if isinstance(terrain, Terrain) else list(terrain)
        self.trained, self.character = trained, trained.character
        device = trained.actor.normalizer.mean.device
        self.world = make_world(self.character, trained.contract, bodies, device, threads, terrains[0].cell)
        self.world.contract.check_matches(trained.contract)
        self.anatomy = BodyTables(self.character, device)
        self.reference: PlanReference | None = None
        table, bank = self._table(1), _bank(terrains, device)
        self.tracked = TrackedBodies(self.world, table, bank, trained.settings, graphs=graphs, keeps_past=True)
        """what is stepped"""
        self._everybody = torch.arange(bodies, device=device)
        self.set_terrain(*terrains)

    @property
    def bodies(self) -> int:
        """K"""
        return self.world.num_worlds

    @property
    def frame(self) -> int:
        """Of the reference, that the bodies are at."""
        return int(self.tracked.frame[0])

    @property
    def fps(self) -> float:
        """Control steps a second."""
        return float(self.world.contract.control_hz)

    @property
    def targets(self) -> Tensor:
        """[K, D] motor targets of the last step, in a buffer that the next step overwrites."""
        return self.tracked.targets

    def set_terrain(self, *terrains: Terrain) -> None:
        """One for all bodies or one for each, from the next step on; the bodies stay where they are."""
        if len(terrains) not in (1, self.bodies):
            raise SettingsError(f"{len(terrains)} terrains for {self.bodies} bodies, expected one, or one for each")
        self.tracked.set_terrains(_bank(terrains, self.world.device))
        if len(terrains) > 1:
            self.world.terrain_row.copy_(self._everybody)
        self._is_observed = self._is_judged = False

    def start(self, reference: PlanReference) -> Snapshot:
        """[K, ...] on frame 0 of the reference, moving on to frame 1; put there, not simulated."""
        rows = reference.rows
        qpos, contacts = rows.qpos[:, 0], rows.contacts[:, 0].round()
        velocity = reference.start_velocity(self.anatomy, self.fps)
        return Snapshot(qpos, velocity, contacts, qpos, contacts, torch.zeros_like(rows.dof[:, 0]))

    def put(self, states: Snapshot) -> None:
        """Put the bodies into states [K, ...], or all into one [...]."""
        self.tracked.restore(Snapshot.stack([states] * self.bodies) if states.qpos.dim() == 1 else states)
        self._is_observed = self._is_judged = False

    def follow(self, reference: PlanReference, frame: int = 0, age: int = SETTLED) -> None:
        """From now on; `frame` of the reference is where the bodies should be now, `age` control steps after a start."""
        if reference.count != self.bodies:
            raise SettingsError(f"{reference.count} references, expected one for each of {self.bodies} bodies")
        table = self.tracked.reference
        assert isinstance(table, WrittenTable)
        if reference.length > table.room:
            table = self._table(reference.length)
            self.tracked.read(table)
        if reference is not self.reference:
            table.write(self._everybody, 0, reference.rows)
            self.reference = reference
        self.tracked.place(frame, age)
        self._is_observed = self._is_judged = False

    def snapshots(self) -> Snapshot:
        """Of all bodies, [K, ...]."""
        return self.tracked.snapshots()

    def snapshot(self, index: int = 0) -> Snapshot:
        """Of one body."""
        return self.snapshots().row(index)

    def push(self, velocity: Tensor) -> None:
        """A sudden change [3] of all bodies' velocity, m/s."""
        states = self.snapshots()
        self.put(states._replace(qvel=torch.cat([states.qvel[:, :3] + velocity, states.qvel[:, 3:]], -1)))

    @torch.no_grad()
    def observe(self) -> Tensor:
        """[K, size] what the policy sees now, in a buffer that the next look overwrites."""
        if self.reference is None:
            raise SettingsError("the bodies follow nothing yet; call follow first")
        if not self._is_observed:
            self.tracked.observe()
            self._is_observed = True
        return self.tracked.observation

    def step(self) -> None:
        """One control step."""
        act = self.trained.act
        with inference(self.world.device):
            self.tracked.step(act(self.observe()))
        self._is_judged = True

    def tracking(self) -> Tracking:
        """How far the bodies are from where their references are now."""
        bodies = self.tracked
        if self._is_judged:
            return Tracking(bodies.error.clone(), bodies.drift.clone(), bodies.failed.clone())
        gaps = bodies.gaps(bodies.reference.row(bodies.strip, bodies.frame))
        return Tracking(gaps.body.mean(-1), gaps.root, bodies.lost(gaps, bodies.age) | is_broken(self.world.diverged))

    def down(self, settings: FallSettings) -> Tensor:
        """[K] bool, on the ground."""
        return self.tracked.down(settings)

    @torch.no_grad()
    def run(
        self,
        states: Snapshot,
        reference: PlanReference,
        steps: int,
        frame: int = 0,
        age: int = 0,
        fall: FallSettings = FallSettings.at_once(),
        on_step: OnStep | None = None,
    ) -> Trace:
        """So many control steps from states [K, ...], which are at a frame of the reference, `age` control steps after a start.

        Every step is kept. `fall` says which bodies have fallen.
        """
        if steps < 1:
            raise SettingsError(f"{steps} steps were asked for, expected at least 1")
        self.follow(reference, frame, age)
        self.put(states)
        self.observe()
        self._is_judged = True
        everybody = torch.ones_like(self.world.diverged)
        return follow_steps(self.tracked, self.trained.act, steps, everybody, "everything", fall, on_step)

    def _table(self, room: int) -> WrittenTable:
        """For plans of so many frames; nobody asks for a reward, so there are no velocities."""
        return WrittenTable.empty(self.anatomy, self.bodies, room, self.fps, velocities=False)


def _bank(terrains: Sequence[Terrain], device: torch.device) -> TerrainBatch:
    return TerrainBatch.stack([replace(terrain, bounds=None) for terrain in terrains]).to(device)
