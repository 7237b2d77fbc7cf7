"""The ground of a variation: cells take the height of the ground they come from, contacts have the last word.

The grid keeps its direction, so turned ground is cut into cells anew. Of several phases of the grid the one is taken under which
contacts have most of their own level below them; a cell most of whose contacts are of another level then gets that one.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import spatial

from parc.mocap.contact.support_levels import Supports
from parc.mocap.terrain.snap_footholds import heights_under
from parc.terrain.terrain import Terrain
from parc.vary.bent_route import BentRoute
from parc.vary.variation_ranges import Variation

Array = NDArray[np.float64]


@dataclass(frozen=True)
class GroundSettings:
    """How cells are laid under contacts."""

    phases: int = 4
    """grid phases tried along each axis"""
    same: float = 0.03
    """m between a cell and a level that agree"""
    prior: float = 20.0
    """frames of standing that outweigh the ground a cell comes from"""
    hand_weight: float = 0.35
    """of a hand's vote against a foot's"""


@dataclass(frozen=True, eq=False)
class Footholds:
    """Contacts of the new plane."""

    supports: Supports
    frame: NDArray[np.int64]
    """[E] the time each belongs to"""

    def points(self) -> tuple[Array, NDArray[np.int64]]:
        """What touches [P, 2], and whose it is [P]."""
        spots = [np.median(h.event.points, axis=0)[:, :2] for h in self.supports.held]
        own = np.repeat(np.arange(len(spots)), [len(s) for s in spots])
        return (np.concatenate(spots) if spots else np.zeros((0, 2))), own

    @property
    def levels(self) -> Array:
        """[E] m"""
        return np.array([h.level for h in self.supports.held])

    def weights(self, hand: float) -> Array:
        """Frames, hands counting less."""
        return np.array([(h.event.stop - h.event.start) * (hand if h.event.part == "hand" else 1.0) for h in self.supports.held])


def varied_ground(
    terrain: Terrain,
    route: BentRoute,
    variation: Variation,
    ground: float,
    footholds: Footholds,
    lift: Array,
    settings: GroundSettings = GroundSettings(),
) -> Terrain:
    """The terrain of a variation; `lift` [T] is what the ground that belongs to each frame is raised by, m."""
    low, high = _extent(terrain, route)
    cell = terrain.cell
    points, own = footholds.points()
    levels, weights = footholds.levels, footholds.weights(settings.hand_weight)
    centres = footholds.supports.centres[:, :2]

    def heights(xy: Array) -> Array:
        before, frame = route.origins(centres, footholds.frame, xy)
        old = heights_under(terrain, before)
        return variation.height(old, ground) + lift[frame]

    # the phase of the grid under which most contacts have their own level below them
    steps = cell * np.arange(settings.phases) / settings.phases
    phases = low - np.stack(np.meshgrid(steps, steps, indexing="ij"), -1).reshape(-1, 2)
    best = phases[0]
    if len(points):
        under = phases[:, None] + cell * np.round((points - phases[:, None]) / cell)
        error = np.abs(heights(under) - levels[own])
        cost = (np.where(error > settings.same, np.minimum(error, 0.5), 0.0) * weights[own]).sum(1)
        best = phases[int(np.argmin(cost))]

    # its cells: heights of where they come from, outvoted by what stands on them
    size = np.ceil((high - best) / cell - 1e-6).astype(int) + 1
    grid = np.stack(np.meshgrid(*(np.arange(n) for n in size), indexing="ij"), -1)
    field = heights(best + cell * grid)
    if len(points):
        ij = np.round((points - best) / cell).astype(int).clip(0, size - 1)
        field = _voted(field, ij, levels[own], weights[own], settings)
    return Terrain(torch.as_tensor(field).float(), torch.as_tensor(best).float(), cell)


def _voted(field: Array, ij: NDArray[np.int64], levels: Array, weights: Array, settings: GroundSettings) -> Array:
    """Cells given the level of most of what touches them; where they come from has votes too."""
    known, which = np.unique(np.round(levels, 3), return_inverse=True)
    cells, own = np.unique(ij[:, 0] * field.shape[1] + ij[:, 1], return_inverse=True)
    table = np.zeros((len(cells), len(known)))
    np.add.at(table, (own.ravel(), which.ravel()), weights)
    heights = field.ravel().copy()
    choice = known[table.argmax(1)]
    agree = np.where(np.abs(known - heights[cells][:, None]) < settings.same, table, 0.0).sum(1)
    change = (table.max(1) > agree + settings.prior) & (np.abs(choice - heights[cells]) > settings.same)
    heights[cells[change]] = choice[change]
    return heights.reshape(field.shape)


def _extent(terrain: Terrain, route: BentRoute) -> tuple[Array, Array]:
    """Lowest and highest centre of a cell that the old cells' centres go to."""
    index = torch.cartesian_prod(*(torch.arange(n) for n in terrain.size)).reshape(-1, 2)
    centres = terrain.centre_of(index).double().numpy()
    frame = spatial.cKDTree(route.before).query(centres)[1]
    moved = route.place(centres, frame)
    return moved.min(0), moved.max(0)
