"""A function captured underway runs exactly as often as it is called."""

import pytest
import torch

from parc.run.captured_underway import CapturedUnderway

GPU = pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"))


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize("name", ["cpu", GPU])
def test_every_call_counts_once_from_the_first_on(name: str, enabled: bool) -> None:
    device = torch.device(name)
    count = torch.zeros(1, device=device)

    def step() -> None:
        count.add_(1)

    captured = CapturedUnderway(step, device, enabled, ordinary_calls=2)
    assert float(count) == 0
    for n in range(1, 7):
        captured()
        assert float(count) == n
    assert (captured._graph is not None) == (enabled and name == "cuda")
