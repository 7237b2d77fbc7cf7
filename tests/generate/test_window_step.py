"""One window step serves rollouts and training: the same start, goal and noise give the same frames to both."""

import pytest
import torch

from parc.character import humanoid
from parc.generate.model.blended_denoising import Blend
from parc.generate.model.motion_generator import Generator
from parc.generate.repair.repair_settings import RepairSettings
from parc.generate.rollout.path_rollout import PathRunner, RolloutSettings
from parc.generate.rollout.window_step import WindowStart, WindowStep
from parc.motion.frame_state import FrameState
from parc.path.path_batch import PathBatch
from parc.path.terrain_path import TerrainPath
from parc.terrain.terrain import TerrainBatch


@pytest.fixture
def past(walk) -> FrameState:
    """Two rows that begin at different frames of the walk."""
    state = FrameState.of_motion(walk.motion)
    return FrameState(*(torch.stack([part[30:32], part[50:52]]) for part in state))


def step_of(generator: Generator, repairs: RepairSettings | None, candidates: int = 1) -> tuple[WindowStep, torch.Tensor]:
    """A step as training makes it, whose aim is the goal, and its blending coefficients."""
    plan = generator.schedule.plan(generator.device)
    blend = Blend()
    step = WindowStep(generator, plan, blend, 7, lambda goal: goal, repairs, candidates=candidates)
    return step, blend.coefficients(len(plan))


@pytest.mark.parametrize("repaired", [False, True])
def test_a_rollout_and_a_training_step_make_the_same_window(tiny_generator, walk, past: FrameState, repaired: bool) -> None:
    terrain = TerrainBatch.stack([walk.terrain] * 2)
    path = TerrainPath(torch.tensor([[1.0, 3.0, 0.0], [3.5, 3.0, 0.0], [6.0, 4.5, 0.2]]))
    settings = RolloutSettings(lock_feet=repaired, overlap=0)
    runner = PathRunner(tiny_generator, terrain, PathBatch.stack([path] * 2), 1, settings)
    runner.reset(past, torch.Generator().manual_seed(0))
    goal = runner.paths.target(runner.progress, settings.lookahead)
    kept = runner.step(torch.Generator().manual_seed(5))

    step, coefficients = step_of(tiny_generator, RepairSettings() if repaired else None)
    start = WindowStart(past, past.body_pose(humanoid()), torch.ones(()), terrain, goal)
    noise = torch.zeros(tiny_generator.noise_shape(2)).normal_(generator=torch.Generator().manual_seed(5))
    with torch.no_grad():
        state, pose = step(start, None, noise, coefficients, tiny_generator.level_embeddings(step.plan))
    for ours, theirs in zip(state, kept, strict=True):
        torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(pose.pos, state.body_pose(humanoid()).pos)


def test_candidates_of_a_row_differ_by_their_noise_alone(tiny_generator, walk, past: FrameState) -> None:
    terrain, goal = TerrainBatch.stack([walk.terrain] * 2), torch.tensor([[4.0, 3.0], [5.0, 4.0]])
    start = WindowStart(past, past.body_pose(humanoid()), torch.ones(()), terrain, goal)
    noise = torch.randn(tiny_generator.noise_shape(2), generator=torch.Generator().manual_seed(5))
    frames = {}
    for candidates in (1, 3):
        step, coefficients = step_of(tiny_generator, RepairSettings(), candidates)
        each = noise.repeat_interleave(candidates, 0)
        with torch.no_grad():
            frames[candidates], _ = step(start, None, each, coefficients, tiny_generator.level_embeddings(step.plan))
    for one, three in zip(frames[1], frames[3], strict=True):
        torch.testing.assert_close(three, one.repeat_interleave(3, 0), atol=5e-5, rtol=1e-4)
