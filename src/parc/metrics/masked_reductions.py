"""Reductions over the entries of a tensor that a mask names; NaN where it names none."""

import torch
from torch import Tensor


def masked_mean(values: Tensor, mask: Tensor, dim: int | tuple[int, ...] = 1) -> Tensor:
    """Mean along `dim`."""
    count = mask.sum(dim)
    mean = torch.where(mask, values, 0.0).sum(dim) / count.clamp_min(1)
    return torch.where(count > 0, mean, torch.nan)


def masked_min(values: Tensor, mask: Tensor, dim: int = 1) -> Tensor:
    """Least value along `dim`."""
    least = torch.where(mask, values, torch.inf).amin(dim)
    return torch.where(mask.any(dim), least, torch.nan)


def masked_range(values: Tensor, mask: Tensor, dim: int = 1) -> Tensor:
    """Highest less lowest value along `dim`."""
    return -masked_min(-values, mask, dim) - masked_min(values, mask, dim)


def masked_quantile(values: Tensor, mask: Tensor, q: float) -> Tensor:
    """Quantile of [..., K] along the last dimension, linear between neighbours as numpy's."""
    ordered = torch.where(mask, values, torch.inf).sort(-1).values
    count = mask.sum(-1, keepdim=True)
    place = (count - 1).clamp_min(0).to(values.dtype) * q
    low = place.floor().long()
    high = torch.minimum(low + 1, (count - 1).clamp_min(0))
    a, b = ordered.gather(-1, low), ordered.gather(-1, high)
    between = (a + (place - low) * (b - a)).squeeze(-1)
    return torch.where(count.squeeze(-1) > 0, between, torch.nan)


def masked_correlation(x: Tensor, y: Tensor, mask: Tensor, least: float = 0.0) -> Tensor:
    """Pearson's correlation of [..., K] along the last dimension; 0 where either ranges over less than `least`: who does not
    move does not move along."""
    count = mask.sum(-1, keepdim=True).clamp_min(1)
    dx, dy = (torch.where(mask, v - torch.where(mask, v, 0.0).sum(-1, keepdim=True) / count, 0.0) for v in (x, y))
    product = (dx * dy).sum(-1) / ((dx * dx).sum(-1) * (dy * dy).sum(-1)).sqrt().clamp_min(1e-9)
    moves = (masked_range(x, mask, -1) >= least) & (masked_range(y, mask, -1) >= least)
    return torch.where(mask.any(-1), torch.where(moves, product, 0.0), torch.nan)
