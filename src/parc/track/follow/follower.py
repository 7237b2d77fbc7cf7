"""Simulated bodies that follow plans: references which are made while they run.

`parc.track.env.track_env` follows clips that are known from the start; here the reference is swapped under a running body. One
`Follower` holds K bodies on one terrain, each with its own plan, all at the same frame: one body is the character itself, K are a
rehearsal of K plans. Nothing restarts and nothing is drawn: a body that loses its reference, falls, or breaks the simulation goes
on being simulated, and `Stretch.survived` tells how many steps before that were good.

A body *lies*: the root's own up axis within 15 degrees of the horizontal or below and the root lower than 0.5 m above the
ground under it, or the head touches the ground.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from parc.character import rotation
from parc.character.character import Character
from parc.character.kinematics import BodyPose
from parc.errors import SettingsError
from parc.motion.frame_state import FrameState
from parc.motion.mujoco_qpos import qpos_to_frames
from parc.physics.choose_engine import make_world
from parc.physics.simulated_world import World
from parc.terrain.terrain import Terrain, TerrainBatch
from parc.track.env.body_tables import BodyTables
from parc.track.env.fast_quaternion import angle_between
from parc.track.env.motor_action import motor_targets
from parc.track.env.observation import BodyState, Observer, ground_heights
from parc.track.env.termination import TerminationSettings, body_limits, pose_lost
from parc.track.follow.plan_reference import PlanReference
from parc.track.learn.policy import TrainedActor

LYING_UP = 0.26
"""z of the root's up axis: below it the body is within 15 degrees of lying"""
LYING_HEIGHT = 0.5
"""m of the root above the ground under it"""


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
    def stack(cls, states: "Sequence[Snapshot]") -> "Snapshot":
        """Many side by side, [K, ...]."""
        return cls(*(torch.stack(parts) for parts in zip(*states, strict=True)))

    def row(self, index: int) -> "Snapshot":
        """One of K."""
        return Snapshot(*(part[index] for part in self))

    def frames(self, character: Character) -> FrameState:
        """[2, ...] the frame before and this one of one body, as a generator sees a past."""
        root_pos, root_rot, joint_rot = qpos_to_frames(character, torch.stack([self.qpos_before, self.qpos]))
        contacts = torch.stack([self.contacts_before, self.contacts])
        return FrameState(root_pos, rotation.to_matrix(root_rot), rotation.to_matrix(joint_rot), contacts)


@dataclass(frozen=True, eq=False)
class Stretch:
    """What was simulated: S steps of K bodies; index 0 along time is the state before the first step."""

    states: Snapshot
    """[K, S + 1, ...]"""
    targets: Tensor
    """[K, S, D] motor targets given"""
    error: Tensor
    """[K, S] m, mean root-relative distance of the bodies from the reference's"""
    drift: Tensor
    """[K, S] m, distance of the root from the reference's"""
    survived: Tensor
    """[K] steps before the pose was lost, the body lay or the simulation broke; S if none did"""
    observations: Tensor
    """[K, S + 1, size] what the policy saw, or would see next"""

    @property
    def steps(self) -> int:
        """S"""
        return self.error.shape[1]

    @property
    def root_pos(self) -> Tensor:
        """[K, S + 1, 3]"""
        return self.states.qpos[..., :3]

    def state(self, step: Tensor) -> Snapshot:
        """The states [K] after so many steps [K]."""
        row = torch.arange(len(step), device=step.device)
        return Snapshot(*(part[row, step] for part in self.states))


class Tracking(NamedTuple):
    """How far bodies are from where they should be."""

    error: Tensor
    """[K] m, mean root-relative distance of the bodies from the reference's"""
    root: Tensor
    """[K] m, distance of the root from the reference's"""
    lost: Tensor
    """[K] bool, beyond the tracker's limits, or the simulation broke"""


def tracking_of(
    world: World, wanted: BodyPose, age: Tensor, anatomy: BodyTables, limits: Tensor, settings: TerminationSettings
) -> Tracking:
    """Of the worlds' bodies against poses [K, B, ...], of whose rotations only the root's count; age [K], control steps."""
    bodies = (anatomy.root_relative(world.body_pos) - anatomy.root_relative(wanted.pos)).norm(dim=-1)
    root = (world.body_pos[:, 0] - wanted.pos[:, 0]).norm(dim=-1)
    angle = angle_between(world.body_rot[:, 0], wanted.rot[:, 0])
    lost = pose_lost(root, angle, bodies, limits, age, settings) | world.diverged
    return Tracking(bodies.mean(-1), root, lost)


