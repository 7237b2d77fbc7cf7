"""The environment judges, restarts and counts; a simulation that breaks is put aside and training goes on."""

from dataclasses import replace

import pytest
import torch

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.physics.choose_engine import make_world
from parc.track.env.reference_library import build_library
from parc.track.env.track_env import TrackEnv
from parc.track.tracker_settings import TrackerSettings

WORLDS = 4


@pytest.fixture
def env(character: Character, squat: Clip, tiny: TrackerSettings) -> TrackEnv:
    quiet = replace(tiny, restart=replace(tiny.restart, root_noise=0.0, velocity_noise=0.0))
    world = make_world(character, quiet.contract, WORLDS, "cpu", threads=1)
    return TrackEnv(world, build_library(character, [squat]), quiet, torch.Generator().manual_seed(0))


def begin(env: TrackEnv, frame: int) -> None:
    clip = torch.zeros(WORLDS, dtype=torch.long)
    env.begin(clip, torch.full_like(clip, frame), torch.zeros(WORLDS))


def place_on_reference(env: TrackEnv, frame: int) -> None:
    """Put the bodies exactly where the reference is, as if physics had brought them there."""
    row = torch.full((WORLDS,), frame)
    env.world.reset(torch.ones(WORLDS, dtype=torch.bool), env.library.qpos[row], env.library.qvel[row])


def test_reward_is_the_sum_of_the_weights_and_the_contact_term_where_simulation_equals_reference(env: TrackEnv) -> None:
    begin(env, 10)
    place_on_reference(env, 11)
    env.judge()
    perfect = sum(env.settings.reward.weights[:5]) + env.settings.reward.key_velocity
    torch.testing.assert_close(env.reward, torch.full((WORLDS,), perfect), atol=1e-5, rtol=0)
    torch.testing.assert_close(env.error, torch.zeros(WORLDS), atol=1e-5, rtol=0)
    begin(env, 10)
    place_on_reference(env, 11)
    env.world.contacts.copy_(env.library.contacts[11])
    env.judge()
    torch.testing.assert_close(env.reward, torch.full((WORLDS,), perfect + 2 / 15), atol=1e-5, rtol=0)


def test_a_start_is_the_reference_frame_itself(env: TrackEnv) -> None:
    begin(env, 17)
    torch.testing.assert_close(env.world.body_pos[0], env.library.body_pos[17], atol=1e-5, rtol=0)
    torch.testing.assert_close(env.world.qvel[0], env.library.qvel[17])
    assert torch.equal(env.contacts[0], env.library.contacts[17])


def test_residual_action_zero_asks_for_the_reference_some_steps_ahead(env: TrackEnv) -> None:
    begin(env, 10)
    env.simulate(torch.zeros(WORLDS, 28))
    torch.testing.assert_close(env.targets[0], env.library.dof[10 + env.settings.action.lead])


def test_absolute_action_zero_asks_for_the_middle_of_the_ranges(character: Character, squat: Clip) -> None:
    paper = TrackerSettings.paper()
    world = make_world(character, paper.contract, 1, "cpu", threads=1)
    env = TrackEnv(world, build_library(character, [squat]), paper, torch.Generator())
    env.restart_all()
    env.simulate(torch.zeros(1, 28))
    knee = character.dof_start[character.index("left_shin")]
    assert abs(float(env.targets[0, knee]) - 80 * torch.pi / 180) < 1e-5
    assert float(env.targets[0, 0]) == 0.0


def test_a_lost_pose_fails_and_starts_anew(env: TrackEnv) -> None:
    env.restart_all()
    begin(env, 10)
    env.age.fill_(5)
    place_on_reference(env, 11)
    env.world.body_pos[2] += torch.tensor([0.0, 0.0, 0.7])
    env.judge()
    assert env.failed.tolist() == [False, False, True, False]
    assert env.age.tolist() == [6, 6, 0, 6]


def test_the_end_of_a_clip_is_no_failure(env: TrackEnv) -> None:
    last = len(env.library.qpos) - 1
    begin(env, last - 1)
    place_on_reference(env, last)
    env.judge()
    assert env.at_end.all() and env.timed_out.all() and not env.failed.any()
    assert (env.age == 0).all()


def test_time_is_up_after_the_longest_episode(env: TrackEnv) -> None:
    env.restart_all()
    begin(env, 3)
    env._age_limit.fill_(5)
    env.age.copy_(torch.tensor([0, 3, 4, 9]))
    place_on_reference(env, 4)
    env.judge()
    assert env.timed_out.tolist() == [False, False, True, True]


