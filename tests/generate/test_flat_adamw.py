"""AdamW on one vector is AdamW, and a step that is not finite did not happen."""

import torch
from torch import nn

from parc.generate.training.flat_adamw import AdamSettings, FlatAdamW, FlatParameters


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 2))


def test_follows_torch_adamw():
    settings = AdamSettings(rate=1e-2, beta2=0.99, decay=0.1, clip=0.5)
    ours, theirs = network(), network()
    optimiser = FlatAdamW(FlatParameters(ours, True), settings)
    optimiser.rate.fill_(settings.rate)
    groups = [
        {"params": [p for p in theirs.parameters() if p.dim() > 1], "weight_decay": 0.1},
        {"params": [p for p in theirs.parameters() if p.dim() == 1], "weight_decay": 0.0},
    ]
    reference = torch.optim.AdamW(groups, lr=settings.rate, betas=(0.9, 0.99), eps=settings.eps)
    for step in range(20):
        x = torch.randn(16, 5, generator=torch.Generator().manual_seed(step)) * 3
        optimiser.flat.grads.zero_()
        loss = ours(x).square().sum()
        loss.backward()
        optimiser.step(loss.detach())
        reference.zero_grad()
        theirs(x).square().sum().backward()
        nn.utils.clip_grad_norm_(theirs.parameters(), 0.5)
        reference.step()
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-4)


def test_a_step_that_is_not_finite_changes_nothing_and_is_counted():
    module = network()
    optimiser = FlatAdamW(FlatParameters(module, True), AdamSettings())
    optimiser.rate.fill_(1e-2)
    optimiser.flat.grads.normal_(generator=torch.Generator().manual_seed(0))
    optimiser.step(torch.tensor(1.0))
    before = {k: v.clone() for k, v in optimiser.state().items()}
    for poison, loss in ((float("nan"), 1.0), (float("inf"), 1.0), (0.5, float("nan"))):
        optimiser.flat.grads.normal_()
        optimiser.flat.grads[3] = poison
        optimiser.step(torch.tensor(loss))
    after = optimiser.state()
    assert float(after["skipped"]) == 3
    assert all(torch.equal(before[k], after[k]) for k in before if k != "skipped")


def test_average_forgets_the_start():
    """A weight that moves from 0 to 1 and stays: after 100 steps the average is there, in spite of a decay of 0.999."""
    module = nn.Linear(1, 1, bias=False)
    optimiser = FlatAdamW(FlatParameters(module, True), AdamSettings(average=0.999))
    optimiser.average.fill_(0.0)
    optimiser.flat.values.fill_(1.0)
    for _ in range(100):
        optimiser.step(torch.tensor(0.0))
    assert float(optimiser.average[0]) > 0.99


def test_parameters_are_views_of_the_vector():
    module = network()
    weight = module[0].weight.detach().clone()
    flat = FlatParameters(module, True)
    torch.testing.assert_close(module[0].weight, weight)
    flat.values.zero_()
    assert (module[0].weight == 0).all()
    module(torch.ones(1, 5)).sum().backward()
    assert flat.grads.abs().sum() > 0
