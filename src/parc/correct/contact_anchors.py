"""Anchors: where hands and feet are held while they touch.

A contact interval of a body is an unbroken run of labelled frames. Over each interval one of the body's points is chosen,
the one that moves least and lies nearest to the terrain, and the anchor is its mean place, put onto the surface. Holding
that point there removes sliding without forbidding a foot to roll: only one point is held.

All intervals of all clips at once: runs are numbered by a running count of their starts, and means are scatter-adds over run
numbers.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from parc.character.body_surface import Surface
from parc.terrain.terrain import TerrainBatch
from parc.terrain.terrain_distance import signed_distance

NEAR_TOP = 0.25
"""m: a place less deep than this is lifted onto the top of its cell"""


class Anchors(NamedTuple):
    """Where K bodies are held, and by which point."""

    point: Tensor
    """[N, T, K] index of the held surface point, any value where nothing is held"""
    place: Tensor
    """[N, T, K, 3] where it is held"""
    held: Tensor
    """[N, T, K] 1 in contact"""


def find_anchors(
    terrains: TerrainBatch, surface: Surface, points: Tensor, contacts: Tensor, valid: Tensor, bodies: tuple[int, ...]
) -> Anchors:
    """Anchors of some bodies from surface points [N, T, P, 3] and labels [N, T, B] of the uncorrected motion."""
    n, t = valid.shape
    rows = surface.by_body[list(bodies)]
    near = points[:, :, rows.flatten()].unflatten(2, tuple(rows.shape))
    distance = signed_distance(terrains, near.flatten(1, 3)).view(near.shape[:-1]).abs()
    held = (contacts[..., list(bodies)] > 0.5) & valid.unsqueeze(-1)
    run, runs = _number_runs(held)

    def per_run(values: Tensor) -> Tensor:
        """Mean over each run of values [N, T, K, ...] -> [runs, ...]."""
        flat, at = values.flatten(0, 2), run.flatten()
        shape = (runs, *flat.shape[1:])
        weight = held.flatten().to(values.dtype).view(-1, *[1] * (flat.dim() - 1))
        total = torch.zeros(shape, device=values.device, dtype=values.dtype).index_add_(0, at, flat * weight)
        count = torch.zeros(runs, device=values.device, dtype=values.dtype).index_add_(0, at, held.flatten().to(values.dtype))
        return total / count.clamp_min(1).view(-1, *[1] * (flat.dim() - 1))

    # of each run the point that moves least and lies nearest to the terrain, and its mean place
    centre = per_run(near)
    spread = per_run((near - centre[run]).square().sum(-1))
    best = (spread.sqrt() + per_run(distance)).argmin(-1)
    place = centre.gather(1, best.view(-1, 1, 1).expand(-1, 1, 3)).squeeze(1)
    place = place[run]
    place = _onto_surface(terrains, place)
    body_rows = rows.unsqueeze(0).unsqueeze(0).expand(n, t, -1, -1)
    point = body_rows.gather(3, best[run].unsqueeze(-1)).squeeze(-1)
    return Anchors(point, place, held.to(points.dtype))


def _number_runs(held: Tensor) -> tuple[Tensor, int]:
    """Number [N, T, K] of the run each held frame is in (others: 0, the number of nothing) and how many numbers there are."""
    starts = held.clone()
    starts[:, 1:] &= ~held[:, :-1]
    order = starts.transpose(1, 2).flatten().cumsum(0).view(starts.shape[0], starts.shape[2], starts.shape[1]).transpose(1, 2)
    run = torch.where(held, order, torch.zeros_like(order))
    return run, int(run.max()) + 1


def _onto_surface(terrains: TerrainBatch, place: Tensor) -> Tensor:
    """Move places [N, T, K, 3] onto the terrain: straight up to a top that is near, else along the gradient of the distance.

    A motion that sank into a platform near its edge would otherwise be pulled out sideways.
    """
    at = place.detach().clone().requires_grad_(True)
    with torch.enable_grad():
        distance = signed_distance(terrains, at.flatten(1, 2)).view(place.shape[:-1])
        (gradient,) = torch.autograd.grad(distance.sum(), at)
    nearest = (at - distance.unsqueeze(-1) * gradient).detach()
    top = terrains.height_at(place[..., :2])
    lifted = torch.cat([place[..., :2], top.unsqueeze(-1)], -1)
    rise = top - place[..., 2]
    return torch.where(((rise > 0) & (rise < NEAR_TOP)).unsqueeze(-1), lifted, nearest)
