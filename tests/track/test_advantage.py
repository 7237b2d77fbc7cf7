import torch

from parc.track.learn.advantage import gae

GAMMA, LAM = 0.9, 0.5


def column(*values: float) -> torch.Tensor:
    return torch.tensor(values).unsqueeze(-1)


def test_an_episode_that_goes_on_by_hand() -> None:
    zero = column(0.0, 0.0)
    advantages, returns = gae(column(1.0, 2.0), column(0.5, 1.0, 4.0), zero, zero, column(9.0, 9.0), GAMMA, LAM)
    second = 2.0 + 0.9 * 4.0 - 1.0
    first = 1.0 + 0.9 * 1.0 - 0.5 + 0.45 * second
    torch.testing.assert_close(advantages, column(first, second))
    torch.testing.assert_close(returns, column(first + 0.5, second + 1.0))


def test_nothing_follows_a_failure() -> None:
    advantages, _ = gae(column(1.0, 2.0), column(0.5, 1.0, 4.0), column(1.0, 0.0), column(0.0, 0.0), column(9.0, 9.0), GAMMA, LAM)
    torch.testing.assert_close(advantages[0], torch.tensor([1.0 - 0.5]))


def test_a_time_out_asks_the_bootstrap_and_not_the_next_episode() -> None:
    advantages, _ = gae(column(1.0, 2.0), column(0.5, 1.0, 4.0), column(0.0, 0.0), column(1.0, 0.0), column(3.0, 9.0), GAMMA, LAM)
    torch.testing.assert_close(advantages[0], torch.tensor([1.0 + 0.9 * 3.0 - 0.5]))


def test_lambda_one_gives_discounted_sums() -> None:
    rewards, values = torch.rand(6, 3), torch.rand(7, 3)
    none = torch.zeros(6, 3)
    _, returns = gae(rewards, values, none, none, none, GAMMA, 1.0)
    expected = values[-1]
    for t in range(5, -1, -1):
        expected = rewards[t] + GAMMA * expected
        torch.testing.assert_close(returns[t], expected)
