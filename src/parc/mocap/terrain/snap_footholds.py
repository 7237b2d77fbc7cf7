"""Putting footholds onto the cells that were built for them.

A tread may be narrower than a cell and a box may stand askew, so a sole can end up half over the next, higher cell. Each stance
(heel and toe of a foot, one level) is moved along the ground by the least shift for which its points have their own level under
them.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from parc.mocap.contact.support_levels import Held, Supports
from parc.terrain.terrain import Terrain

Array = NDArray[np.float64]


@dataclass(frozen=True)
class FootingSettings:
    """How far footholds are moved, and what for."""

    reach: float = 0.28
    """m, farthest shift"""
    step: float = 0.04
    """m between shifts that are tried"""
    same: float = 0.03
    """m between a cell and a level that agree"""
    blocked: float = 3.0
    """m of shift that a foothold is worth not to be inside a higher cell"""
    hanging: float = 0.3
    """m of shift that it is worth to have ground under all of it"""
    inset: float = 0.02
    """m that a foothold keeps from the edge of a cell"""


def settle(supports: Supports, terrain: Terrain, settings: FootingSettings = FootingSettings()) -> list[Array]:
    """For each held event the shift [3] that puts it onto cells of its level; heights are taken to the level exactly."""
    steps = np.arange(-settings.reach, settings.reach + 1e-9, settings.step)
    tries = np.stack(np.meshgrid(steps, steps, indexing="ij"), -1).reshape(-1, 2)
    tries = tries[np.linalg.norm(tries, axis=-1) <= settings.reach]
    shifts: list[Array] = [np.zeros(3) for _ in supports.held]
    for group in stances(supports.held):
        points = np.concatenate([np.median(supports.held[i].event.points, axis=0)[:, :2] for i in group])
        edge = settings.inset * np.array([(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)])
        spread = (points[:, None] + edge).reshape(-1, 2)
        ground = heights_under(terrain, tries[:, None] + spread)
        level = supports.held[group[0]].level
        cost = (
            np.linalg.norm(tries, axis=-1)
            + settings.blocked * (ground > level + settings.same).mean(1)
            + settings.hanging * (ground < level - settings.same).mean(1)
        )
        best = tries[int(np.argmin(cost))]
        for i in group:
            shifts[i] = np.array([*best, supports.held[i].level - supports.held[i].event.height])
    return shifts


def heights_under(terrain: Terrain, xy: Array | torch.Tensor) -> Array:
    """m, of the terrain at places [..., 2]."""
    return terrain.height_at(torch.as_tensor(xy).float()).double().numpy()


def stances(held: tuple[Held, ...]) -> list[list[int]]:
    """Events of one foot on one level that overlap in time, and hands alone."""
    groups: list[list[int]] = []
    for i, h in enumerate(held):
        e = h.event
        for group in groups:
            other = held[group[-1]]
            o = other.event
            if "hand" not in (e.part, o.part) and (e.side, h.level) == (o.side, other.level) and e.meets(o):
                group.append(i)
                break
        else:
            groups.append([i])
    return groups
