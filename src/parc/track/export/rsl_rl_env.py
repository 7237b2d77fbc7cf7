"""The tracking environment for rsl-rl's runners (`rsl_rl.env.VecEnv`, release 5).

    runner = OnPolicyRunner(RslRlEnv(make_track_env(clips, humanoid(), 4096, device="cuda")), train_cfg, device="cuda")
    runner.learn(1000)

One group of observations, "policy"; `extras["time_outs"]` marks episodes that stopped without a fault; `extras["log"]` holds the
mean of each reward term. Episodes restart within the step that ends them. rsl-rl asks for this interface by name only, so nothing
is inherited and only `tensordict` is needed.
"""

from dataclasses import asdict
from typing import Any

import torch
from torch import Tensor

from parc.errors import ParcError
from parc.run.distributed import Group
from parc.track.env.track_env import TrackEnv

try:
    from tensordict import TensorDict
except ModuleNotFoundError as error:
    raise ParcError("the rsl-rl environment needs tensordict: pip install 'parc-motion[rl]'") from error


class RslRlEnv:
    def __init__(self, env: TrackEnv) -> None:
        """`env` has started its episodes (see `make_track_env`)."""
        self.env = env
        self.num_envs, self.num_actions = env.action.shape
        self.max_episode_length = round(env.settings.termination.longest * env.world.contract.control_hz)
        """control steps"""
        self.device = env.world.device
        self.cfg: dict[str, Any] = asdict(env.settings)
        self._group = Group(0, 1, env.world.device)
        self._steps = 0

    @property
    def episode_length_buf(self) -> Tensor:
        """[N] control steps since each episode's start."""
        return self.env.age

    @episode_length_buf.setter
    def episode_length_buf(self, values: Tensor) -> None:
        """rsl-rl sets random ages at the start, so that time-outs do not come all at once."""
        self.env.age.copy_(values)

    def get_observations(self) -> TensorDict:
        return TensorDict({"policy": self.env.observation.clone()}, batch_size=[self.num_envs], device=self.device)

    @torch.no_grad()
    def reset(self) -> tuple[TensorDict, dict]:
        """New episodes everywhere."""
        self.env.restart_all()
        return self.get_observations(), {}

    @torch.no_grad()
    def step(self, actions: Tensor) -> tuple[TensorDict, Tensor, Tensor, dict[str, Any]]:
        env = self.env
        env.step(actions)
        self._steps += 1
        if self._steps % env.settings.ppo.steps == 0:
            env.restart.refresh(self._group)
        log = {f"/reward/{name}": term for name, term in zip(env.settings.reward.names, env.terms.clone(), strict=True)}
        extras = {"time_outs": env.timed_out.clone(), "log": {**log, "/joint_error": env.error.mean()}}
        return self.get_observations(), env.reward.clone(), (env.failed | env.timed_out).long(), extras

    def close(self) -> None:
        """Nothing is held that the system does not take back."""
