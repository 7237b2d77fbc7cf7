"""The brush: what a click on a cell does to the ground."""

from dataclasses import dataclass
from typing import Literal

from parc.errors import SettingsError
from parc.path.navigation_graph import Cell
from parc.terrain import terrain_edits
from parc.terrain.terrain import Terrain

BrushKind = Literal["raise", "lower", "set", "flatten"]
HIGHEST = 20.0
"""m that heights may be given by hand, up and down"""


@dataclass(frozen=True)
class Brush:
    """What a click does to the cells below it."""

    kind: BrushKind = "raise"
    amount: float = 0.2
    """m by which cells are raised or lowered"""
    height: float = 0.0
    """m that cells are set to"""
    radius: int = 0
    """cells around the one that was clicked; 0 is that one alone"""

    def __post_init__(self) -> None:
        if self.kind not in ("raise", "lower", "set", "flatten"):
            raise SettingsError(f"the brush is '{self.kind}', expected raise, lower, set or flatten")
        if not 0 <= self.radius <= 50:
            raise SettingsError(f"the brush has a radius of {self.radius} cells, expected 0 to 50")
        for name, value in (("amount", self.amount), ("height", self.height)):
            if not abs(value) <= HIGHEST:
                raise SettingsError(f"the brush has {name} {value} m, expected at most {HIGHEST:g} m up or down")


def paint(terrain: Terrain, cell: Cell, brush: Brush) -> Terrain:
    """The square of cells around `cell`, as far as the map reaches, changed by the brush."""
    start, stop = region(terrain, cell, brush.radius)
    if brush.kind == "raise":
        return terrain_edits.raise_region(terrain, start, stop, brush.amount)
    if brush.kind == "lower":
        return terrain_edits.lower_region(terrain, start, stop, brush.amount)
    if brush.kind == "set":
        return terrain_edits.set_region(terrain, start, stop, brush.height)
    return terrain_edits.flatten_region(terrain, start, stop)


def region(terrain: Terrain, cell: Cell, radius: int) -> tuple[Cell, Cell]:
    """Corners [from, to) of the cells within `radius` of a cell."""
    (i, j), (rows, columns) = cell, terrain.size
    return (max(i - radius, 0), max(j - radius, 0)), (min(i + radius + 1, rows), min(j + radius + 1, columns))
