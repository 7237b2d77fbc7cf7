"""One solver: it finds the least of a loss, ends when nothing is gained, and counts its steps."""

import pytest
import torch

from parc.fit.adam_solver import AdamSolver


def bowl(captured: bool = False) -> tuple[torch.Tensor, AdamSolver]:
    x = torch.tensor([3.0, -2.0], requires_grad=True)
    return x, AdamSolver(lambda: (x - torch.tensor([1.0, 0.5])).square().sum(), [([x], 0.1)], captured=captured)


def test_a_descent_comes_to_the_least() -> None:
    x, solver = bowl()
    solver.descend(300, 0.001)
    assert x.tolist() == pytest.approx([1.0, 0.5], abs=1e-3) and solver.done == 300
    assert float(solver.total) < 1e-6


def test_steps_fall_as_a_cosine_to_the_last_size() -> None:
    """Adam's first step is as long as its size; where the slope never changes so are all others."""
    x = torch.zeros(1, requires_grad=True)
    seen = [0.0]

    def slope() -> torch.Tensor:
        seen.append(float(x.detach()))
        return x.sum()

    AdamSolver(slope, [([x], 0.1)]).descend(20, 0.01)
    seen.append(float(x.detach()))
    steps = -torch.tensor(seen[1:]).diff()
    expected = 0.01 + 0.045 * (1 + torch.cos(torch.pi * torch.arange(20) / 20))
    torch.testing.assert_close(steps, expected, atol=1e-5, rtol=1e-3)


def test_it_ends_when_the_loss_stands_still() -> None:
    x, solver = bowl(captured=True)
    solver.until_still(5000, patience=20, gain=1e-2)
    assert solver.done < 2000 and x.tolist() == pytest.approx([1.0, 0.5], abs=0.05)
    _, patient = bowl(captured=True)
    told: list[int] = []
    patient.until_still(200, patience=0, gain=1e-2, on_progress=lambda i, _: told.append(i))
    assert patient.done == 200 and told == [50, 100, 150, 200]


def test_groups_have_their_own_steps() -> None:
    slow, fast = torch.zeros(1, requires_grad=True), torch.zeros(1, requires_grad=True)
    AdamSolver(lambda: slow.sum() + fast.sum(), [([slow], 0.01), ([fast], 0.02)]).stepper()()
    assert float((fast / slow).detach()) == pytest.approx(2.0, rel=1e-4)
