"""The ground under a motion, from where it was touched and where it was not.

Contacts say how high cells are, the space the body swept says how high they are not. The grid may lie in any direction and at any
phase: the one with the least conflict is searched for,

    cost = sum of votes that lose x their height error  +  1/2 sum over cells of how far they reach into the swept space

over yaws of 0..90 degrees and phases of a cell. A cell gets the level with the most votes; a cell without votes that of the
nearest cell with one, lowered to the next level under the swept space. Takes on one level need no search.

The swept space is kept as the lowest height that any surface point had over each square of 5 cm.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import spatial

from parc.character.body_surface import surface_points, world_points
from parc.character.character import Character
from parc.mocap.contact.support_levels import Held, Supports
from parc.mocap.subject.body_landmarks import turned_xy
from parc.motion.motion import Motion
from parc.terrain.terrain import CELL, Terrain

Array = NDArray[np.float64]
_FINE = 0.05
"""m, squares in which the swept space is kept"""


@dataclass(frozen=True)
class ReconstructSettings:
    """How the grid is searched for and filled."""

    cell: float = CELL
    """m"""
    margin: float = 2.0
    """m of ground around the motion"""
    yaw_step: float = 5.0
    """degrees"""
    phases: int = 5
    """grid phases tried along each axis"""
    clearance: float = 0.03
    """m that contact cells may reach into the swept space unpunished"""
    extend: float = 1.0
    """m from the nearest contact up to which a raised level goes on"""
    hand_weight: float = 0.35
    """of a hand's vote against a foot's"""
    passed: float = 0.3
    """m under a hand at which the body was elsewhere in the take, so that it holds nothing"""
    same: float = 0.05
    """m, levels nearer than this agree"""


@dataclass(frozen=True, eq=False)
class ReconstructedTerrain:
    """What was found, and how the motion must be turned for it."""

    terrain: Terrain
    yaw: float
    """rad by which the motion must be turned about the vertical through the origin to stand on it"""
    cost: float
    """conflict that is left, m"""
    levels: tuple[float, ...]


class _Votes:
    """Where something stood: [V] places, levels and weights."""

    def __init__(self, supports: Supports, settings: ReconstructSettings) -> None:
        xy, level, weight = [np.zeros((0, 2))], [np.zeros(0)], [np.zeros(0)]
        for held in supports.held:
            e = held.event
            some = e.points[np.unique(np.linspace(0, len(e.points) - 1, 5).round().astype(int))]
            points = some.reshape(-1, 3)
            strength = min(1.0, (e.stop - e.start) / 6) * (settings.hand_weight if e.part == "hand" else 1.0 if e.votes else 0.2)
            xy.append(points[:, :2])
            level.append(np.full(len(points), held.level))
            weight.append(np.full(len(points), strength / len(points)))
        self.xy, self.level, self.weight = np.concatenate(xy), np.concatenate(level), np.concatenate(weight)


class _Grid:
    """Votes and swept space on one grid."""

    def __init__(
        self, votes: _Votes, swept: Array, levels: Array, yaw: float, phase: tuple[float, float], settings: ReconstructSettings
    ):
        cell = settings.cell
        vote_xy, swept_xy = turned_xy(votes.xy, yaw), turned_xy(swept[:, :2], yaw)
        low = swept_xy.min(0) - settings.margin
        self.min_point = np.floor((low - phase) / cell) * cell + phase
        self.size = np.ceil((swept_xy.max(0) + settings.margin - self.min_point) / cell).astype(int) + 1
        cells = self.size[0] * self.size[1]
        self.free = np.full(cells, np.inf)
        np.minimum.at(self.free, self._flat(swept_xy, cell), swept[:, 2])
        at = self._flat(vote_xy, cell)
        which = np.abs(votes.level[:, None] - levels).argmin(1)
        table = np.zeros((cells, len(levels)))
        np.add.at(table, (at, which), votes.weight)
        self.voted = table.sum(1) > 0
        choice = table.argmax(1)
        self.height = np.where(self.voted, levels[choice], np.nan)
        error = np.minimum(np.abs(levels - levels[choice][:, None]), 0.5)
        self.conflict = float((table * np.where(error < settings.same, 0, error)).sum())
        reach = self.height[self.voted] - self.free[self.voted] - settings.clearance
        self.intrusion = float(np.clip(reach, 0, None).sum())

    @property
    def cost(self) -> float:
        return self.conflict + 0.5 * self.intrusion

    def _flat(self, xy: Array, cell: float) -> NDArray[np.int64]:
        ij = np.clip(np.floor((xy - self.min_point) / cell + 0.5).astype(int), 0, self.size - 1)
        return ij[:, 0] * self.size[1] + ij[:, 1]

    def filled(self, levels: Array, settings: ReconstructSettings) -> Array:
        """[X, Y] heights of all cells."""
        ground = levels.min()
        i, j = np.divmod(np.arange(len(self.height)), self.size[1])
        centres = settings.cell * np.stack([i, j], -1)
        tree = spatial.cKDTree(centres[self.voted])
        away, nearest = tree.query(centres)
        height = self.height[self.voted][nearest]
        height = np.where(away > settings.extend, np.minimum(height, ground), height)
        below = levels[None] <= self.free[:, None] + 0.5 * settings.clearance
        allowed = np.where(below, levels[None], ground).max(1)
        return np.where(self.voted, self.height, np.minimum(height, allowed)).reshape(self.size)


def reconstruct(
    supports: Supports, motion: Motion, character: Character, settings: ReconstructSettings = ReconstructSettings()
) -> ReconstructedTerrain:
    """Terrain for a motion (not yet turned) and its supports."""
    swept = swept_space(motion, character)
    levels = np.array(supports.levels) if supports.levels else np.zeros(1)
    votes = _Votes(supports, settings)
    flat = len(levels) == 1 or len(votes.xy) == 0
    steps = settings.cell * np.arange(settings.phases) / settings.phases
    tries = [(0.0, (0.0, 0.0))] if flat else [
        (float(yaw), (x, y)) for yaw in np.radians(np.arange(0, 90, settings.yaw_step)) for x in steps for y in steps
    ]  # fmt: skip
    best = min((_Grid(votes, swept, levels, yaw, phase, settings).cost, yaw, phase) for yaw, phase in tries)
    grid = _Grid(votes, swept, levels, best[1], best[2], settings)
    heights = np.full(grid.size, levels[0]) if flat else grid.filled(levels, settings)
    terrain = Terrain(torch.as_tensor(heights).float(), torch.as_tensor(grid.min_point).float(), settings.cell)
    return ReconstructedTerrain(terrain, best[1], grid.cost, tuple(float(x) for x in levels))


def without_passed(
    supports: Supports, motion: Motion, character: Character, settings: ReconstructSettings = ReconstructSettings()
) -> Supports:
    """Without holds of hands through whose place the body passed far below: there is nothing to hold there."""
    swept = swept_space(motion, character)
    tree = spatial.cKDTree(swept[:, :2])

    def real(held: Held) -> bool:
        near = tree.query_ball_point(held.event.centre[:2], _FINE) if held.event.part == "hand" else []
        return not near or swept[near, 2].min() > held.level - settings.passed

    return Supports.of(supports.frames, filter(real, supports.held))


def swept_space(motion: Motion, character: Character) -> Array:
    """[M, 3] centres of the fine squares that surface points passed over, and the lowest height any had there."""
    points = world_points(surface_points(character), motion.body_poses(character)).reshape(-1, 3).double().numpy()
    square = np.floor(points[:, :2] / _FINE).astype(np.int64)
    low = square.min(0)
    width = square[:, 1].max() - low[1] + 1
    key = (square[:, 0] - low[0]) * width + square[:, 1] - low[1]
    unique, inverse = np.unique(key, return_inverse=True)
    height = np.full(len(unique), np.inf)
    np.minimum.at(height, inverse, points[:, 2])
    i, j = np.divmod(unique, width)
    return np.stack([(i + low[0] + 0.5) * _FINE, (j + low[1] + 0.5) * _FINE, height], -1)
