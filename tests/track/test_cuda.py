"""On a GPU: recorded graphs do what the calls they were recorded from do."""

from dataclasses import replace

import pytest
import torch

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.physics.choose_engine import make_world
from parc.run.distributed import Group
from parc.track.env.reference_library import build_library
from parc.track.follow.evaluate_tracking import evaluate
from parc.track.learn.tracker_training import TrackerTrainer, TrainingPlan
from parc.track.tracker_settings import TrackerSettings

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")


def train(character: Character, clip: Clip, settings: TrackerSettings, graphs: bool) -> tuple[list[float], torch.Tensor, float]:
    device = torch.device("cuda", 0)
    world = make_world(character, settings.contract, 256, device)
    plan = TrainingPlan(worlds=256, graphs=graphs)
    with world.on_stream():  # type: ignore[attr-defined]
        library = build_library(character, [clip], device=device)
        trainer = TrackerTrainer(character, library, world, settings, plan, Group(0, 1, device))
        trainer._compile()
        trainer.env.restart_all()
        rewards = [trainer._iteration()["reward"] for _ in range(4)]
        recorded = [trainer.env._before._graph, trainer.env._after._graph, trainer.ppo._whole._graph]
        assert all((graph is not None) == graphs for graph in recorded)
        success = evaluate(trainer.env, trainer.policy.averaged_actor()).tracked
    return rewards, trainer.ppo.actor_flat.detach().cpu(), success


def test_graphs_train_like_ordinary_calls(character: Character, squat: Clip, tiny: TrackerSettings) -> None:
    settings = replace(tiny, policy=replace(tiny.policy, hidden=(256, 128)), ppo=replace(tiny.ppo, steps=8, minibatch=512))
    with_graphs, weights, tracked = train(character, squat, settings, graphs=True)
    without, other_weights, other_tracked = train(character, squat, settings, graphs=False)
    assert with_graphs == pytest.approx(without, abs=0.02)
    assert float((weights - other_weights).abs().mean()) < 2e-3
    assert abs(tracked - other_tracked) < 0.2
