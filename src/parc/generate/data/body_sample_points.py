"""The few surface points that training looks at: enough to feel the ground, a quarter of what the metrics use.

Farthest-point sampling keeps the extremes of each body; of a foot only the sole counts. Index tensors live on the device, so that
captured code never copies a Python list.
"""

from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

from parc.character.body_surface import Surface, surface_points, world_points
from parc.character.character import Character
from parc.character.inertia import inertia
from parc.character.kinematics import BodyPose

POINTS_PER_BODY = 5
POINTS_PER_SOLE = 8


class Probe(NamedTuple):
    """Points, soles and masses of a character on a device."""

    surface: Surface
    """the chosen points"""
    feet: Tensor
    """[F] bodies that are feet"""
    soles: Surface
    """POINTS_PER_SOLE points of each foot, foot by foot"""
    mass: Tensor
    """[B] share of each body in the total mass"""
    centre: Tensor
    """[B, 3] centres of mass in the body frames"""


@cache  # captured graphs read these tensors, so none may be dropped
def probe_points(character: Character, device: torch.device) -> Probe:
    """The points of a character; made once for each device."""
    with torch.inference_mode(False):  # the cache outlives the caller's mode
        full = surface_points(character)
        chosen: list[int] = []
        on_sole: list[int] = []
        for b, body in enumerate(character.bodies):
            rows = (full.body == b).nonzero().flatten()
            wanted = POINTS_PER_BODY
            if body.is_foot:
                height = full.points[rows, 2]
                rows, wanted = rows[height <= height.min() + 1e-4], POINTS_PER_SOLE
            picked = rows[_farthest(full.points[rows], wanted)].tolist()
            if body.is_foot:
                on_sole += [picked[k % len(picked)] for k in range(POINTS_PER_SOLE)]
            chosen += picked
        bodies = inertia(character)
        return Probe(
            surface=_subset(full, chosen, len(character), device),
            feet=torch.tensor(character.feet, dtype=torch.long, device=device),
            soles=_subset(full, on_sole, len(character), device),
            mass=(bodies.mass / bodies.mass.sum()).to(device),
            centre=bodies.centre.to(device),
        )


def _subset(full: Surface, rows: list[int], bodies: int, device: torch.device) -> Surface:
    """The points `rows`, in that order; a body without any gets the first."""
    kept = torch.tensor(rows, dtype=torch.long)
    owner = full.body[kept]
    groups = [(owner == b).nonzero().flatten().tolist() or [0] for b in range(bodies)]
    most = max(len(g) for g in groups)
    coordinates = (3 * kept[:, None] + torch.arange(3)).flatten()
    return Surface(
        points=full.points[kept].to(device),
        body=owner.to(device),
        by_body=torch.tensor([g + g[-1:] * (most - len(g)) for g in groups], device=device),
        turn=full.turn[:, coordinates].contiguous().to(device),
        columns=full.columns[coordinates].to(device),
    )


def sole_points(probe: Probe, pose: BodyPose) -> Tensor:
    """[..., feet, points, 3] of matrix poses."""
    return world_points(probe.soles, pose).unflatten(-2, (-1, POINTS_PER_SOLE))


def _farthest(points: Tensor, count: int) -> Tensor:
    """Rows of up to `count` points, each the farthest from those before; the first is the lowest row."""
    chosen = [0]
    distance = (points - points[0]).norm(dim=-1)
    while len(chosen) < min(count, len(points)):
        chosen.append(int(distance.argmax()))
        distance = torch.minimum(distance, (points - points[chosen[-1]]).norm(dim=-1))
    return torch.tensor(chosen)
