"""Simulated characters that follow references which are made while they run.

`parc.track.env` follows clips that are known from the start; here the reference is swapped under a running body. One `Follower`
holds K bodies on one terrain, each with its own reference, all at the same frame: one body is the character itself,
K are a rehearsal of K plans from the same state.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from parc.character import rotation
from parc.character.character import Character
from parc.character.kinematics import BodyPose
from parc.dataset.clip import Clip
from parc.generate.frame import FrameState
from parc.motion.qpos import qpos_difference, qpos_to_frames
from parc.physics.native import NativeWorld
from parc.terrain.terrain import Terrain, TerrainBatch
from parc.track.action import motor_targets
from parc.track.anatomy import Anatomy
from parc.track.observe import BodyState, Observer
from parc.track.policy import TrainedActor
from parc.track.reference import ReferenceSettings, build_library
from parc.track.screen import ScreenSettings
from parc.track.terminate import body_limits
from parc.traverse.follow import Tracking, tracking_of

_UNSCREENED = ReferenceSettings(ScreenSettings(enabled=False))


class Snapshot(NamedTuple):
    """One body between two control steps."""

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
    """[D] rad, held by the motor targets (`parc.track.action`)"""

    @classmethod
    def stack(cls, states: "Sequence[Snapshot]") -> "Snapshot":
        """Many side by side, [K, ...]."""
        return cls(*(torch.stack(parts) for parts in zip(*states, strict=True)))

    def frames(self, character: Character) -> FrameState:
        """[2, ...] the frame before and this one, as the generator sees a past."""
        qpos = torch.stack([self.qpos_before, self.qpos])
        root_pos, root_rot, joint_rot = qpos_to_frames(character, qpos)
        contacts = torch.stack([self.contacts_before, self.contacts])
        return FrameState(root_pos, rotation.to_matrix(root_rot), rotation.to_matrix(joint_rot), contacts)


@dataclass(frozen=True, eq=False)
class Reference:
    """K references of T frames, as the tracker needs them; past the end the last frame stays."""

    frames: FrameState
    """[K, T, ...]"""
    targets: Tensor
    """[K, T, W] what an observation shows of a frame"""
    dof: Tensor
    """[K, T, D] motor targets that ask for the pose"""
    body_pos: Tensor
    """[K, T, B, 3]"""
    root_rot: Tensor
    """[K, T, 4] xyzw"""
    qpos: Tensor
    """[K, T, nq]"""

    @classmethod
    def of(cls, character: Character, frames: FrameState) -> "Reference":
        """Of states [K, T, ...], T at least 2."""
        rows, length = frames.root_pos.shape[:2]
        flat = FrameState(*(part.flatten(0, 1) for part in frames)).to_motion()
        library = build_library(character, [Clip("plan", flat, Terrain.flat((1, 1)))], _UNSCREENED)
        targets, dof, body_pos, root_rot, qpos = (
            table.unflatten(0, (rows, length))
            for table in (library.targets, library.dof, library.body_pos, library.root_rot, library.qpos)
        )
        return cls(frames, targets, dof, body_pos, root_rot, qpos)

    def __len__(self) -> int:
        return self.targets.shape[1]

    def row(self, index: int) -> "Reference":
        """One of the K alone."""
        one = slice(index, index + 1)
        frames = FrameState(*(part[one] for part in self.frames))
        tables = (self.targets, self.dof, self.body_pos, self.root_rot, self.qpos)
        return Reference(frames, *(t[one] for t in tables))

    def start(self, character: Character, index: int, fps: float) -> Snapshot:
        """A body on the first frame of reference `index`, moving on to the second."""
        first, second = self.qpos[index, 0], self.qpos[index, 1]
        contacts = self.frames.contacts[index, 0]
        velocity = qpos_difference(character, first, second, 1 / fps)
        return Snapshot(first, velocity, contacts, first, contacts, torch.zeros_like(self.dof[index, 0]))


class Follower:
    """K bodies on the CPU engine; `put`, `follow`, then `step`."""

    def __init__(self, trained: TrainedActor, terrain: Terrain, bodies: int = 1, threads: int = 1) -> None:
        self.trained, self.character = trained, trained.character
        self.world = NativeWorld(self.character, trained.contract, bodies, threads, terrain.cell)
        self.world.contract.check_matches(trained.contract)
        self._anatomy = Anatomy(self.character, "cpu")
        self._observer = Observer(self._anatomy, trained.settings.observation)
        self._limits = body_limits(self.character, trained.settings.termination, "cpu")
        self._observation = torch.zeros(bodies, self._observer.layout.size)
        self._rows = torch.zeros(bodies, dtype=torch.long)
        self._contacts = torch.zeros(bodies, self.character.num_bodies)
        self._offset = torch.zeros(bodies, self.character.num_dof)
        self._qpos_before, self._contacts_before = self.world.qpos.clone(), self._contacts.clone()
        self.reference: Reference | None = None
        self.frame = 0
        """of the reference, that the bodies are at"""
        self.set_terrain(terrain)

    @property
    def bodies(self) -> int:
        return self.world.num_worlds

    def set_terrain(self, terrain: Terrain) -> None:
        """From the next step on; the bodies stay where they are."""
        self._bank = TerrainBatch.stack([terrain])
        self.world.set_terrains(self._bank)

    def put(self, *states: Snapshot) -> None:
        """Put the bodies into states, one each; one for all if there is only one."""
        given = states if len(states) > 1 else states * self.bodies
        assert len(given) == self.bodies
        qpos, qvel, contacts, before, contacts_before, offset = Snapshot.stack(given)
        self.world.reset(torch.ones(self.bodies, dtype=torch.bool), qpos, qvel)
        self._contacts.copy_(contacts)
        self._offset.copy_(offset)
        self._qpos_before, self._contacts_before = before.clone(), contacts_before.clone()

    def follow(self, reference: Reference, frame: int = 0) -> None:
        """From now on; `frame` of the reference is where the bodies should be now."""
        assert len(reference.targets) == self.bodies
        self.reference, self.frame = reference, frame

    def snapshot(self, index: int = 0) -> Snapshot:
        return Snapshot(*(part[index] for part in self.snapshots()))

    def snapshots(self) -> Snapshot:
        """Of all bodies, [K, ...]."""
        world = self.world
        parts = (world.qpos, world.qvel, self._contacts, self._qpos_before, self._contacts_before, self._offset)
        return Snapshot(*(part.clone() for part in parts))

    def push(self, velocity: Tensor) -> None:
        """A sudden change [3] of the whole body's velocity, m/s."""
        state = self.snapshot()
        self.put(state._replace(qvel=torch.cat([state.qvel[:3] + velocity, state.qvel[3:]])))

    @torch.no_grad()
    def observe(self) -> Tensor:
        """[K, size] what the policy sees now, in a buffer that the next look overwrites."""
        reference, world = self.reference, self.world
        assert reference is not None
        ahead = (self.frame + self._observer.steps).clamp_max(len(reference) - 1)
        state = BodyState(world.qvel, world.body_pos, world.body_rot, self._contacts, self._offset)
        targets = reference.targets.index_select(1, ahead)
        return self._observer.observe(state, targets, self._bank, self._rows, self._observation)

    @torch.no_grad()
    def step(self) -> None:
        """One control step."""
        reference, world, settings = self.reference, self.world, self.trained.settings.action
        assert reference is not None
        action = self.trained.act(self.observe())
        pose = reference.dof[:, min(self.frame + settings.lead, len(reference) - 1)]
        targets, self._offset = motor_targets(action, self._offset, pose, self._anatomy, settings)
        self._qpos_before.copy_(world.qpos)
        self._contacts_before.copy_(self._contacts)
        world.step(targets)
        self._contacts.copy_(world.contacts)
        self.frame += 1

    def tracking(self) -> Tracking:
        """How far the bodies are from where their references are; a simulation that broke has lost them."""
        reference, termination = self.reference, self.trained.settings.termination
        assert reference is not None
        at = min(self.frame, len(reference) - 1)
        wanted = BodyPose(reference.body_pos[:, at], reference.root_rot[:, at, None])
        age = torch.full_like(self._rows, termination.grace + 1)
        tracking = tracking_of(self.world, wanted, age, self._anatomy, self._limits, termination)
        return tracking._replace(lost=tracking.lost | self.world.diverged)
