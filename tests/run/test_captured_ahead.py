"""A function captured ahead of its first call does what the function does."""

import pytest
import torch

from parc.run.captured_ahead import CapturedAhead


def test_without_a_gpu_nothing_runs_before_it_is_called() -> None:
    runs: list[int] = []
    captured = CapturedAhead(lambda: runs.append(1), torch.device("cpu"))
    assert runs == [] and not captured.is_captured
    for n in (1, 2, 3):
        captured()
        assert len(runs) == n


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_on_a_gpu_it_warms_up_and_then_every_call_counts_once() -> None:
    device = torch.device("cuda", 0)
    count, drawn = torch.zeros(1, device=device), torch.zeros(4, device=device)
    random = torch.Generator(device).manual_seed(0)

    def step() -> None:
        count.add_(1)
        drawn.normal_(generator=random)

    captured = CapturedAhead(step, device, (random,))
    assert captured.is_captured and float(count) > 0, "buffers are the caller's to set back"
    count.zero_()
    seen = set()
    for n in (1, 2, 3):
        captured()
        seen.add(tuple(drawn.tolist()))
        assert float(count) == n
    assert len(seen) == 3, "a registered generator goes on from call to call"
