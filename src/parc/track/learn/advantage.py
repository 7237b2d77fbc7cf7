"""How good was an action: generalised advantage estimation and TD(lambda) returns.

    delta_t = r_t + gamma v_t+1 - v_t            A_t = delta_t + gamma lambda A_t+1            R_t = A_t + v_t

R is the TD(lambda) return, the critic's target. Both recursions stop where an episode ends. After a failure nothing follows:
v_t+1 is 0. After a time-out the episode would have gone on, so v_t+1 is what the critic says of the state it stopped in
(`bootstrap`); values[t + 1] belongs to the next episode there and is not used.
"""

import torch
from torch import Tensor


def gae(
    rewards: Tensor, values: Tensor, failed: Tensor, timed_out: Tensor, bootstrap: Tensor, gamma: float, lam: float
) -> tuple[Tensor, Tensor]:
    """Rewards, failed, timed_out, bootstrap [T, N] (the flags as 0/1), values [T + 1, N] to advantages and returns [T, N]."""
    running = 1.0 - failed - timed_out
    following = running * values[1:] + timed_out * bootstrap
    delta = rewards + gamma * following - values[:-1]
    advantages = torch.empty_like(rewards)
    carried = torch.zeros_like(rewards[0])
    for t in range(rewards.shape[0] - 1, -1, -1):
        carried = delta[t] + gamma * lam * running[t] * carried
        advantages[t] = carried
    return advantages, advantages + values[:-1]
