"""Bodies that follow references and are rewarded for it (`parc.track.env.reward`), whatever begins and ends their episodes.

The reward of a control step compares the body after it with the frame of the reference that it should be at. A reference that is
written while it is followed needs its velocities for that (`WrittenTable.velocities`).
"""

import torch
from torch import Tensor

from parc.physics.simulated_world import World
from parc.terrain.terrain import TerrainBatch
from parc.track.env.disturbed_bodies import DrawnBodies
from parc.track.env.reward import (
    contact_reward,
    key_reward,
    key_velocity_reward,
    pose_reward,
    pose_velocity_reward,
    root_reward,
    root_velocity_reward,
    smooth_reward,
)
from parc.track.follow.outcome import is_broken
from parc.track.follow.reference_table import ReferenceTable
from parc.track.follow.tracked_bodies import Gaps, TrackedBodies
from parc.track.tracker_settings import TrackerSettings


class RewardedBodies(TrackedBodies):
    """`TrackedBodies` with the tracker's reward of each control step."""

    def __init__(
        self,
        world: World,
        reference: ReferenceTable,
        bank: TerrainBatch,
        settings: TrackerSettings,
        generator: torch.Generator | None = None,
        graphs: bool = True,
        keeps_past: bool = False,
    ) -> None:
        super().__init__(world, reference, bank, settings, generator, graphs, keeps_past)
        n, device, character = world.num_worlds, world.device, world.character
        self._reward_weights = torch.tensor(settings.reward.weights, device=device)
        self._rate = float(world.contract.control_hz)

        def zeros(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
            return torch.zeros(shape, dtype=dtype, device=device)

        self._excess, self._jump = zeros(n, character.num_dof), zeros(n, character.num_dof)
        """[N, D] rad, of the last control step: the targets less the reference's pose, and how much that changed"""
        self._last_keys = zeros(n, self.anatomy.num_keys, 3)
        """[N, K, 3] where the key bodies were before this control step"""
        disturbance = settings.disturbance
        self._drawn_bodies = DrawnBodies(world, disturbance) if disturbance.varies_body else None
        self.reward = zeros(n)
        self.terms = zeros(len(settings.reward.names))
        """mean of each reward term over the worlds"""

    def _note_targets(self, targets: Tensor, pose: Tensor) -> None:
        fresh = (self.age == 0).unsqueeze(-1)
        excess = targets - pose
        self._jump.copy_(torch.where(fresh, 0.0, excess - self._excess))
        self._excess.copy_(excess)

    def _breaks(self, row: Tensor, gaps: Gaps) -> Tensor:
        self._reward(row, gaps)
        broken = is_broken(self.world.diverged, self.reward)
        self.reward.copy_(torch.nan_to_num(self.reward, 0.0, 0.0, 0.0))
        return broken

    def _reward(self, row: Tensor, gaps: Gaps) -> None:
        """Writes `reward` and `terms` of bodies that should be at rows [N]."""
        world, reference, anatomy, observer = self.world, self.reference, self.anatomy, self.observer
        qvel, contacts = reference.qvel.index_select(0, row), reference.contacts.index_select(0, row)
        keys = world.body_pos.index_select(1, anatomy.key_body)
        root_matrix = observer.algebra.matrix(world.body_rot[:, 0])
        angular = observer.angular_velocity(root_matrix, world.qvel)
        joint_rot = observer.joint_rotations(world.body_rot)
        terms = torch.stack(
            [
                pose_reward(joint_rot, reference.joint_rot.index_select(0, row), anatomy.joint_weight),
                pose_velocity_reward(world.qvel[:, 6:], qvel[:, 6:], anatomy.dof_weight),
                root_reward(gaps.root, gaps.angle),
                root_velocity_reward(world.qvel[:, :3], qvel[:, :3], angular, reference.root_angular.index_select(0, row)),
                key_reward(gaps.body.index_select(1, anatomy.key_body)),
                contact_reward(world.contacts, contacts, reference.may_touch.index_select(0, row)),
                key_velocity_reward(
                    (keys - self._last_keys) * self._rate,
                    reference.key_velocity.index_select(0, row),
                    contacts.index_select(1, anatomy.key_body),
                ),
                smooth_reward(self._jump),
            ],
            -1,
        )
        self.reward.copy_((terms * self._reward_weights).sum(-1))
        self.terms.copy_(torch.nan_to_num(terms, 0.0, 0.0, 0.0).mean(0))

    def _observe(self) -> None:
        self._last_keys.copy_(self.world.body_pos.index_select(1, self.anatomy.key_body))
        super()._observe()