class Follower:
    """K bodies on one terrain with one policy: `put` them, `follow` a reference, then `step`; or all at once, `run`."""

    def __init__(self, trained: TrainedActor, terrain: Terrain, bodies: int = 1, threads: int = 1) -> None:
        """On the policy's device; threads (0: all cores) are the CPU engine's."""
        self.trained, self.character = trained, trained.character
        device = trained.actor.normalizer.mean.device
        self.world = make_world(self.character, trained.contract, bodies, device, threads, terrain.cell)
        self.world.contract.check_matches(trained.contract)
        self.anatomy = BodyTables(self.character, device)
        self.reference: PlanReference | None = None
        self.frame = 0
        """of the reference, that the bodies are at"""
        self._observer = Observer(self.anatomy, trained.settings.observation)
        self._limits = body_limits(self.character, trained.settings.termination, device)
        self._rows = torch.zeros(bodies, dtype=torch.long, device=device)
        self._observation = torch.zeros(bodies, self._observer.layout.size, device=device)
        self._contacts = torch.zeros(bodies, self.character.num_bodies, device=device)
        self._offset = self._targets = torch.zeros(bodies, self.character.num_dof, device=device)
        self._qpos_before, self._contacts_before = self.world.qpos.clone(), self._contacts.clone()
        self._head = self.character.names.index("head") if "head" in self.character.names else None
        self.set_terrain(terrain)

    @property
    def bodies(self) -> int:
        """K"""
        return self.world.num_worlds

    @property
    def fps(self) -> float:
        """Control steps a second."""
        return float(self.world.contract.control_hz)

    def set_terrain(self, terrain: Terrain) -> None:
        """From the next step on; the bodies stay where they are."""
        self._bank = TerrainBatch.stack([replace(terrain, bounds=None)]).to(self.world.device)
        self.world.set_terrains(self._bank)

    def start(self, reference: PlanReference) -> Snapshot:
        """[K, ...] on frame 0 of the reference, moving on to frame 1; put there, not simulated."""
        qpos, contacts = reference.qpos[:, 0], reference.contacts[:, 0].round()
        velocity = reference.start_velocity(self.anatomy, self.fps)
        return Snapshot(qpos, velocity, contacts, qpos, contacts, torch.zeros_like(reference.dof[:, 0]))

    def put(self, states: Snapshot) -> None:
        """Put the bodies into states [K, ...], or all into one [...]."""
        if states.qpos.dim() == 1:
            states = Snapshot.stack([states] * self.bodies)
        qpos, qvel, contacts, before, contacts_before, offset = states
        self.world.reset(torch.ones_like(self.world.diverged), qpos, qvel)
        self._contacts.copy_(contacts)
        self._offset = offset.clone()
        self._qpos_before, self._contacts_before = before.clone(), contacts_before.clone()

    def follow(self, reference: PlanReference, frame: int = 0) -> None:
        """From now on; `frame` of the reference is where the bodies should be now."""
        if reference.count != self.bodies:
            raise SettingsError(f"{reference.count} references, expected one for each of {self.bodies} bodies")
        self.reference, self.frame = reference, frame

    def snapshots(self) -> Snapshot:
        """Of all bodies, [K, ...]."""
        world = self.world
        parts = (world.qpos, world.qvel, self._contacts, self._qpos_before, self._contacts_before, self._offset)
        return Snapshot(*(part.clone() for part in parts))

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
        reference, world = self._following(), self.world
        state = BodyState(world.qvel, world.body_pos, world.body_rot, self._contacts, self._offset)
        targets = reference.ahead(reference.targets, self.frame + self._observer.steps)
        return self._observer.observe(state, targets, self._bank, self._rows, self._observation)

    @torch.no_grad()
    def step(self) -> None:
        """One control step."""
        self._act(self.observe())

    def tracking(self, age: int | None = None) -> Tracking:
        """How far the bodies are from where their references are; `age` in control steps (None: past the grace of a start)."""
        reference, termination = self._following(), self.trained.settings.termination
        wanted = BodyPose(reference.at(reference.body_pos, self.frame), reference.at(reference.root_rot, self.frame)[:, None])
        steps = torch.full_like(self._rows, termination.grace + 1 if age is None else age)
        return tracking_of(self.world, wanted, steps, self.anatomy, self._limits, termination)

    def lying(self) -> Tensor:
        """[K] bool"""
        world = self.world
        up = self._observer.algebra.matrix(world.body_rot[:, 0])[:, 2, 2]
        ground = ground_heights(self._bank, self._rows, world.body_pos[:, :1, :2])[:, 0]
        lies = (up < LYING_UP) & (world.body_pos[:, 0, 2] - ground < LYING_HEIGHT)
        return lies if self._head is None else lies | (world.contacts[:, self._head] > 0)

    @torch.no_grad()
    def run(self, states: Snapshot, reference: PlanReference, steps: int) -> Stretch:
        """So many control steps from states [K, ...], which are at the reference's frame 0."""
        if steps < 1:
            raise SettingsError(f"{steps} steps were asked for, expected at least 1")
        self.follow(reference)
        self.put(states)
        alive, survived = torch.ones_like(self.world.diverged), torch.zeros_like(self._rows)
        kept, seen = [self.snapshots()], [self.observe().clone()]
        given, error, drift = [], [], []
        for step in range(steps):
            self._act(seen[-1])
            tracking = self.tracking(age=step + 1)
            alive = alive & ~(tracking.lost | self.lying())
            survived += alive
            kept.append(self.snapshots())
            seen.append(self.observe().clone())
            given.append(self._targets)
            error.append(tracking.error)
            drift.append(tracking.root)
        return Stretch(
            states=Snapshot(*(torch.stack(parts, 1) for parts in zip(*kept, strict=True))),
            targets=torch.stack(given, 1),
            error=torch.stack(error, 1),
            drift=torch.stack(drift, 1),
            survived=survived,
            observations=torch.stack(seen, 1),
        )

    def _act(self, observation: Tensor) -> None:
        reference, world, settings = self._following(), self.world, self.trained.settings.action
        pose = reference.at(reference.dof, self.frame + settings.lead)
        action = self.trained.act(observation)
        self._targets, self._offset = motor_targets(action, self._offset, pose, self.anatomy, settings)
        self._qpos_before.copy_(world.qpos)
        self._contacts_before.copy_(self._contacts)
        world.step(self._targets)
        self._contacts.copy_(world.contacts)
        self.frame += 1

    def _following(self) -> PlanReference:
        if self.reference is None:
            raise SettingsError("the bodies follow nothing yet; call follow first")
        return self.reference
