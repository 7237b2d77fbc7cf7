"""The reinforcement-learning environment: bodies that follow clips, rewarded, and put on a new start where an episode has ended.

What a control step is, `parc.track.follow.tracked_bodies` says; here the second half also rewards, counts failures and draws new
starts. Random numbers are drawn outside of the recorded graphs. Nothing waits for the device.

A world whose episode has ended starts a new one within the same step, so `observation` already belongs to the new
episode, while `reward`, `failed`, `timed_out`, `at_end` and `error` tell of the step that was taken.
"""

import torch
from torch import Tensor

from parc.physics.simulated_world import World
from parc.track.env.episode_restart import Restart
from parc.track.env.reference_library import ReferenceLibrary
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
from parc.track.follow.tracked_bodies import Gaps, TrackedBodies
from parc.track.tracker_settings import TrackerSettings

_NEVER = 1 << 40


class TrackEnv(TrackedBodies):
    """Worlds that follow the clips of a library; strips are clips here."""

    def __init__(
        self, world: World, library: ReferenceLibrary, settings: TrackerSettings, generator: torch.Generator, graphs: bool = True
    ) -> None:
        """`generator` lives on the world's device."""
        super().__init__(world, library, library.bank, settings, generator, graphs)
        n, device, character = world.num_worlds, world.device, world.character
        self.library, self.clip, self.generator = library, self.strip, generator
        self._may_look = device.type == "cpu"
        """on a GPU to look whether there is anything to do takes longer than to do it for nobody"""
        self.restart = Restart(library, settings.restart, world.contract.control_hz)
        self._reward_weights = torch.tensor(settings.reward.weights, device=device)
        self._rate = float(world.contract.control_hz)
        self._longest = round(settings.termination.longest * world.contract.control_hz)

        def zeros(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
            return torch.zeros(shape, dtype=dtype, device=device)

        self._excess, self._jump = zeros(n, character.num_dof), zeros(n, character.num_dof)
        """[N, D] rad, of the last control step: the targets less the reference's pose, and how much that changed"""
        self._last_keys = zeros(n, self.anatomy.num_keys, 3)
        """[N, K, 3] where the key bodies were before this control step"""
        self.reward = zeros(n)
        self.timed_out = zeros(n, dtype=torch.bool)
        """[N] stopped without fault"""
        self.terms = zeros(len(settings.reward.names))
        """mean of each reward term over the worlds"""
        self.broken_count = zeros(dtype=torch.long)
        """[] worlds whose simulation broke since the start"""
        self._counts = True
        self._counting, self._age_limit = zeros() + 1.0, zeros(dtype=torch.long) + self._longest

    def restart_all(self) -> None:
        """New episodes everywhere, drawn like any other start; statistics are kept."""
        self._set_counting(True)
        self.world.idle.zero_()
        self._uniform.uniform_(generator=self._generator)
        self._start(torch.ones_like(self.failed), self.restart.draw(self._uniform[:, :2]), 1.0)
        self._observe()

    def begin(self, strip: Tensor, frame: Tensor, noisy: Tensor) -> None:
        """Episodes for evaluation: given clips and frames [N], start noise where noisy [N]; nothing is counted, no time-out."""
        self._set_counting(False)
        super().begin(strip, frame, noisy)

    def _set_counting(self, counts: bool) -> None:
        self._counts = counts
        self._counting.fill_(float(counts))
        self._age_limit.fill_(self._longest if counts else _NEVER)

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

    def _restart_finished(self, row: Tensor) -> None:
        self.timed_out.copy_((self.at_end | (self.age >= self._age_limit)) & ~self.failed)
        self.broken_count.add_(self.broken.sum())
        finished = self.failed | self.timed_out
        if self._counts or not self._may_look:
            self.restart.count(row, self.failed, finished, self._counting)
        if not self._may_look or bool(finished.any()):
            self._start(finished, self.restart.draw(self._uniform[:, :2]), 1.0)

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
