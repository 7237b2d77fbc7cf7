"""A traced and compiled function is the function; what cannot be compiled runs as it is."""

import logging

import torch
from torch._dynamo import register_backend
from torch._dynamo.backends.registry import lookup_backend

from parc.run.compile_traced import TracedFunction


def test_what_cannot_be_compiled_runs_as_it_is_and_is_logged(caplog):
    def asks_the_host(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (x * x.sum().item(),)

    fused = TracedFunction(asks_the_host, backend="no such backend")
    with caplog.at_level(logging.WARNING):
        (got,) = fused(torch.ones(3))
    assert not fused.is_compiled and "compilation failed" in caplog.text
    assert torch.equal(got, torch.full((3,), 3.0))


def with_strides_checked(recorded, examples):
    """A backend that wants its inputs laid out as the examples were, as generated code does."""
    run, expected = lookup_backend("aot_eager")(recorded, examples), [(e.shape, e.stride()) for e in examples]

    def strictly(*inputs):
        assert [(i.shape, i.stride()) for i in inputs] == expected
        return run(*inputs)

    return strictly


def test_layout_of_arguments_does_not_matter():
    """A slice of something larger at the first call, a fresh tensor at the next, a transposed one after that."""
    register_backend(with_strides_checked, name="with_strides_checked")
    whole = torch.randn(3, 5, 4, generator=torch.Generator().manual_seed(0))
    fused = TracedFunction(lambda x, y: (x * y, x.cumsum(1)), backend="with_strides_checked")
    for x in (whole[:, :2], whole[:, 2:4].clone(), whole[:, :2].clone().mT.contiguous().mT, whole[:1, :2].expand(3, -1, -1)):
        product, total = fused(x, whole[:, 3:])
        torch.testing.assert_close(product, x * whole[:, 3:])
        torch.testing.assert_close(total, x.cumsum(1))
    assert fused.is_compiled and len(fused._runs) == 1


def test_a_compiled_function_writes_to_its_arguments_once_a_call(caplog):
    def count(buffer: torch.Tensor, step: torch.Tensor) -> tuple[torch.Tensor, ...]:
        buffer.add_(step)
        return (buffer * 2,)

    fused, buffer, step = TracedFunction(count, backend="aot_eager"), torch.zeros(3), torch.ones(6)[::2]
    for calls in (1, 2):
        (twice,) = fused(buffer, step)
        assert torch.equal(buffer, torch.full((3,), float(calls))) and torch.equal(twice, 2 * buffer)
    assert fused.is_compiled

    scattered = TracedFunction(count, backend="aot_eager")
    with caplog.at_level(logging.WARNING):
        column = torch.zeros(3, 2)[:, 0]
        scattered(column, step)
    assert torch.equal(column, torch.ones(3)) and not scattered.is_compiled and "not contiguous" in caplog.text
