"""Flight: what a body does when nothing carries it. It must fall.

A frame is airborne when every body is more than 5 cm from the terrain, and unsupported when every body is that far from ground
that carries (`parc.terrain.carrying_surface`): rising along a wall that no hand has reached is no climb. The centre of mass must
then accelerate at -9.81 m/s2: the acceleration at an unsupported frame is that of the parabola fitted to the unbroken unsupported
frames up to three before and after it (at least four of them, or the frame is not judged). A frame *floats* when it is judged
and its acceleration is off by more than half of g: gliding off a ledge, flying over a void and being lifted beside a wall are
seen by this, while penetration and contact losses see none of them. A foot that runs up a wall's face for a moment counts as
floating, too: friction there is not looked at.
"""

import torch
from torch import Tensor
from torch.nn.functional import pad

from parc.metrics.clip_batch import ClipBatch
from parc.metrics.masked_reductions import masked_mean

GRAVITY = 9.81
"""m/s2"""
AIR = 0.05
"""m: a body farther than this touches nothing"""
REACH = 3
"""frames before and after that a fit may use"""
LEAST = 4
"""frames a fit needs"""


def airborne(batch: ClipBatch) -> Tensor:
    """[N, T] bool"""
    return (batch.body_clearance.amin(-1) > AIR) & batch.valid


def unsupported(batch: ClipBatch) -> Tensor:
    """[N, T] bool"""
    return (batch.carrying_clearance > AIR) & batch.valid


def flight_acceleration(batch: ClipBatch, free: Tensor) -> tuple[Tensor, Tensor]:
    """Of the centre of mass [N, T, 3] m/s2, from parabolas through `free` frames [N, T], and which of them could be judged."""
    centre = batch.centre_of_mass
    window = 2 * REACH + 1
    masks = pad(free, (REACH, REACH)).unfold(1, window, 1)
    places = pad(centre, (0, 0, REACH, REACH)).unfold(1, window, 1)
    after = masks[..., REACH:].long().cumprod(-1)
    before = masks[..., : REACH + 1].flip(-1).long().cumprod(-1).flip(-1)
    weight = torch.cat([before[..., :-1], after], -1).to(centre.dtype)
    t = torch.arange(-REACH, REACH + 1, device=centre.device, dtype=centre.dtype)
    basis = torch.stack([torch.ones_like(t), t, 0.5 * t * t])
    normal = torch.einsum("it,jt,nft->nfij", basis, basis, weight)
    right = torch.einsum("it,nft,nfct->nfic", basis, weight, places - centre.unsqueeze(-1))
    judged = free & (weight.sum(-1) >= LEAST)
    eye = torch.eye(3, device=centre.device, dtype=centre.dtype)
    normal = torch.where(judged[..., None, None], normal, eye)
    return torch.linalg.solve(normal, right)[..., 2, :] * batch.fps**2, judged


def flight_error(batch: ClipBatch) -> tuple[Tensor, Tensor]:
    """|a_z + 9.81| of the centre of mass [N, T] m/s2 and the mask [N, T] of unsupported frames that could be judged."""
    acceleration, judged = flight_acceleration(batch, unsupported(batch))
    return (acceleration[..., 2] + GRAVITY).abs(), judged


def flight(batch: ClipBatch) -> tuple[Tensor, Tensor]:
    """(mean ballistic error in flight in m/s2, NaN without flight; share of all frames that float in %), [N] each."""
    error, judged = flight_error(batch)
    floating = 100 * (judged & (error > GRAVITY / 2)).sum(1) / batch.frames
    return masked_mean(error, judged), floating


def veer(batch: ClipBatch) -> Tensor:
    """[N] m/s2: mean horizontal acceleration of the centre of mass while nothing is near, NaN where that never is.

    Nobody can turn or brake in the air; beside a wall one can push, so only airborne frames count.
    """
    acceleration, judged = flight_acceleration(batch, airborne(batch))
    return masked_mean(acceleration[..., :2].norm(dim=-1), judged)
