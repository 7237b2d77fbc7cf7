"""Many simulated bodies, each at a frame of a reference: what training, evaluation, recording and planning step.

A control step has three parts. *Before*: actions become motor targets. *Physics*: the world's own step. *After*: how far the
bodies are from their references, which of them have failed, and what the policy sees next. The first and last are tensor code
over preallocated tensors, recorded as two CUDA graphs. Nothing waits for the device.

    bodies.begin(strip, frame, noisy)                # on frames of the reference
    bodies.simulate(act(bodies.observation))         # before, physics
    bodies.judge()                                   # after

A reference may go on being written (`WrittenTable`); then every body has a strip of its own, and between two control steps:

    bodies.reference.write(mask, frame, frames)      # strips of bodies where mask is true, from `frame` on
    bodies.restore(states, mask)                     # other states, from `bodies.snapshots()` of some time before
    bodies.place(frame, age, mask)                   # another frame of the strip
    bodies.observe()                                 # once, after any of these

`parc.track.env.track_env.TrackEnv` adds rewards, and starts a new episode where one has ended.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from parc.character.posture import size_of
from parc.physics.simulated_world import World
from parc.run.cuda_graph import CudaGraph
from parc.terrain.terrain import TerrainBatch
from parc.track.env.body_tables import BodyTables
from parc.track.env.fast_quaternion import angle_between
from parc.track.env.motor_action import motor_targets
from parc.track.env.observation import BodyState, Observer, ground_heights
from parc.track.follow.outcome import FallSettings, body_limits, is_broken, is_down, pose_lost
from parc.track.follow.reference_table import ReferenceTable, WrittenTable
from parc.track.follow.trace import Snapshot
from parc.track.tracker_settings import TrackerSettings


class Gaps(NamedTuple):
    """How far N bodies are from frames of their references."""

    body: Tensor
    """[N, B] m, root-relative"""
    root: Tensor
    """[N] m"""
    angle: Tensor
    """[N] rad, of the root"""


class TrackedBodies:
    """N bodies in a world. `terrain_row` of the world says on which terrain of the bank each is."""

    def __init__(
        self,
        world: World,
        reference: ReferenceTable,
        bank: TerrainBatch,
        settings: TrackerSettings,
        generator: torch.Generator | None = None,
        graphs: bool = True,
        keeps_past: bool = False,
        puts_back: bool = False,
    ) -> None:
        """`generator`, of start noise, lives on the world's device.

        keeps_past: snapshots tell the state one control step earlier. puts_back: a body whose episode is over goes back to where
        it began, so that the GPU, which steps idle worlds too, is not left with a heap of bodies on the ground.
        """
        n, device, character = world.num_worlds, world.device, world.character
        self.world, self.settings = world, settings
        self.keeps_past, self._generator, self._graphs = keeps_past, generator, graphs
        self._puts_back = puts_back and device.type != "cpu"
        self.anatomy = BodyTables(character, device)
        self.observer = Observer(self.anatomy, settings.observation)
        self._limits = body_limits(character, settings.termination, device)
        self._size = size_of(character)
        self._head = character.names.index("head") if "head" in character.names else None

        def zeros(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
            return torch.zeros(shape, dtype=dtype, device=device)

        self.strip, self.frame, self.age = (zeros(n, dtype=torch.long) for _ in range(3))
        """[N] strip of the reference, frame in it, control steps since the episode's start"""
        self.action, self.targets, self.held = (zeros(n, character.num_dof) for _ in range(3))
        """[N, D] of the last control step: the action, the motor targets, and the offset in them that is held, rad"""
        self.contacts = zeros(n, character.num_bodies)
        """[N, B] the world's, or the reference's in the first frame of an episode, where the world knows none yet"""
        self._qpos_before, self._contacts_before = world.qpos.clone(), self.contacts.clone()
        self.observation = zeros(n, self.observer.layout.size)
        self.error, self.drift = zeros(n), zeros(n)
        """[N] m, mean root-relative distance of the bodies from the reference's; distance of the root"""
        self.failed, self.at_end, self.broken = (zeros(n, dtype=torch.bool) for _ in range(3))
        """[N] pose lost or simulation broken; the reference is over; the simulation broke"""
        self._uniform = zeros(n, 4 + world.qvel.shape[1])
        self._home = zeros(n, dtype=torch.long)
        """[N] row of the reference where the episode began"""
        self._first, self._last = zeros(n, 1, dtype=torch.long), zeros(n, 1, dtype=torch.long)
        """[N, 1] of the strip: its first row in the reference, its last frame"""
        self._looks = torch.tensor((1, settings.action.lead, *settings.observation.target_steps), device=device)
        self._rows = zeros(n, len(self._looks), dtype=torch.long)
        """[N, 2 + S] rows of the reference: the frame of the next step, the one its motors aim at, those that are observed"""
        self.read(reference)
        self.set_terrains(bank)

    @property
    def num_worlds(self) -> int:
        """N"""
        return self.world.num_worlds

    def begin(self, strip: Tensor, frame: Tensor, noisy: Tensor) -> None:
        """All on frames [N] of strips [N], with start noise where noisy [N]; strip c is on terrain c."""
        self.world.idle.zero_()
        self._uniform.uniform_(generator=self._generator)
        self._home.copy_(self.reference.row(strip, frame))
        self._start(torch.ones_like(self.failed), self._home, noisy.float().unsqueeze(-1))
        self._observe()

    def step(self, action: Tensor) -> None:
        """One control step with actions [N, D]."""
        self.simulate(action)
        self.judge()

    def simulate(self, action: Tensor) -> None:
        """The first half: physics. The world holds the new state until `judge`, also where an episode ends with it."""
        self.action.copy_(action)
        self._before()
        self.world.step(self.targets)

    def judge(self) -> None:
        """The second half: how far off, ends, observation. Random numbers are drawn outside of the graph."""
        if self._generator is not None:
            self._uniform.uniform_(generator=self._generator)
        self._after()

    def observe(self) -> None:
        """What the policy sees now; after `place` or `restore`, or when the reference was written."""
        self._find_strips()
        self._observe()

    def place(self, frame: Tensor | int, age: Tensor | int, mask: Tensor | None = None) -> None:
        """Bodies where mask [N] is true (all) are at frames of their strips, so many control steps after a start."""
        for column, given in ((self.frame, frame), (self.age, age)):
            if mask is not None:
                column.copy_(torch.where(mask, given, column))
            elif isinstance(given, Tensor):
                column.copy_(given)
            else:
                column.fill_(given)

    def set_terrains(self, bank: TerrainBatch) -> None:
        """Other ground, laid out alike, under the bodies, which stay where they are; graphs are recorded anew."""
        self.bank, self.bank_row = bank, self.world.terrain_row
        self.world.set_terrains(bank)
        self._record_anew()

    def read(self, reference: ReferenceTable) -> None:
        """From another table from now on; graphs are recorded anew. Body n has strip n of a table that is written."""
        self.reference = reference
        if isinstance(reference, WrittenTable):
            self.strip.copy_(torch.arange(self.num_worlds, device=self.strip.device))
        self._record_anew()

    def replace_terrains(self, rows: Tensor, terrains: TerrainBatch) -> None:
        """Other ground in rows [K] of the bank, in place: graphs stay. Bodies that stand there must be put elsewhere."""
        self.bank.put(rows, terrains)
        self.world.replace_terrains(rows, terrains)

    def _record_anew(self) -> None:
        self._before = CudaGraph(self._take_action, self.world.device, every_run_counts=True, enabled=self._graphs)
        self._after = CudaGraph(self._judge, self.world.device, every_run_counts=True, enabled=self._graphs)

    def states(self) -> Snapshot:
        """Of all bodies, [N, ...], in buffers that the next step overwrites; where the past is not kept it is the present."""
        now, contacts = self.world.qpos, self.contacts
        before = (self._qpos_before, self._contacts_before) if self.keeps_past else (now, contacts)
        return Snapshot(now, self.world.qvel, contacts, *before, self.held)

    def snapshots(self) -> Snapshot:
        """`states`, to keep."""
        return Snapshot(*(part.clone() for part in self.states()))

    def restore(self, states: Snapshot, mask: Tensor | None = None) -> None:
        """Bodies where mask [N] is true (all) take states [N, ...]; where they are in their references is for `place` to say."""
        self.world.reset(torch.ones_like(self.failed) if mask is None else mask, states.qpos, states.qvel)
        own = (self.contacts, self._qpos_before, self._contacts_before, self.held)
        for column, given in zip(own, states[2:], strict=True):
            column.copy_(given if mask is None else torch.where(mask.unsqueeze(-1), given, column))

    def gaps(self, row: Tensor) -> Gaps:
        """Of the bodies from rows [N] of the reference."""
        distance = self.world.body_pos - self.reference.body_pos.index_select(0, row)
        angle = angle_between(self.world.body_rot[:, 0], self.reference.root_rot.index_select(0, row))
        return Gaps(self.anatomy.root_relative(distance).norm(dim=-1), distance[:, 0].norm(dim=-1), angle)

    def lost(self, gaps: Gaps, age: Tensor) -> Tensor:
        """[N] bool, of bodies so many control steps [N] after a start."""
        return pose_lost(gaps.root, gaps.angle, gaps.body, self._limits, age, self.settings.termination)

    def down(self, settings: FallSettings) -> Tensor:
        """[N] bool, on the ground they have under them."""
        world = self.world
        ground = ground_heights(self.bank, self.bank_row, world.body_pos[:, :1, :2])[:, 0]
        up = self.observer.algebra.matrix(world.body_rot[:, 0])[:, 2, 2]
        head = None if self._head is None else world.contacts[:, self._head] > 0
        return is_down((world.body_pos[:, 0, 2] - ground) / self._size, up, head, settings)

    def _take_action(self) -> None:
        """Before physics."""
        if self.keeps_past:
            self._qpos_before.copy_(self.world.qpos)
            self._contacts_before.copy_(self.contacts)
        pose = self.reference.dof.index_select(0, self._rows[:, 1])
        targets, offset = motor_targets(self.action, self.held, pose, self.anatomy, self.settings.action)
        self._note_targets(targets, pose)
        self.targets.copy_(targets)
        self.held.copy_(offset)

    def _judge(self) -> None:
        """After physics. The order matters: judge the old episode, then start a new one, then observe."""
        self._assess()
        self._observe()

    def _assess(self) -> None:
        """All of it but what the policy sees next."""
        self.frame.add_(1)
        self.age.add_(1)
        row = self._rows[:, 0]
        gaps = self.gaps(row)
        self.broken.copy_(self._breaks(row, gaps))
        self.failed.copy_(self.lost(gaps, self.age) | self.broken)
        self.at_end.copy_(self.frame >= self._last.squeeze(1))
        self.error.copy_(torch.nan_to_num(gaps.body.mean(-1), 1.0, 1.0, 1.0))
        self.drift.copy_(gaps.root)
        self.contacts.copy_(self.world.contacts)
        self._restart_finished(row)

    def _note_targets(self, targets: Tensor, pose: Tensor) -> None:
        """A place for who compares the motor targets of two steps."""

    def _breaks(self, row: Tensor, gaps: Gaps) -> Tensor:
        """[N] bool, the simulation broke in this control step; a place for who computes more that may not be finite."""
        return is_broken(self.world.diverged)

    def _restart_finished(self, row: Tensor) -> None:
        """A place for who starts new episodes where old ones ended, at rows [N]."""
        if self._puts_back:
            self._start(self.failed | self.at_end, self._home, 0.0)

    def _start(self, mask: Tensor, row: Tensor, noise: Tensor | float) -> None:
        """Put bodies where mask [N] is true on the frames of rows [N]."""
        reference, settings, world = self.reference, self.settings.restart, self.world
        strip = reference.strip_of_row.index_select(0, row)
        self.strip.copy_(torch.where(mask, strip, self.strip))
        self.frame.copy_(torch.where(mask, row - reference.start.index_select(0, strip), self.frame))
        self._find_strips()
        self.age.masked_fill_(mask, 0)
        self.held.masked_fill_(mask.unsqueeze(-1), 0.0)
        # Start noise: the root's place in the plane, and all velocities.
        centred = (2.0 * self._uniform[:, 2:] - 1.0) * noise
        qpos = reference.qpos.index_select(0, row)
        qpos[:, :2].add_(settings.root_noise * centred[:, :2])
        qvel = reference.qvel.index_select(0, row) + settings.velocity_noise * centred[:, 2:]
        if not isinstance(reference, WrittenTable):  # clip c is on terrain c; who writes strips puts bodies where they belong
            world.terrain_row.copy_(self.strip)
        world.reset(mask, qpos, qvel)
        self.contacts.copy_(torch.where(mask.unsqueeze(-1), reference.contacts.index_select(0, row), self.contacts))

    def _find_strips(self) -> None:
        self._first.copy_(self.reference.start.index_select(0, self.strip).unsqueeze(1))
        self._last.copy_(self.reference.length.index_select(0, self.strip).unsqueeze(1) - 1)

    def _observe(self) -> None:
        torch.add(self._first, torch.minimum(self.frame.unsqueeze(1) + self._looks, self._last), out=self._rows)
        self.look(self._rows[:, 2:], self.contacts, self.observation)

    def look(self, rows: Tensor, contacts: Tensor, out: Tensor) -> None:
        """What the policy would see of rows [N, S] of the reference, with contacts [N, B], to out [N, size]."""
        world = self.world
        targets = self.reference.targets.index_select(0, rows.reshape(-1)).view(*rows.shape, -1)
        state = BodyState(world.qvel, world.body_pos, world.body_rot, contacts, self.held)
        self.observer.observe(state, targets, self.bank, self.bank_row, out)
