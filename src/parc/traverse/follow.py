"""B simulated bodies follow B references for a stretch, from any state, and every step is kept.

Nothing restarts and nothing is drawn: a body that loses its reference (the tracker's own terminations), falls, or breaks the
simulation goes on being simulated, and `survived` tells how many steps before that were good.

A body has *fallen* when it lies: the root's own up axis within 15 degrees of the horizontal or below and the root lower
than 0.5 m above the ground under it, or the head touches the ground.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from parc.character.kinematics import BodyPose
from parc.errors import SettingsError
from parc.motion.qpos import state_layout
from parc.physics.engine import make_world
from parc.physics.world import World
from parc.terrain.terrain import Terrain, TerrainBatch
from parc.track.action import motor_targets
from parc.track.anatomy import Anatomy
from parc.track.observe import BodyState, Observer, ground_heights
from parc.track.policy import TrainedActor
from parc.track.quaternion import angle_between
from parc.track.terminate import TerminationSettings, body_limits, pose_lost
from parc.traverse.reference import References

LYING_UP = 0.26
"""z of the root's up axis: below it the body is within 15 degrees of lying"""
LYING_HEIGHT = 0.5
"""m of the root above the ground under it"""


@dataclass(frozen=True, eq=False)
class BodyStates:
    """Simulated bodies at one time; all that a simulation needs to go on."""

    qpos: Tensor
    """[B, nq]"""
    qvel: Tensor
    """[B, nv]"""
    contacts: Tensor
    """[B, bodies]"""
    offset: Tensor
    """[B, D] rad, held by the motor targets (`parc.track.action`)"""

    def rows(self, which: Tensor) -> "BodyStates":
        return BodyStates(self.qpos[which], self.qvel[which], self.contacts[which], self.offset[which])


@dataclass(frozen=True, eq=False)
class Stretch:
    """What was simulated: S steps of B bodies; index 0 along time is the state before the first step."""

    qpos: Tensor
    """[B, S + 1, nq]"""
    qvel: Tensor
    """[B, S + 1, nv]"""
    contacts: Tensor
    """[B, S + 1, bodies]"""
    offset: Tensor
    """[B, S + 1, D] rad, held by the motor targets"""
    targets: Tensor
    """[B, S, D] motor targets given"""
    error: Tensor
    """[B, S] m, mean root-relative distance of the bodies from the reference's"""
    drift: Tensor
    """[B, S] m, distance of the root from the reference's"""
    survived: Tensor
    """[B] steps before the pose was lost, the body fell or the simulation broke; S if none did"""
    observations: Tensor
    """[B, S + 1, size] what the policy saw, or would see next"""

    @property
    def steps(self) -> int:
        return self.error.shape[1]

    def state(self, step: Tensor) -> BodyStates:
        """The states [B] after so many steps [B]."""
        row = torch.arange(len(step), device=step.device)
        return BodyStates(self.qpos[row, step], self.qvel[row, step], self.contacts[row, step], self.offset[row, step])


class Tracking(NamedTuple):
    """How far bodies are from where they should be."""

    error: Tensor
    """[B] m, mean root-relative distance of the bodies from the reference's"""
    root: Tensor
    """[B] m, distance of the root from the reference's"""
    lost: Tensor
    """[B] bool, beyond the tracker's limits"""


def tracking_of(
    world: World, wanted: BodyPose, age: Tensor, anatomy: Anatomy, limits: Tensor, settings: TerminationSettings
) -> Tracking:
    """Of the worlds' bodies against poses [B, bodies, ...], of whose rotations only the root's count; age [B], control steps."""
    bodies = (anatomy.root_relative(world.body_pos) - anatomy.root_relative(wanted.pos)).norm(dim=-1)
    root = (world.body_pos[:, 0] - wanted.pos[:, 0]).norm(dim=-1)
    angle = angle_between(world.body_rot[:, 0], wanted.rot[:, 0])
    return Tracking(bodies.mean(-1), root, pose_lost(root, angle, bodies, limits, age, settings))


