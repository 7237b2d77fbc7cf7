"""The rsl-rl environment: the interface by name, and a real run of rsl-rl's own learner where it is installed."""

import inspect

import pytest
import torch

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.track.env.make_track_env import make_track_env
from parc.track.tracker_settings import TrackerSettings

pytest.importorskip("tensordict", reason="tensordict is not installed (parc-motion[rl])")
from parc.track.export.rsl_rl_env import RslRlEnv

WORLDS = 4


@pytest.fixture
def env(character: Character, squat: Clip, tiny: TrackerSettings) -> RslRlEnv:
    return RslRlEnv(make_track_env([squat], character, WORLDS, tiny, threads=1))


def test_the_interface_by_name(env: RslRlEnv, character: Character) -> None:
    assert (env.num_envs, env.num_actions, env.max_episode_length) == (WORLDS, character.num_dof, 180)
    observation, extras = env.reset()
    assert extras == {} and observation.batch_size == torch.Size([WORLDS])
    torch.testing.assert_close(observation["policy"], env.env.observation)
    observation, reward, done, extras = env.step(torch.zeros(WORLDS, env.num_actions))
    torch.testing.assert_close(observation["policy"], env.get_observations()["policy"])
    assert reward.shape == done.shape == extras["time_outs"].shape == (WORLDS,)
    torch.testing.assert_close(reward, env.env.reward)
    assert all(name.startswith("/") for name in extras["log"])


def test_done_and_time_out(env: RslRlEnv, squat: Clip) -> None:
    """The end of a clip is a time-out, a lost pose is not."""
    last = torch.full((WORLDS,), len(squat.motion) - 2)
    env.env.begin(torch.zeros_like(last), last, torch.zeros(WORLDS))
    *_, done, extras = env.step(torch.zeros(WORLDS, env.num_actions))
    assert done.all() and extras["time_outs"].all()
    env.env.begin(torch.zeros_like(last), torch.zeros_like(last), torch.zeros(WORLDS))
    env.env.world.reset(torch.ones(WORLDS, dtype=torch.bool), _lifted(env), torch.zeros_like(env.env.world.qvel))
    env.step(torch.zeros(WORLDS, env.num_actions))
    *_, done, extras = env.step(torch.zeros(WORLDS, env.num_actions))
    assert done.all() and not extras["time_outs"].any()


def _lifted(env: RslRlEnv) -> torch.Tensor:
    qpos = env.env.world.qpos.clone()
    qpos[:, 2] += 2.0
    return qpos


def test_ages_can_be_set(env: RslRlEnv) -> None:
    env.episode_length_buf = torch.tensor([1, 2, 3, 178])
    env.step(torch.zeros(WORLDS, env.num_actions))
    assert env.episode_length_buf.tolist()[:3] == [2, 3, 4]
    *_, extras = env.step(torch.zeros(WORLDS, env.num_actions))
    assert bool(extras["time_outs"][3])


def test_rsl_rls_interface_is_the_one_we_know() -> None:
    vec_env = pytest.importorskip("rsl_rl.env", reason="rsl-rl-lib is not installed").VecEnv
    wanted = {*vec_env.__annotations__, *vec_env.__abstractmethods__}
    ours = {name for name, _ in inspect.getmembers(RslRlEnv)} | {"num_envs", "num_actions", "max_episode_length", "device", "cfg"}
    assert wanted <= ours, wanted - ours


def test_rsl_rls_own_learner_runs(env: RslRlEnv) -> None:
    runners = pytest.importorskip("rsl_rl.runners", reason="rsl-rl-lib is not installed")
    network = {"class_name": "rsl_rl.models:MLPModel", "hidden_dims": [16, 16], "activation": "elu", "obs_normalization": True}
    noise = {"class_name": "rsl_rl.modules:GaussianDistribution", "init_std": 0.05, "std_type": "scalar"}
    config = {
        "num_steps_per_env": 8,
        "save_interval": 100,
        "obs_groups": {"actor": ["policy"], "critic": ["policy"]},
        "actor": {**network, "distribution_cfg": noise},
        "critic": dict(network),
        "algorithm": {"class_name": "rsl_rl.algorithms:PPO", "num_learning_epochs": 1, "num_mini_batches": 2},
    }
    runner = runners.OnPolicyRunner(env, config, log_dir=None, device="cpu")
    before = torch.cat([p.detach().flatten() for p in runner.alg.actor.parameters()]).clone()
    runner.learn(num_learning_iterations=3, init_at_random_ep_len=True)
    after = torch.cat([p.detach().flatten() for p in runner.alg.actor.parameters()])
    assert torch.isfinite(after).all() and not torch.equal(before, after)
    policy = runner.get_inference_policy("cpu")
    assert policy(env.get_observations()).shape == (WORLDS, env.num_actions)
