"""The environment of closed-loop training: turns, ends, pay, starts, other ground, disturbances."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from parc.errors import SettingsError
from parc.plan.crossing.reflex_crossings import FALLEN, LATE, RUNNING
from parc.reflex.plan_turns import PlanTurns
from parc.reflex.reflex_env import ReflexEnv
from parc.reflex.reflex_settings import DisturbanceSettings, ReflexStarts, ReflexTrainingSettings
from parc.reflex.terrain_bank import CrossingBank, CrossingSource

EnvOf = Callable[..., ReflexEnv]


def still(env: ReflexEnv) -> torch.Tensor:
    return torch.zeros_like(env.action)


@pytest.mark.parametrize("every", [(3, 5), (2, 3, 3), (4,)])
def test_every_body_has_its_turn_every_k_steps_and_steps_have_as_many_turns(every: tuple[int, ...]) -> None:
    count = 2 * sum(every)
    turns = PlanTurns.of(every, count)
    last = torch.full((count,), -1)
    for step in range(len(turns.worlds) + 1):
        group = turns.at(step)
        assert len(group) == 2 * len(every) == len(group.unique())
        known = last[group] >= 0
        assert torch.equal((step - last[group])[known], turns.between[group][known])
        last[group] = step
    assert torch.equal(turns.between, torch.repeat_interleave(torch.tensor(every), 2 * torch.tensor(every)))
    with pytest.raises(SettingsError):
        PlanTurns.of(every, count + 1)


def test_who_has_a_turn_is_at_frame_0_of_a_plan_from_where_it_is(env_of: EnvOf, closed: ReflexTrainingSettings) -> None:
    env = env_of(closed)
    for step in range(1, 8):
        env.step(still(env))
        turn = torch.zeros(5, dtype=torch.bool).index_fill(0, env.turns.at(step), True)
        assert torch.equal(env.frame == 0, turn)
        first = env.reference.qpos[env.reference.start]
        torch.testing.assert_close(first[turn, :3], env.world.qpos[turn, :3])
        assert torch.equal(env.reference.length, torch.full((5,), closed.loop.length))


def test_a_crossing_that_is_over_counts_for_nothing_until_its_turn(env_of: EnvOf, closed: ReflexTrainingSettings) -> None:
    env = env_of(closed)
    counted = 0.0
    for step in range(1, 40):
        ran, before = env.crossings.runs.clone(), env.crossings.steps.clone()
        env.step(still(env))
        assert torch.equal(env.counts.bool(), ran)
        assert not bool((env.ended & ~ran).any()) and not bool((env.timed_out & env.gave_out).any())
        assert torch.equal(env.gave_out & ran | env.timed_out, env.ended) and bool(env.gave_out[~ran].all())
        anew = env.crossings.runs & (env.crossings.steps == 0)
        turn = torch.zeros(5, dtype=torch.bool).index_fill(0, env.turns.at(step), True)
        assert torch.equal(anew, turn & ~(ran & ~env.ended)), "all whose turn it is and who do not run begin anew"
        assert torch.equal(env.crossings.steps[~anew], (before + ran)[~anew])
        assert torch.equal(env.world.idle, ~env.crossings.runs)
        assert bool(env.reward[~ran].eq(0).all()) and bool(env.observation.isfinite().all())
        counted += float(env.ended.sum())
    ends = float(env.outcomes[:, :4].sum())
    assert counted == ends > 5


def test_no_more_progress_is_paid_than_the_wanted_speed_allows(env_of: EnvOf, closed: ReflexTrainingSettings) -> None:
    """Bodies are carried along their paths at 3 m/s, and then stand."""
    reward = replace(closed.reward, wanted_speed=1.2, saved=1.0, imitation=0.0, arrival=0.0)
    env = env_of(replace(closed, reward=reward, lost=0.0, loop=replace(closed.loop, seconds=5.0)))
    fps, total = 30.0, torch.zeros(5)
    for step in range(1, 31):
        arc = (3.0 * step / fps) if step <= 15 else 1.5
        root = env.crossings.paths.position(torch.full((5,), arc)) + torch.tensor([0.0, 0.0, 0.87])
        env.world.body_pos[:, 0] = root
        env._restart_finished(env._rows[:, 0])
        assert bool((env.crossings.gain >= env.paid).all())
        total += env.paid
        assert float(total.max()) <= 1.2 * step / fps + 1e-4
        torch.testing.assert_close(env.reward, 20.0 * env.paid - 30.0 * (env.ended & (env.crossings.outcome == FALLEN)))
    assert float(total.min()) < 1.2 < 1.5, "what came too quickly is not paid later"


def test_starts_are_of_the_kinds_asked_for(env_of: EnvOf, closed: ReflexTrainingSettings) -> None:
    for starts, kinds in (
        (replace(closed.starts, hard=0.0, places=0.0), {0}),
        (replace(closed.starts, hard=0.0, places=1.0), {1}),
        (replace(closed.starts, hard=1.0, places=0.0), {0, 2}),
    ):
        env = env_of(replace(closed, starts=starts))
        seen: set[int] = set()
        for _ in range(30):
            env.step(still(env))
            env.hard.refresh()
            seen |= set(env.kind.tolist())
        assert seen == kinds, (starts, seen)


def test_a_hard_start_is_a_state_of_an_episode_that_failed_later(env_of: EnvOf, closed: ReflexTrainingSettings) -> None:
    env = env_of(replace(closed, starts=replace(closed.starts, hard=0.0)))
    met: list[torch.Tensor] = []
    for _ in range(30):
        met.append(env.world.qpos.clone())
        env.step(still(env))
    kept = env.hard.store.take(env.hard.live.nonzero()[:, 0])
    assert len(kept.case) > 2
    every = torch.cat(met)
    assert all(bool((every == row).all(-1).any()) for row in kept.states.qpos)


def test_exchanged_ground_ends_the_crossings_on_it_alone(env_of: EnvOf, closed: ReflexTrainingSettings) -> None:
    env = env_of(closed)
    env.step(still(env))
    source = CrossingSource(closed.bank, closed.starts.each, 0)
    source.next = 50
    fresh = CrossingBank.of(source.take(2), closed.bank)
    rows, case, ran = torch.tensor([1, 3]), env.crossings.case.clone(), env.crossings.runs.clone()
    starts = env.starts.take(torch.arange(12)).states.qpos
    env.exchange(rows, fresh)
    on_it = torch.isin(case, rows)
    assert torch.equal(env.crossings.runs, ran & ~on_it) and bool((env.crossings.outcome[on_it & ran] == LATE).all())
    for bank in (env.crossing_bank.terrains, env.bank, env.world._bank):
        assert torch.equal(bank.heights[rows], fresh.terrains.heights)
    assert torch.equal(env.crossings.all_paths.points[rows], fresh.paths.points)
    changed = (env.starts.take(torch.arange(12)).states.qpos != starts).any(-1).view(4, 3).any(-1)
    assert changed.tolist() == [False, True, False, True]
    for _ in range(3):
        env.step(still(env))
    assert bool((env.crossings.outcome[on_it] == RUNNING).any())


def test_disturbances_push_and_deceive(env_of: EnvOf, closed: ReflexTrainingSettings) -> None:
    pushed = replace(closed, disturbance=DisturbanceSettings(pushes=30.0, push_speed=(1.0, 1.0)), lost=0.0)
    env, calm = env_of(pushed), env_of(replace(closed, lost=0.0))
    for both in (env, calm):
        both.simulate(still(both))
        both._step_draws.fill_(0.25)
        both._after()
    runs = env.crossings.runs
    change = (env.world.qvel - calm.world.qvel)[runs]
    expected = torch.zeros_like(change)
    expected[:, 1] = 1.0
    torch.testing.assert_close(change, expected, atol=1e-5, rtol=0)
    deceived = env_of(replace(closed, disturbance=DisturbanceSettings(height_noise=0.05)))
    error = deceived.bank.heights - deceived.crossing_bank.terrains.heights[deceived.crossings.case]
    assert error.shape[0] == 5 and 0.04 < float(error.std()) < 0.06
    heights = deceived.observer.layout["heights"]
    assert bool((deceived.observation[:, heights] != env_of(closed).observation[:, heights]).any())


def test_a_price_on_stooping_takes_from_the_reward_only(env_of: EnvOf, closed: ReflexTrainingSettings) -> None:
    plain, priced = env_of(closed), env_of(replace(closed, reward=replace(closed.reward, posture=5.0)))
    for _ in range(6):
        for env in (plain, priced):
            env.step(still(env))
        assert torch.equal(plain.world.qpos, priced.world.qpos)
    assert bool((priced.reward <= plain.reward).all())


@pytest.mark.parametrize(
    "wrong",
    [
        {"every": ()}, {"every": (3, 40)}, {"clip_share": 1.0}, {"shares": (1.0,)}, {"pull": -1.0},
    ],
)  # fmt: skip
def test_impossible_settings_are_refused(wrong: dict) -> None:
    with pytest.raises(SettingsError):
        ReflexTrainingSettings(**wrong)
    with pytest.raises(SettingsError):
        ReflexStarts(hard=0.7, places=0.5)


def test_worlds_are_shared_out(closed: ReflexTrainingSettings) -> None:
    assert ReflexTrainingSettings().worlds(8192) == (188 * 29, 8192 - 188 * 29)
    assert closed.worlds(10) == (5, 5)
    assert ReflexTrainingSettings(clip_share=0.0).worlds(58) == (58, 0)
    with pytest.raises(SettingsError):
        ReflexTrainingSettings().worlds(20)