def test_failures_are_counted_in_training_and_not_in_evaluation(env: TrackEnv) -> None:
    for training in (True, False):
        env.restart_all()
        if not training:
            begin(env, 10)
        env.restart._new_failures.zero_()
        env.age.fill_(5)
        env.world.body_pos += torch.tensor([0.0, 0.0, 0.9])
        env.judge()
        assert env.failed.all()
        assert float(env.restart._new_failures.sum()) == (WORLDS if training else 0)


def test_a_world_that_breaks_is_reported_reset_and_goes_on(env: TrackEnv) -> None:
    env.restart_all()
    action = torch.zeros(WORLDS, 28)
    action[1] = float("nan")
    env.step(action)
    assert env.broken.tolist() == [False, True, False, False] and env.failed[1]
    assert int(env.broken_count) == 1
    for _ in range(3):
        env.step(torch.zeros(WORLDS, 28))
    assert not env.world.diverged.any() and int(env.broken_count) == 1
    assert torch.isfinite(env.observation).all() and torch.isfinite(env.reward).all()


def test_start_noise_is_within_its_bounds(character: Character, squat: Clip, tiny: TrackerSettings) -> None:
    noisy = replace(tiny, restart=replace(tiny.restart, root_noise=0.05, velocity_noise=0.2))
    world = make_world(character, noisy.contract, 64, "cpu", threads=1)
    env = TrackEnv(world, build_library(character, [squat]), noisy, torch.Generator().manual_seed(0))
    env.restart_all()
    row = env.library.row(env.clip, env.frame)
    shift = env.world.qpos - env.library.qpos[row]
    assert 0.02 < float(shift[:, :2].abs().max()) <= 0.0501 and (shift[:, 2:].abs() < 1e-6).all()
    faster = (env.world.qvel - env.library.qvel[row]).abs().max()
    assert 0.1 < float(faster) <= 0.2001


def _run(env: TrackEnv, steps: int = 40) -> list[torch.Tensor]:
    """States, ends and observations of a run in which some worlds fall, some reach the end, and all start again."""
    generator, seen = torch.Generator().manual_seed(4), []
    env.restart_all()
    for _ in range(steps):
        wild = torch.tensor([0.0, 0.1, 1.0, 2.0]).unsqueeze(-1)
        env.step(wild * torch.randn(WORLDS, 28, generator=generator))
        ends = torch.stack([env.failed, env.at_end, env.timed_out, env.broken], -1)
        seen.append(torch.cat([env.world.qpos, env.observation, ends.float(), env.error.unsqueeze(-1)], -1))
    ends = torch.stack(seen)[..., -5:-3].sum((0, 1))
    assert ends.min() > 0, "both kinds of end must occur"
    return seen


def _twins(character: Character, squat: Clip, tiny: TrackerSettings, **changes: bool) -> list[TrackEnv]:
    library = build_library(character, [squat])
    worlds = [make_world(character, tiny.contract, WORLDS, "cpu", threads=1) for _ in range(2)]
    return [
        TrackEnv(w, library, tiny, torch.Generator().manual_seed(0), **kw) for w, kw in zip(worlds, ({}, changes), strict=True)
    ]


def test_without_rewards_everything_else_is_the_same(character: Character, squat: Clip, tiny: TrackerSettings) -> None:
    with_rewards, without = _twins(character, squat, tiny, rewards=False)
    for a, b in zip(_run(with_rewards), _run(without), strict=True):
        assert torch.equal(a, b)
    assert with_rewards.reward.abs().max() > 0 and with_rewards.restart._new_failures.sum() > 0
    assert torch.equal(with_rewards.restart._new_failures, without.restart._new_failures)
    assert (without.reward == 0).all() and (without.terms == 0).all()


def test_to_look_before_a_restart_changes_nothing(character: Character, squat: Clip, tiny: TrackerSettings) -> None:
    """A GPU restarts nobody rather than look whether there is somebody; the CPU looks."""
    looking, blind = _twins(character, squat, tiny)
    blind._may_look = False
    for a, b in zip(_run(looking), _run(blind), strict=True):
        assert torch.equal(a, b)


def test_rows_are_the_librarys(env: TrackEnv, squat: Clip) -> None:
    for frame in (3, len(squat.motion) - 5):
        begin(env, frame)
        env.step(torch.zeros(WORLDS, 28))
        ahead = torch.tensor([1, env.settings.action.lead, *env.settings.observation.target_steps])
        assert torch.equal(env._rows, env.library.row(env.clip.unsqueeze(1), env.frame.unsqueeze(1) + ahead))
