"""A captured function does what the function does, exactly as often as it is called."""

import pytest
import torch

from parc.run.cuda_graph import CudaGraph

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize("name", ["cpu", pytest.param("cuda", marks=needs_gpu)])
def test_where_every_run_counts_every_call_counts_once_from_the_first_on(name: str, enabled: bool) -> None:
    device = torch.device(name)
    count = torch.zeros(1, device=device)

    def step() -> None:
        count.add_(1)

    graph = CudaGraph(step, device, every_run_counts=True, enabled=enabled)
    assert float(count) == 0
    for n in range(1, 8):
        graph()
        assert float(count) == n
    assert graph.is_captured == (enabled and name == "cuda")


def test_without_a_gpu_nothing_runs_before_it_is_called() -> None:
    runs: list[int] = []
    graph = CudaGraph(lambda: runs.append(1), torch.device("cpu"), every_run_counts=False)
    assert runs == [] and not graph.is_captured
    for n in (1, 2, 3):
        graph()
        assert len(runs) == n


@needs_gpu
def test_on_a_gpu_it_warms_up_and_then_every_call_counts_once() -> None:
    device = torch.device("cuda", 0)
    count, drawn = torch.zeros(1, device=device), torch.zeros(4, device=device)
    random = torch.Generator(device).manual_seed(0)

    def step() -> None:
        count.add_(1)
        drawn.normal_(generator=random)

    graph = CudaGraph(step, device, every_run_counts=False, generators=(random,))
    assert graph.is_captured and float(count) > 0, "buffers are the caller's to set back"
    count.zero_()
    seen = set()
    for n in (1, 2, 3):
        graph()
        seen.add(tuple(drawn.tolist()))
        assert float(count) == n
    assert len(seen) == 3, "a registered generator goes on from call to call"


@needs_gpu
def test_what_cannot_be_captured_runs_call_by_call() -> None:
    device = torch.device("cuda", 0)
    count = torch.zeros(1, device=device)

    def step() -> None:
        count.add_(1)
        float(count)  # asks the host

    graph = CudaGraph(step, device, every_run_counts=True)
    for n in range(1, 7):
        graph()
        assert float(count) == n
    assert not graph.is_captured
