"""The tracking environment for other people's learners: `gymnasium.vector.VectorEnv`.

    env = make_vector_env(clips, humanoid(), num_envs=64)
    observations, _ = env.reset(seed=0)
    observations, rewards, terminated, truncated, infos = env.step(env.action_space.sample())

Episodes restart within the step that ends them (`AutoresetMode.SAME_STEP`): the observation returned already belongs to the new
episode, and the last one of the old is in `infos["final_obs"]` where `infos["_final_obs"]`, which is what bootstrapping
after a truncation needs. Terminated means the pose was lost or the simulation broke; truncated means the clip ended or time
is up.

Starts are drawn like in our own training, more often where episodes fail; the statistics are refreshed every
`settings.ppo.steps` steps. `reset(options={"clip": ..., "frame": ...})` starts given clips at given frames without noise,
and then nothing is counted and no time limit holds, as in evaluation.
"""

from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.errors import ParcError, SettingsError
from parc.run.distributed import Group
from parc.track.env.make_track_env import make_track_env
from parc.track.env.motor_action import ACTION_BOUND
from parc.track.env.observation import BodyState
from parc.track.env.track_env import TrackEnv
from parc.track.tracker_settings import TrackerSettings

try:
    from gymnasium.spaces import Box
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space
except ModuleNotFoundError as error:
    raise ParcError("the vector environment needs gymnasium: pip install 'parc-motion[rl]'") from error


class TrackVectorEnv(VectorEnv):
    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP, "render_modes": []}  # noqa: RUF012

    def __init__(self, env: TrackEnv, arrays: Literal["numpy", "torch"] = "numpy") -> None:
        """arrays: what is returned; numpy arrays on the host, or tensors on the world's device. Both are copies, and both
        are taken as actions."""
        self.env, self.arrays = env, arrays
        self.num_envs = env.num_worlds
        size, actions = env.observation.shape[1], env.action.shape[1]
        self.single_observation_space = Box(-np.inf, np.inf, (size,), np.float32)
        self.single_action_space = Box(-ACTION_BOUND, ACTION_BOUND, (actions,), np.float32)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._final = torch.zeros_like(env.observation)
        self._group = Group(0, 1, env.world.device)
        self._generator = env._generator
        self._steps = 0

    @torch.no_grad()
    def reset(self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict]:
        if isinstance(seed, list | tuple):
            raise SettingsError("one seed for all environments is expected: their random numbers are drawn together")
        super().reset(seed=seed, options=options)
        if seed is not None:
            self._generator.manual_seed(seed)
            self._forget_failures()
        if options:
            self._begin(options)
        else:
            self.env.restart_all()
        return self._given(self.env.observation), {}

    @torch.no_grad()
    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        env = self.env
        env.simulate(self._taken(actions))
        self._observe_last()
        clip, frame = env.clip.clone(), env.frame + 1
        env.judge()
        self._steps += 1
        if self._steps % env.settings.ppo.steps == 0:
            env.restart.refresh(self._group)
        infos = {"clip": clip, "frame": frame, "joint_error": env.error, "at_end": env.at_end, "diverged": env.broken}
        infos |= {"final_obs": self._final, "_final_obs": env.failed | env.timed_out}
        results = (env.observation, env.reward, env.failed, env.timed_out)
        observation, reward, terminated, truncated = (self._given(value) for value in results)
        return observation, reward, terminated, truncated, {name: self._given(value) for name, value in infos.items()}

    def _forget_failures(self) -> None:
        """Where episodes start depends on failures so far: a seed starts that history anew."""
        restart = self.env.restart
        restart.refresh(self._group)
        restart.load_state({name: torch.ones_like(value) for name, value in restart.state().items()})
        self._steps = 0

    def _observe_last(self) -> None:
        """The observation of the state just simulated, before `judge` puts new episodes in its place."""
        env, library = self.env, self.env.library
        ahead = library.row(env.clip.unsqueeze(1), env.frame.unsqueeze(1) + 1 + env.observer.steps)
        targets = library.targets.index_select(0, ahead.view(-1)).view(*ahead.shape, -1)
        state = BodyState(env.world.qvel, env.world.body_pos, env.world.body_rot, env.world.contacts, env.held)
        env.observer.observe(state, targets, library.bank, env.clip, self._final)

    def _begin(self, options: dict[str, Any]) -> None:
        if unknown := sorted(set(options) - {"clip", "frame"}):
            raise SettingsError(f"reset has no option {', '.join(unknown)}; it has clip and frame")
        clip = self._indices(options.get("clip", 0), "clip", self.env.library.num_clips)
        longest = int(self.env.library.length.max())
        frame = self._indices(options.get("frame", 0), "frame", longest)
        last = self.env.library.length[clip] - 2
        if bool((frame > last).any()):
            raise SettingsError("reset was asked to start in the last frame of a clip or beyond; nothing would be left to track")
        self.env.begin(clip, frame, torch.zeros(self.num_envs, device=self.env.world.device))

    def _indices(self, values: Any, name: str, count: int) -> Tensor:
        index = torch.as_tensor(values, device=self.env.world.device).long()
        if index.dim() > 1 or (index.dim() == 1 and len(index) != self.num_envs):
            raise SettingsError(f"option {name} has shape {list(index.shape)}, expected one number or [{self.num_envs}]")
        if int(index.min()) < 0 or int(index.max()) >= count:
            raise SettingsError(f"option {name} names {int(index.max())}, there are {count}")
        return index.expand(self.num_envs).contiguous()

    def _taken(self, actions: Any) -> Tensor:
        taken = torch.as_tensor(actions, dtype=torch.float32, device=self.env.world.device)
        if taken.shape != self.env.action.shape:
            raise SettingsError(f"actions have shape {list(taken.shape)}, expected {list(self.env.action.shape)}")
        return taken

    def _given(self, value: Tensor) -> Any:
        return value.clone() if self.arrays == "torch" else value.detach().cpu().numpy().copy()


def make_vector_env(
    clips: list[Clip],
    character: Character,
    num_envs: int,
    settings: TrackerSettings | None = None,
    device: torch.device | str = "cpu",
    arrays: Literal["numpy", "torch"] = "numpy",
    seed: int = 0,
    threads: int = 0,
) -> TrackVectorEnv:
    """Environments over clips, screened like for training; threads (0: all cores) is for the CPU."""
    return TrackVectorEnv(make_track_env(clips, character, num_envs, settings, device, seed, threads), arrays)
