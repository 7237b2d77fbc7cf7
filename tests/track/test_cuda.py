"""On a GPU: recorded graphs do what the calls they were recorded from do."""

from dataclasses import replace
from functools import partial

import pytest
import torch

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.models import shipped_tracker
from parc.motion.frame_state import FrameState
from parc.physics.choose_engine import make_world
from parc.run.cuda_graph import CudaGraph
from parc.run.distributed import Group
from parc.track.env.reference_library import build_library
from parc.track.follow.evaluate_tracking import evaluate
from parc.track.follow.follower import Follower
from parc.track.follow.plan_reference import PlanReference
from parc.track.follow.reference_table import WrittenTable
from parc.track.learn.policy import load_actor
from parc.track.learn.tracker_training import TrackerTrainer, TrainingPlan
from parc.track.tracker_settings import TrackerSettings

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")


def train(character: Character, clip: Clip, settings: TrackerSettings, graphs: bool) -> tuple[list[float], torch.Tensor, float]:
    device = torch.device("cuda", 0)
    world = make_world(character, settings.contract, 256, device)
    plan = TrainingPlan(worlds=256, graphs=graphs)
    with world.on_stream():
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


def test_plans_are_followed_and_written_between_replays(character: Character, squat: Clip) -> None:
    """Recorded graphs read a table that is written between their replays, itself within a graph, as ordinary calls do."""
    trained = load_actor(shipped_tracker(), character, "cuda")
    frames = FrameState(*(torch.stack([part[:40], part[5:45]]).cuda() for part in FrameState.of_motion(squat.motion)))
    roots = []
    for graphs in (False, True):
        follower = Follower(trained, squat.terrain, 2, graphs=graphs)
        reference = PlanReference.of(follower.anatomy, frames)
        trace = follower.run(follower.start(reference), reference, 12)
        bodies, later = follower.tracked, FrameState(*(part[:, 10:30].clone() for part in frames))
        everybody, at = torch.ones(2, dtype=torch.bool, device="cuda"), torch.tensor([14, 15], device="cuda")
        assert isinstance(bodies.reference, WrittenTable)
        write = CudaGraph(partial(bodies.reference.write, everybody, at, later), bodies.world.device, True, enabled=graphs)
        for _ in range(8):
            write()
            bodies.observe()
            follower.step()
        assert bodies._after.is_captured == graphs == write.is_captured and bodies.reference.length.tolist() == [34, 35]
        roots.append(torch.cat([trace.root_pos[:, -1], bodies.world.body_pos[:, 0]]).cpu())
    torch.testing.assert_close(roots[1], roots[0], atol=0.02, rtol=0)
