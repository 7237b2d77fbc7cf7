"""A recorded and compiled window is the window; what cannot be compiled runs as it is."""

import logging

import torch

from parc.character import humanoid
from parc.generate.feature import FeatureLayout
from parc.generate.fuse import fuse


def decode(features: torch.Tensor) -> tuple[torch.Tensor, ...]:
    state = FeatureLayout(humanoid()).decode(features).state
    return (*state, *state.body_pose(humanoid()))


def test_fused_equals_plain():
    example, other = (torch.randn(2, 3, 128, generator=torch.Generator().manual_seed(s)) for s in (0, 1))
    fused = fuse(decode, (example,), backend="aot_eager")
    assert fused is not decode
    for got, expected in zip(fused(other), decode(other), strict=True):
        torch.testing.assert_close(got, expected)


def test_what_cannot_be_compiled_is_returned_and_logged(caplog):
    def asks_the_host(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (x * x.sum().item(),)

    with caplog.at_level(logging.WARNING):
        same = fuse(asks_the_host, (torch.ones(3),), backend="no such backend")
    assert same is asks_the_host and "compilation failed" in caplog.text
