"""On a GPU: recorded graphs of the closed loop do what the calls they were recorded from do, and nothing in it waits."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from parc.character import humanoid
from parc.dataset.clip import Clip
from parc.generate.model.motion_generator import Generator
from parc.models import shipped_generator, shipped_tracker
from parc.physics.choose_engine import make_world
from parc.reflex.reflex_env import ReflexEnv
from parc.reflex.reflex_settings import BankSettings, DevelopmentSettings, DisturbanceSettings, ReflexTrainingSettings
from parc.reflex.reflex_training import train_reflex
from parc.reflex.terrain_bank import CrossingBank, CrossingSource
from parc.track.learn.policy import load_actor
from parc.track.learn.training_plan import TrainingPlan

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")

BANK = BankSettings(terrains=32, fresh=8, every=2)
CLOSED = ReflexTrainingSettings(bank=BANK, disturbance=DisturbanceSettings(pushes=0.2, height_noise=0.01))


@pytest.fixture(scope="module")
def shipped() -> Generator:
    return Generator.load(shipped_generator(), humanoid(), "cuda").in_precision(torch.bfloat16)


def crossed(generator: Generator, graphs: bool, steps: int) -> tuple[ReflexEnv, dict[str, float]]:
    tracker = load_actor(shipped_tracker(), humanoid(), "cuda")
    world = make_world(humanoid(), tracker.contract, 58, "cuda")
    with world.on_stream():
        bank = CrossingBank.of(CrossingSource(BANK, 3, 0).take(32), BANK, "cuda")
        random = torch.Generator("cuda").manual_seed(0)
        env = ReflexEnv(world, generator, bank, tracker.settings, CLOSED, random, graphs)
        env.restart_all()
        for step in range(steps):
            if step == 10:
                torch.cuda.set_sync_debug_mode("error")
            env.step(tracker.act(env.observation))
        torch.cuda.set_sync_debug_mode("default")
        torch.cuda.synchronize()
        means = {"reward": float((env.reward * env.counts).mean()), "counts": float(env.counts.mean())}
        return env, means | {"best": float(env.crossings.best.mean())}


def test_graphs_cross_like_ordinary_calls_and_nothing_waits(shipped: Generator) -> None:
    env, recorded = crossed(shipped, True, 60)
    plain_env, plain = crossed(shipped, False, 60)
    graphs = (env._before, env._after, env._end_turn, env._show)
    assert all(graph.is_captured for graph in graphs) and not plain_env._after.is_captured
    assert recorded["counts"] == pytest.approx(plain["counts"], abs=0.15)
    assert recorded["best"] == pytest.approx(plain["best"], abs=0.5) and recorded["reward"] > 1.0


def test_exchanged_ground_is_that_of_the_physics(shipped: Generator) -> None:
    env, _ = crossed(shipped, True, 8)
    source = CrossingSource(BANK, 3, 0)
    source.next = 100
    with env.world.on_stream():
        rows = torch.tensor([0, 7], device="cuda")
        fresh = CrossingBank.of(source.take(2), BANK, "cuda")
        env.exchange(rows, fresh)
        assert torch.equal(env.world._heights[rows], fresh.terrains.heights)
        for _ in range(20):
            env.step(torch.zeros_like(env.action))
        assert bool(env.observation.isfinite().all())


def test_a_training_runs(shipped: Generator, walk: Clip, tmp_path: Path) -> None:
    development = DevelopmentSettings(families=("boxes",), terrains=2, runs=2)
    closed = replace(CLOSED, development=development, ppo=replace(CLOSED.ppo, minibatch=1024), shares=())
    plan = TrainingPlan(worlds=116, iterations=8, milestone_iterations=8)
    result = train_reflex(shipped_tracker(), shipped, [walk], tmp_path, closed, plan)
    assert result["samples"] == 8 * 116 * 16