class Follower:
    """Worlds on one terrain with one policy."""

    def __init__(self, trained: TrainedActor, terrain: Terrain, worlds: int, threads: int = 0) -> None:
        """On the policy's device; threads (0: all cores) are the CPU engine's."""
        self.trained, self.character = trained, trained.character
        device = trained.actor.normalizer.mean.device
        self.world = make_world(self.character, trained.contract, worlds, device, threads, terrain.cell)
        self.world.contract.check_matches(trained.contract)
        self.anatomy = Anatomy(self.character, device)
        self.observer = Observer(self.anatomy, trained.settings.observation)
        self._limits = body_limits(self.character, trained.settings.termination, device)
        self._bank = TerrainBatch.stack([replace(terrain, bounds=None)]).to(device)
        self._row = torch.zeros(worlds, dtype=torch.long, device=device)
        self._head = self.character.names.index("head") if "head" in self.character.names else None
        self.world.set_terrains(self._bank)

    @property
    def fps(self) -> float:
        return float(self.world.contract.control_hz)

    def start(self, references: References) -> BodyStates:
        """On frame 0 of the references, with their velocity; not simulated, put there."""
        velocity = references.start_velocity(self.anatomy, self.fps)
        return BodyStates(
            references.qpos[:, 0], velocity, references.contacts[:, 0].round(), torch.zeros_like(references.dof[:, 0])
        )

    @torch.no_grad()
    def follow(self, states: BodyStates, references: References, steps: int) -> Stretch:
        world, count = self.world, self.world.num_worlds
        if len(references) != count or steps < 1:
            raise SettingsError(f"{len(references)} references for {steps} steps, expected {count} and at least 1 step")
        everyone = torch.ones(count, dtype=torch.bool, device=world.device)
        world.terrain_row.zero_()
        world.reset(everyone, states.qpos, states.qvel)
        contacts, offset, alive = states.contacts, states.offset, everyone.clone()
        survived = torch.zeros(count, dtype=torch.long, device=world.device)
        action = self.trained.settings.action
        layout = state_layout(self.character)
        assert states.qpos.shape[1] == layout.nq
        kept: dict[str, list[Tensor]] = {
            "qpos": [world.qpos.clone()],
            "qvel": [world.qvel.clone()],
            "contacts": [contacts],
            "offset": [offset],
        }
        seen, given, error, drift = [self._observe(references, 0, contacts, offset)], [], [], []
        for step in range(steps):
            pose = references.dof[:, min(step + action.lead, references.frames - 1)]
            targets, offset = motor_targets(self.trained.act(seen[-1]), offset, pose, self.anatomy, action)
            world.step(targets)
            contacts = world.contacts.clone()
            tracking = self._judge(references, step + 1)
            alive = alive & ~(tracking.lost | self.fallen() | world.diverged)
            survived += alive
            for name, value in (("qpos", world.qpos), ("qvel", world.qvel), ("contacts", contacts), ("offset", offset)):
                kept[name].append(value.clone())
            given.append(targets)
            error.append(tracking.error)
            drift.append(tracking.root)
            seen.append(self._observe(references, step + 1, contacts, offset))
        state = {name: torch.stack(values, 1) for name, values in kept.items()}
        return Stretch(
            **state,
            targets=torch.stack(given, 1),
            error=torch.stack(error, 1),
            drift=torch.stack(drift, 1),
            survived=survived,
            observations=torch.stack(seen, 1),
        )

    def fallen(self) -> Tensor:
        """[B] of the worlds as they are."""
        world = self.world
        up = self.observer.algebra.matrix(world.body_rot[:, 0])[:, 2, 2]
        ground = ground_heights(self._bank, self._row, world.body_pos[:, :1, :2])[:, 0]
        lying = (up < LYING_UP) & (world.body_pos[:, 0, 2] - ground < LYING_HEIGHT)
        return lying if self._head is None else lying | (world.contacts[:, self._head] > 0)

    def _observe(self, references: References, frame: int, contacts: Tensor, offset: Tensor) -> Tensor:
        world = self.world
        targets = references.ahead(references.targets, frame + self.observer.steps)
        state = BodyState(world.qvel, world.body_pos, world.body_rot, contacts, offset)
        out = torch.zeros(world.num_worlds, self.observer.layout.size, device=world.device)
        return self.observer.observe(state, targets, self._bank, self._row, out)

    def _judge(self, references: References, frame: int) -> Tracking:
        at = min(frame, references.frames - 1)
        wanted = BodyPose(references.body_pos[:, at], references.root_rot[:, at, None])
        age = torch.full_like(self._row, frame)
        return tracking_of(self.world, wanted, age, self.anatomy, self._limits, self.trained.settings.termination)
