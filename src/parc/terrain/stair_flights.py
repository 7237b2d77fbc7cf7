"""Stairs: straight flights up or down between two landings, one or several in a row."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch

from parc.errors import TerrainError
from parc.terrain.terrain import CELL, Terrain


@dataclass(frozen=True)
class Stairs:
    """A flight along +x or +y across the whole width of the map."""

    steps: int = 6
    """number of steps"""
    rise: float = 0.2
    """height of a step, m; negative goes down"""
    run: int = 1
    """length of a step, cells"""
    landing: int = 4
    """flat ground before the first and after the last step, cells"""
    width: int = 8
    """cells"""
    along: Literal["x", "y"] = "x"
    """axis the flight climbs along"""
    base: float = 0.0
    """height of the first landing, m"""
    cell: float = CELL
    """side of a cell, m"""


def stairs(settings: Stairs) -> Terrain:
    """Landing, `steps` steps each `rise` higher than the last, landing level with the last step."""
    s = settings
    if s.steps < 0 or s.run < 1 or s.landing < 0 or s.width < 1 or s.steps * s.run + 2 * s.landing < 1:
        raise TerrainError(
            f"cannot build stairs of {s.steps} steps of {s.run} cells, landings of {s.landing} and a width of {s.width} cells"
        )
    if s.along not in ("x", "y"):
        raise TerrainError(f"stairs run along '{s.along}', expected 'x' or 'y'")
    number = torch.arange(1, s.steps + 1).repeat_interleave(s.run)
    climbed = torch.cat([torch.zeros(s.landing), number.float(), torch.full((s.landing,), float(s.steps))])
    profile = s.base + s.rise * climbed
    heights = profile[:, None].repeat(1, s.width) if s.along == "x" else profile.repeat(s.width, 1)
    return Terrain(heights, torch.zeros(2), s.cell)


def flights(parts: Sequence[Stairs]) -> Terrain:
    """Flights one after another, each from the height where the one before ended; the landings between belong to the later one.

    They must run along one axis and be equally wide; `base` counts only in the first.
    """
    if not parts or len({(part.along, part.width, part.cell) for part in parts}) > 1:
        raise TerrainError("flights in a row need one axis, one width and one cell size")
    pieces, base, axis = [], parts[0].base, 0 if parts[0].along == "x" else 1
    for k, part in enumerate(parts):
        heights = stairs(replace(part, base=base)).heights
        before_next = heights.shape[axis] - (part.landing if k < len(parts) - 1 else 0)
        pieces.append(heights.narrow(axis, 0, before_next))
        base += part.rise * part.steps
    return Terrain(torch.cat(pieces, axis), torch.zeros(2), parts[0].cell)
