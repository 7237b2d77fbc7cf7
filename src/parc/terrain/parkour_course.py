"""The park: a hand-made course of 100 x 100 cells (40 m x 40 m) to cut training slices from and to show off on.

Three lanes run from west (x = 0) to east, with streets at ground level between and around them:

    north  y 69..96   walls     vaults, climbing walls of 0.8 to 2.0 m, ledges, a pyramid
    middle y 36..63   gaps      stepping stones, roofs 0.8 to 2.4 m apart, a sunken court with pillars
    south  y  3..30   stairs    stairs up and down, terraces, a ramp of small steps, bumpy ground, a hill

Every lane can be crossed from end to end, the streets without climbing at all. Places are (x, y) of a corner cell, sizes
(along x, along y) in cells, heights in metres; a later piece replaces what it is put on.
"""

import numpy as np
import torch

from parc.terrain.terrain import CELL, Terrain
from parc.terrain.terrain_edits import recentred

SIZE = 100
"""cells along each side"""
LANES = {"stairs": (3, 31), "gaps": (36, 64), "walls": (69, 97)}
"""first and one past the last row of each lane"""

Cells = tuple[int, int]


class _Park:
    def __init__(self) -> None:
        self.heights = np.zeros((SIZE, SIZE), np.float32)

    def block(self, at: Cells, size: Cells, height: float) -> None:
        """Flat top at a height, up or down."""
        assert at[0] >= 0 and at[0] + size[0] <= SIZE and at[1] >= 0 and at[1] + size[1] <= SIZE, f"block at {at} leaves the park"
        self.heights[at[0] : at[0] + size[0], at[1] : at[1] + size[1]] = height

    def flight(self, at: Cells, width: int, start: float, rise: float, steps: int, run: int = 1, along: str = "x") -> None:
        """Steps from `start + rise` on, each `rise` above the last; `along` "-x" or "-y" climbs towards lower indices."""
        for k in range(steps):
            place = k * run if not along.startswith("-") else (steps - 1 - k) * run
            if along.endswith("x"):
                self.block((at[0] + place, at[1]), (run, width), start + rise * (k + 1))
            else:
                self.block((at[0], at[1] + place), (width, run), start + rise * (k + 1))

    def roofs(self, at: Cells, sizes: list[int], gaps: list[int], heights: list[float], width: int) -> None:
        """A row of platforms along x with gaps between them, in cells."""
        x = at[0]
        for size, gap, height in zip(sizes, [*gaps, 0], heights, strict=True):
            self.block((x, at[1]), (size, width), height)
            x += size + gap

    def stones(self, at: Cells, count: Cells, pitch: Cells, heights: list[float], size: Cells = (2, 2)) -> None:
        """A field of small platforms, their heights taken in turn."""
        for k, (a, b) in enumerate(np.ndindex(*count)):
            self.block((at[0] + a * pitch[0], at[1] + b * pitch[1]), size, heights[k % len(heights)])


def parkour_park() -> Terrain:
    """The park with its middle at the origin; always the same."""
    park = _Park()
    _stairs_lane(park)
    _gaps_lane(park)
    _walls_lane(park)
    _street_furniture(park)
    return recentred(Terrain(torch.from_numpy(park.heights), torch.zeros(2), CELL))


def _stairs_lane(park: _Park) -> None:
    _grand_stairs(park)
    _ramp(park)
    _terraces(park)
    _bumpy_ground(park)
    _hill(park)


def _grand_stairs(park: _Park) -> None:
    """Up 1.6 m in eight steps, over a landing, down in four high ones; beside it a wall to jump down from."""
    park.flight((4, 4), width=10, start=0.0, rise=0.2, steps=8)
    park.block((12, 4), (7, 10), 1.6)
    park.flight((19, 4), width=7, start=0.0, rise=0.4, steps=3, along="-x", run=2)
    park.flight((4, 18), width=8, start=0.0, rise=0.15, steps=10)
    park.block((14, 18), (5, 12), 1.5)
    park.flight((19, 20), width=8, start=0.0, rise=0.3, steps=4, along="-x", run=2)


def _ramp(park: _Park) -> None:
    """5 cm steps up to 1 m, a kerb, and the same way down."""
    park.flight((29, 4), width=5, start=0.0, rise=0.05, steps=20)
    park.block((49, 4), (3, 5), 1.0)
    park.flight((52, 4), width=5, start=0.0, rise=0.1, steps=9, along="-x")


def _terraces(park: _Park) -> None:
    """Broad storeys of 0.5 m, climbed from any side."""
    for storey in range(4):
        park.block((29 + 3 * storey, 13 + 2 * storey), (24 - 6 * storey, 17 - 4 * storey), 0.5 * (storey + 1))


def _bumpy_ground(park: _Park) -> None:
    """Low blocks of 5 to 30 cm in a pattern without a period, as on a rubble field."""
    for k, (a, b) in enumerate(np.ndindex(7, 6)):
        park.block((64 + 2 * a, 4 + 2 * b), (2, 2), 0.05 * (1 + (k * k + 3 * a + b) % 6))


def _hill(park: _Park) -> None:
    """Rings of 0.3 m around a top of 2.1 m, with a stair cut into its south side and a sheer north face."""
    for ring in range(7):
        park.block((80 + ring, 6 + ring), (17 - 2 * ring, 23 - ring), 0.3 * (ring + 1))
    park.flight((87, 6), width=3, start=0.0, rise=0.15, steps=14, along="y")
    park.block((64, 20), (4, 9), 0.8)
    park.block((70, 20), (4, 9), 1.2)
    park.block((76, 22), (2, 5), 0.6)


