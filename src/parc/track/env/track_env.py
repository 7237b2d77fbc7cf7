"""Many simulated characters, each following its clip: the reinforcement-learning environment.

A control step has three parts. *Before*: actions become motor targets. *Physics*: the world's own step. *After*: reward, end of
episodes, failure counts, new starts, observation. The first and last are tensor code over preallocated tensors, recorded as
two CUDA graphs; random numbers are drawn outside of them. Nothing waits for the device.

A world whose episode has ended starts a new one within the same step, so `observation` already belongs to the new
episode, while `reward`, `failed`, `timed_out`, `at_end` and `error` tell of the step that was taken.
"""

import torch
from torch import Tensor

from parc.physics.simulated_world import World
from parc.run.cuda_graph import CudaGraph
from parc.track.env.body_tables import BodyTables
from parc.track.env.episode_restart import Restart
from parc.track.env.fast_quaternion import angle_between
from parc.track.env.motor_action import motor_targets
from parc.track.env.observation import BodyState, Observer
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
from parc.track.env.termination import body_limits, pose_lost
from parc.track.tracker_settings import TrackerSettings

_NEVER = 1 << 40


class TrackEnv:
    def __init__(
        self,
        world: World,
        library: ReferenceLibrary,
        settings: TrackerSettings,
        generator: torch.Generator,
        graphs: bool = True,
        rewards: bool = True,
    ) -> None:
        """`generator` lives on the world's device; without `rewards` there are none: `reward` and `terms` stay 0."""
        n, device, character = world.num_worlds, world.device, world.character
        self.world, self.library, self.settings, self._generator = world, library, settings, generator
        self._rewards, self._may_look = rewards, device.type == "cpu"
        """on a GPU to look whether there is anything to do takes longer than to do it for nobody"""
        self.anatomy = BodyTables(character, device)
        self.observer = Observer(self.anatomy, settings.observation)
        self.restart = Restart(library, settings.restart, world.contract.control_hz)
        self._limits = body_limits(character, settings.termination, device)
        self._reward_weights = torch.tensor(settings.reward.weights, device=device)
        self._rate = float(world.contract.control_hz)
        self._longest = round(settings.termination.longest * world.contract.control_hz)
        world.set_terrains(library.bank)

        def zeros(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
            return torch.zeros(shape, dtype=dtype, device=device)

        self.clip, self.frame, self.age = (zeros(n, dtype=torch.long) for _ in range(3))
        """[N] clip, frame in it, control steps since the episode's start"""
        self.action, self.targets = zeros(n, character.num_dof), zeros(n, character.num_dof)
        self.held, self._excess, self._jump = (zeros(n, character.num_dof) for _ in range(3))
        """[N, D] rad, of the last control step: the offset that is held, the targets less the reference's pose, and how much
        the latter changed"""
        self._last_keys = zeros(n, self.anatomy.num_keys, 3)
        """[N, K, 3] where the key bodies were before this control step"""
        self.contacts = zeros(n, character.num_bodies)
        """[N, B] the world's, or the reference's in the first frame of an episode, where the world knows none yet"""
        self.observation = zeros(n, self.observer.layout.size)
        self.reward, self.error = zeros(n), zeros(n)
        """[N] reward; mean root-relative distance of the bodies from the reference's, m"""
        self.failed, self.timed_out, self.at_end, self.broken = (zeros(n, dtype=torch.bool) for _ in range(4))
        """[N] pose lost or simulation broken; stopped without fault; the clip is over; the simulation broke"""
        self.terms = zeros(len(settings.reward.names))
        """mean of each reward term over the worlds"""
        self.broken_count = zeros(dtype=torch.long)
        """[] worlds whose simulation broke since the start"""
        self._counts = True
        self._counting, self._age_limit = zeros() + 1.0, zeros(dtype=torch.long) + self._longest
        self._uniform = zeros(n, 4 + world.qvel.shape[1])
        self._first, self._last = zeros(n, 1, dtype=torch.long), zeros(n, 1, dtype=torch.long)
        """[N, 1] of the clip: its first row in the library, its last frame"""
        self._looks = torch.tensor((1, settings.action.lead, *settings.observation.target_steps), device=device)
        self._rows = zeros(n, len(self._looks), dtype=torch.long)
        """[N, 2 + S] rows of the reference: the frame of the next step, the one its motors aim at, those that are observed"""
        self._before = CudaGraph(self._take_action, device, every_run_counts=True, enabled=graphs)
        self._after = CudaGraph(self._judge, device, every_run_counts=True, enabled=graphs)

    @property
    def num_worlds(self) -> int:
        return self.world.num_worlds

    def restart_all(self) -> None:
        """New episodes everywhere, drawn like any other start; statistics are kept."""
        self._counting.fill_(1.0)
        self._counts = True
        self._age_limit.fill_(self._longest)
        self.world.idle.zero_()
        self._uniform.uniform_(generator=self._generator)
        everyone = torch.ones_like(self.failed)
        self._start(everyone, self.restart.draw(self._uniform[:, :2]), 1.0)
        self._observe()

    def begin(self, clip: Tensor, frame: Tensor, noisy: Tensor) -> None:
        """Episodes for evaluation: given clips and frames [N], start noise where noisy [N]; nothing is counted, no time-out."""
        self._counting.fill_(0.0)
        self._counts = False
        self._age_limit.fill_(_NEVER)
        self.world.idle.zero_()
        self._uniform.uniform_(generator=self._generator)
        self._start(torch.ones_like(self.failed), self.library.row(clip, frame), noisy.float().unsqueeze(-1))
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
        """The second half: reward and ends, new starts, observation."""
        self._uniform.uniform_(generator=self._generator)
        self._after()

    def _take_action(self) -> None:
        pose = self.library.dof.index_select(0, self._rows[:, 1])
        targets, offset = motor_targets(self.action, self.held, pose, self.anatomy, self.settings.action)
        if self._rewards:
            fresh = (self.age == 0).unsqueeze(-1)
            excess = targets - pose
            self._jump.copy_(torch.where(fresh, 0.0, excess - self._excess))
            self._excess.copy_(excess)
        self.targets.copy_(targets)
        self.held.copy_(offset)

    def _judge(self) -> None:
        """Everything after physics. The order matters: judge the old episode, then start the new one, then observe."""
        world, library = self.world, self.library
        self.frame.add_(1)
        self.age.add_(1)
        row = self._rows[:, 0]
        distance = world.body_pos - library.body_pos.index_select(0, row)
        body_distance = self.anatomy.root_relative(distance).norm(dim=-1)
        root_distance = distance[:, 0].norm(dim=-1)
        root_angle = angle_between(world.body_rot[:, 0], library.root_rot.index_select(0, row))

        lost = pose_lost(root_distance, root_angle, body_distance, self._limits, self.age, self.settings.termination)
        if self._rewards:
            self._reward(row, body_distance, root_distance, root_angle)
            self.broken.copy_(world.diverged | ~torch.isfinite(self.reward))
            self.reward.copy_(torch.nan_to_num(self.reward, 0.0, 0.0, 0.0))
        else:
            self.broken.copy_(world.diverged)
        self.failed.copy_(lost | self.broken)
        self.at_end.copy_(self.frame >= self._last.squeeze(1))
        self.timed_out.copy_((self.at_end | (self.age >= self._age_limit)) & ~self.failed)
        self.broken_count.add_(self.broken.sum())
        self.error.copy_(torch.nan_to_num(body_distance.mean(-1), 1.0, 1.0, 1.0))

        finished = self.failed | self.timed_out
        if self._counts or not self._may_look:
            self.restart.count(row, self.failed, finished, self._counting)
        self.contacts.copy_(world.contacts)
        if not self._may_look or bool(finished.any()):
            self._start(finished, self.restart.draw(self._uniform[:, :2]), 1.0)
        self._observe()

    def _reward(self, row: Tensor, body_distance: Tensor, root_distance: Tensor, root_angle: Tensor) -> None:
        """Writes `reward` and `terms`, from distances [N, B] of bodies and [N] of the root, and the root's angle [N]."""
        world, library, anatomy, observer = self.world, self.library, self.anatomy, self.observer
        qvel, contacts = library.qvel.index_select(0, row), library.contacts.index_select(0, row)
        keys = world.body_pos.index_select(1, anatomy.key_body)
        root_matrix = observer.algebra.matrix(world.body_rot[:, 0])
        angular = observer.angular_velocity(root_matrix, world.qvel)
        joint_rot = observer.joint_rotations(world.body_rot)
        terms = torch.stack(
            [
                pose_reward(joint_rot, library.joint_rot.index_select(0, row), anatomy.joint_weight),
                pose_velocity_reward(world.qvel[:, 6:], qvel[:, 6:], anatomy.dof_weight),
                root_reward(root_distance, root_angle),
                root_velocity_reward(world.qvel[:, :3], qvel[:, :3], angular, library.root_angular.index_select(0, row)),
                key_reward(body_distance.index_select(1, anatomy.key_body)),
                contact_reward(world.contacts, contacts, library.may_touch.index_select(0, row)),
                key_velocity_reward(
                    (keys - self._last_keys) * self._rate,
                    library.key_velocity.index_select(0, row),
                    contacts.index_select(1, anatomy.key_body),
                ),
                smooth_reward(self._jump),
            ],
            -1,
        )
        self.reward.copy_((terms * self._reward_weights).sum(-1))
        self.terms.copy_(torch.nan_to_num(terms, 0.0, 0.0, 0.0).mean(0))

    def _start(self, mask: Tensor, row: Tensor, noise: Tensor | float) -> None:
        """Put worlds where mask [N] is true on the frames of rows [N]."""
        library, settings, world = self.library, self.settings.restart, self.world
        clip = library.clip_of_row.index_select(0, row)
        self.clip.copy_(torch.where(mask, clip, self.clip))
        self.frame.copy_(torch.where(mask, row - library.start.index_select(0, clip), self.frame))
        self._first.copy_(library.start.index_select(0, self.clip).unsqueeze(1))
        self._last.copy_(library.length.index_select(0, self.clip).unsqueeze(1) - 1)
        self.age.masked_fill_(mask, 0)
        self.held.masked_fill_(mask.unsqueeze(-1), 0.0)
        centred = (2.0 * self._uniform[:, 2:] - 1.0) * noise
        qpos = library.qpos.index_select(0, row)
        qpos[:, :2].add_(settings.root_noise * centred[:, :2])
        qvel = library.qvel.index_select(0, row) + settings.velocity_noise * centred[:, 2:]
        world.terrain_row.copy_(self.clip)
        world.reset(mask, qpos, qvel)
        self.contacts.copy_(torch.where(mask.unsqueeze(-1), library.contacts.index_select(0, row), self.contacts))

    def _observe(self) -> None:
        world, library = self.world, self.library
        if self._rewards:
            self._last_keys.copy_(world.body_pos.index_select(1, self.anatomy.key_body))
        torch.add(self._first, torch.minimum(self.frame.unsqueeze(1) + self._looks, self._last), out=self._rows)
        ahead = self._rows[:, 2:]
        targets = library.targets.index_select(0, ahead.reshape(-1)).view(*ahead.shape, -1)
        state = BodyState(world.qvel, world.body_pos, world.body_rot, self.contacts, self.held)
        self.observer.observe(state, targets, library.bank, self.clip, self.observation)
