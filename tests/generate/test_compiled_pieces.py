"""Pieces of windows and of training steps, traced and compiled, are the pieces (`parc.run.compile_traced`)."""

import dataclasses
import os

import pytest
import torch
from torch._dynamo import register_backend

from parc.character import humanoid, kinematics
from parc.generate.data.frame_table import FrameTable
from parc.generate.data.training_windows import WindowSampler, WindowSettings
from parc.generate.model.feature_layout import FeatureLayout
from parc.generate.model.motion_generator import Generator, GeneratorSettings
from parc.generate.model.prefix_transformer import PrefixSettings
from parc.generate.rollout.path_rollout import PathRunner, RolloutSettings
from parc.generate.training.training_objective import FastObjective
from parc.generate.training.training_step import GeneratorTrainer, StepSettings
from parc.path.path_batch import PathBatch
from parc.path.terrain_path import TerrainPath
from parc.run import distributed
from parc.run.compile_traced import TracedFunction
from parc.terrain.terrain import Terrain, TerrainBatch


def decode(features: torch.Tensor) -> tuple[torch.Tensor, ...]:
    state = FeatureLayout(humanoid()).decode(features).state
    return (*state, *state.body_pose(humanoid()))


def test_fused_equals_plain():
    example, other = (torch.randn(2, 3, 128, generator=torch.Generator().manual_seed(s)) for s in (0, 1))
    fused = TracedFunction(decode, backend="aot_eager")
    fused(example)
    assert fused.is_compiled
    for got, expected in zip(fused(other), decode(other), strict=True):
        torch.testing.assert_close(got, expected)


def test_a_fused_function_draws_the_same_numbers_as_the_plain_one(windows):
    """Trees in and out, terrain among them; the compilation itself draws none."""
    draws = {}
    for name in ("plain", "fused"):
        random = torch.Generator().manual_seed(3)

        def draw(random=random):
            return windows.draw(4, random)

        function = draw if name == "plain" else TracedFunction(draw, backend="aot_eager")
        draws[name] = [function(), function()]
        assert name == "plain" or function.is_compiled
    for plain, fused in zip(draws["plain"], draws["fused"], strict=True):
        torch.testing.assert_close(fused.patch.heights, plain.patch.heights)
        assert torch.equal(fused.first, plain.first) and torch.equal(fused.goal, plain.goal)
        assert fused.patch.cell == plain.patch.cell
    assert not torch.equal(draws["fused"][0].first, draws["fused"][1].first)


@pytest.mark.parametrize("as_operator", [False, True])
def test_gradients_of_a_fused_objective(windows, layout, tiny_generator, random, as_operator, monkeypatch):
    """With kinematics as an operator, as on CUDA, too."""
    if as_operator:
        monkeypatch.setattr(kinematics, "_kernel_applies", lambda *_: True)
    window = windows.assemble(windows.draw(3, random))
    stats, objective = tiny_generator.statistics, FastObjective()
    level, shown = torch.rand(3, 2, generator=random), torch.ones(3, 2, dtype=torch.bool)
    results = {}
    for name in ("plain", "fused"):

        def loss(window, predicted, level, shown):
            return objective(layout, stats, window, predicted, level, shown)

        function = loss if name == "plain" else TracedFunction(loss, differentiable=True, backend="aot_eager")
        predicted = torch.randn(3, 2, 13, layout.width, generator=torch.Generator().manual_seed(1)).requires_grad_()
        total, parts = function(window, predicted, level, shown)
        assert name == "plain" or function.is_compiled
        total.backward()
        assert not parts.requires_grad
        results[name] = (total.detach(), parts, predicted.grad)
    for plain, fused in zip(results["plain"], results["fused"], strict=True):
        torch.testing.assert_close(fused, plain)


def test_what_is_compiled_of_training_does_not_depend_on_the_size_of_the_data(walk):
    """So that code compiled for one data set is found again for another."""
    seen: list[tuple] = []

    def notes_shapes(recorded, examples):
        seen.append(tuple((tuple(e.shape), e.dtype) for e in examples))
        return recorded

    register_backend(notes_shapes, name="notes_shapes")
    kinds = []
    for frames in (40, 60):
        clip = dataclasses.replace(walk, motion=walk.motion.slice(0, frames))
        generator = Generator(humanoid(), GeneratorSettings(network=PrefixSettings(32, 1, 2, 32), pace=True))
        table = FrameTable.build([clip], humanoid(), 15, "cpu")
        sampler = WindowSampler(table, generator.layout, generator.settings.grid, WindowSettings(), has_pace=True)
        step = StepSettings(batch=4, levels=2, own_start=0.0, statistics_windows=64)
        trainer = GeneratorTrainer(generator, sampler, step, distributed.setup("cpu"), 0)
        trainer.fit_statistics()
        trainer.fuse("notes_shapes", ("draw", "noise", "objective"))
        window = trainer._own_window
        window._describing = TracedFunction(window._describe, backend="notes_shapes")
        window._decoding = TracedFunction(window._decode, backend="notes_shapes")
        window._repairing = TracedFunction(window._repair, backend="notes_shapes")
        seen.clear()
        trainer.step(0.5)
        kinds.append(list(seen))
    assert len(kinds[0]) == 6 and kinds[0] == kinds[1]


@pytest.mark.skipif(not os.environ.get("PARC_SLOW_TESTS"), reason="generates code for minutes; set PARC_SLOW_TESTS=1")
def test_generated_code_makes_the_same_windows(tiny_generator):
    """In float32, where only the order of sums differs; foot repair and the choice among candidates included."""
    terrain = TerrainBatch.stack([Terrain.flat((20, 20))])
    paths = PathBatch.stack([TerrainPath(torch.tensor([[1.0, 1.0, 0.0], [6.0, 5.0, 0.0]]))])
    runs = []
    for compiled in (False, True):
        runner = PathRunner(tiny_generator, terrain, paths, 2, RolloutSettings(choices=2), compiled=compiled)
        assert runner.is_compiled == compiled
        random = torch.Generator().manual_seed(1)
        runner.reset(None, random)
        runs.append([part.clone() for _ in range(2) for part in runner.step(random)])
    for fused, plain in zip(runs[1], runs[0], strict=True):
        torch.testing.assert_close(fused, plain, atol=2e-4, rtol=0)


@pytest.mark.skipif(not os.environ.get("PARC_SLOW_TESTS"), reason="generates code for minutes; set PARC_SLOW_TESTS=1")
def test_generated_code_takes_the_same_training_steps(windows):
    values = []
    for compiled in (False, True):
        torch.manual_seed(0)
        network = PrefixSettings(width=32, layers=1, heads=2, hidden=32)
        step = StepSettings(batch=4, levels=2, own_start=0.0, statistics_windows=64)
        generator = Generator(humanoid(), GeneratorSettings(network=network))
        trainer = GeneratorTrainer(generator, windows, step, distributed.setup("cpu"), 0, use_compile=compiled)
        trainer.fit_statistics()
        for _ in range(2):
            trainer.step(0.5)
        pieces = (trainer._changing, trainer._noising, trainer._judging)
        assert all(isinstance(p, TracedFunction) and p.is_compiled for p in pieces) == compiled
        assert trainer._own_window.is_compiled == compiled
        values.append((trainer.flat.grads.clone(), trainer.parts.clone()))
    torch.testing.assert_close(values[1], values[0], atol=1e-3, rtol=1e-3)