def _gaps_lane(park: _Park) -> None:
    _stepping_stones(park)
    _roofs(park)
    _sunken_court(park)
    _bridge(park)


def _stepping_stones(park: _Park) -> None:
    """A pond 1 m deep crossed on stones two cells wide, one or two cells apart; stairs lead out of it."""
    park.block((4, 37), (24, 26), -1.0)
    park.stones((5, 38), (6, 3), (4, 4), [0.0, 0.2, 0.1, -0.2, 0.3])
    park.stones((5, 52), (8, 3), (3, 4), [0.0, 0.4, -0.3, 0.2, 0.6, -0.1, 0.3])
    park.flight((4, 49), width=2, start=-1.0, rise=0.2, steps=4, along="-x")
    park.flight((24, 49), width=2, start=-1.0, rise=0.2, steps=4)


def _roofs(park: _Park) -> None:
    """Platforms 1 m up with gaps of 0.8, 1.2, 1.6, 2.0 and 2.4 m, and a lower row that rises and falls."""
    park.flight((29, 38), width=6, start=0.0, rise=0.25, steps=3)
    park.roofs((32, 38), [4, 4, 4, 4, 4, 5], [2, 3, 4, 5, 6], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0], width=6)
    park.flight((77, 38), width=6, start=0.0, rise=0.25, steps=3, along="-x")
    park.roofs((31, 46), [3, 3, 3, 3], [2, 2, 3], [0.4, 0.8, 1.2, 0.6], width=5)


def _sunken_court(park: _Park) -> None:
    """1.2 m under the street: stairs at two corners, a jump down elsewhere, pillars and a block inside."""
    park.block((54, 47), (26, 16), -1.2)
    park.flight((54, 48), width=3, start=-1.2, rise=0.2, steps=5, along="-x")
    park.flight((75, 58), width=3, start=-1.2, rise=0.2, steps=5)
    park.stones((62, 49), (3, 3), (5, 5), [0.0, -0.4, -0.8, 0.4], size=(2, 2))
    park.block((72, 50), (4, 4), -0.4)


def _bridge(park: _Park) -> None:
    """A walkway two cells wide and 1.4 m up, with a break of 1.2 m, over low blocks."""
    park.block((84, 40), (12, 20), 0.2)
    park.flight((88, 37), width=2, start=0.0, rise=0.2, steps=7, along="y")
    park.block((88, 44), (2, 6), 1.4)
    park.block((88, 53), (2, 5), 1.4)
    park.flight((88, 58), width=2, start=0.0, rise=0.35, steps=3, along="-y", run=2)
    park.stones((92, 42), (1, 5), (1, 4), [0.6, 1.0, 0.4], size=(3, 2))
    park.block((31, 55), (20, 8), 0.3)
    park.stones((33, 56), (5, 2), (4, 4), [0.7, 1.1, 0.9, 1.5], size=(2, 2))


def _walls_lane(park: _Park) -> None:
    _vault_walls(park)
    _climbing_walls(park)
    _ledges(park)
    _pyramid(park)


def _vault_walls(park: _Park) -> None:
    """Walls one cell thick across the lane, 0.4 to 1.0 m high, a run-up apart; a door at alternate ends."""
    for k, height in enumerate((0.4, 0.6, 0.8, 0.9, 1.0)):
        park.block((6 + 5 * k, 71 if k % 2 else 69), (1, 26), height)
    park.block((3, 80), (2, 6), 0.8)


def _climbing_walls(park: _Park) -> None:
    """Blocks of 0.8 to 2.0 m side by side, each with a flat top to stand on, and a way down behind."""
    for k, height in enumerate((0.8, 1.1, 1.4, 1.7, 2.0)):
        park.block((33, 69 + 5 * k), (6, 5), height)
    park.block((39, 74), (3, 20), 0.7)
    park.block((42, 69), (2, 28), 0.35)


def _ledges(park: _Park) -> None:
    """A tower of 2 m with ledges one and two cells wide around it at 0.6 and 1.2 m, and a twin one jump away."""
    park.block((50, 74), (14, 16), 0.6)
    park.block((52, 75), (10, 14), 1.2)
    park.block((53, 77), (8, 10), 2.0)
    park.block((64, 78), (4, 8), 1.0)
    park.block((70, 76), (5, 12), 1.6)
    park.flight((70, 88), width=5, start=0.0, rise=0.4, steps=4, along="-y", run=2)
    park.block((48, 92), (24, 2), 0.5)
    park.block((50, 70), (20, 1), 1.2)


def _pyramid(park: _Park) -> None:
    """Storeys of 0.6 m, too high to step up and easy to climb, with a pit at the top."""
    for storey in range(4):
        park.block((79 + 2 * storey, 71 + 3 * storey), (18 - 4 * storey, 24 - 6 * storey), 0.6 * (storey + 1))
    park.block((87, 82), (2, 2), 1.2)


def _street_furniture(park: _Park) -> None:
    """Benches, kerbs and bollards along the streets; there is always a way round them."""
    for x in range(8, 92, 12):
        park.block((x, 32), (3, 1), 0.45)
        park.block((x + 6, 66), (1, 1), 0.9)
