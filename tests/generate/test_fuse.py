"""A recorded and compiled function is the function; what cannot be compiled runs as it is."""

import logging

import torch

from parc.character import humanoid
from parc.generate.feature import FeatureLayout
from parc.generate.fuse import Fused
from parc.generate.objective import FastObjective


def decode(features: torch.Tensor) -> tuple[torch.Tensor, ...]:
    state = FeatureLayout(humanoid()).decode(features).state
    return (*state, *state.body_pose(humanoid()))


def test_fused_equals_plain():
    example, other = (torch.randn(2, 3, 128, generator=torch.Generator().manual_seed(s)) for s in (0, 1))
    fused = Fused(decode, backend="aot_eager")
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

        function = draw if name == "plain" else Fused(draw, backend="aot_eager")
        draws[name] = [function(), function()]
        assert name == "plain" or function.is_compiled
    for plain, fused in zip(draws["plain"], draws["fused"], strict=True):
        torch.testing.assert_close(fused.patch.heights, plain.patch.heights)
        assert torch.equal(fused.first, plain.first) and torch.equal(fused.goal, plain.goal)
        assert fused.patch.cell == plain.patch.cell
    assert not torch.equal(draws["fused"][0].first, draws["fused"][1].first)


def test_gradients_of_a_fused_objective(windows, layout, tiny_generator, random):
    window = windows.assemble(windows.draw(3, random))
    stats, objective = tiny_generator.statistics, FastObjective()
    level, shown = torch.rand(3, 2, generator=random), torch.ones(3, 2, dtype=torch.bool)
    results = {}
    for name in ("plain", "fused"):

        def loss(window, predicted, level, shown):
            return objective(layout, stats, window, predicted, level, shown)

        function = loss if name == "plain" else Fused(loss, differentiable=True, backend="aot_eager")
        predicted = torch.randn(3, 2, 13, layout.width, generator=torch.Generator().manual_seed(1)).requires_grad_()
        total, parts = function(window, predicted, level, shown)
        assert name == "plain" or function.is_compiled
        total.backward()
        assert not parts.requires_grad
        results[name] = (total.detach(), parts, predicted.grad)
    for plain, fused in zip(results["plain"], results["fused"], strict=True):
        torch.testing.assert_close(fused, plain)


def test_what_cannot_be_compiled_runs_as_it_is_and_is_logged(caplog):
    def asks_the_host(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (x * x.sum().item(),)

    fused = Fused(asks_the_host, backend="no such backend")
    with caplog.at_level(logging.WARNING):
        (got,) = fused(torch.ones(3))
    assert not fused.is_compiled and "compilation failed" in caplog.text
    assert torch.equal(got, torch.full((3,), 3.0))
