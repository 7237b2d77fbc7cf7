"""The navigation graph of a terrain (the paper's appendix "Path Planning").

Nodes are cells, numbered row by row. Two kinds of directed edges:

- A *step* leads to one of the 8 neighbours when the height changes by no more than `max_step`. A diagonal step passes the corner
  where two side cells meet; it exists only if neither side cell stands more than `corner_step` above the higher end, for the body
  would cut through that corner.
- A *jump* leads from one cliff cell (one with a neighbour more than `cliff_drop` lower) to another, at most `jump_distance` away
  in the plane and between `jump_down` below and `jump_up` above. There must be a gap to jump: some cell that the straight line
  runs through lies more than `cliff_drop` below both ends. And the way must be clear: the line from source to target,
  `jump_clearance` above the ground at both ends, meets no box.

The line test is exact and cheap because cells are equal: which cells a line from the centre of one cell to the centre of another
meets, and over which part of it, depends on the offset (di, dj) alone. That table is made once per offset in rational numbers;
all candidate jumps of that offset are then tested together. A line through the corner of four cells meets all four.

Edges are kept as compressed rows with the squared lengths that the cost is made of: a new random draw costs one vector operation.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from parc.errors import PathError, SettingsError
from parc.terrain.terrain import Terrain

Cell = tuple[int, int]

ROUNDING = 1e-6
"""Heights are float32: a difference of 2.1 m may read as 2.1000001 m."""


@dataclass(frozen=True)
class GraphSettings:
    """Which steps and jumps between cells there are."""

    max_step: float = 2.1
    """largest height difference of a step between neighbours, m (paper)"""
    corner_step: float = 0.2
    """how far a side cell may stand above both ends of a diagonal step, m"""
    cliff_drop: float = 0.6
    """a cell with a neighbour lower by more than this is a cliff; also the least depth of a gap, m"""
    jump_distance: float = 3.0
    """longest jump in the plane, m; 0 for no jumps"""
    jump_up: float = 0.5
    """highest rise of a jump, m"""
    jump_down: float = 1.0
    """deepest fall of a jump, m"""
    jump_clearance: float = 0.5
    """height over the ground of the line that must be clear, m"""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not 0 <= value < float("inf"):
                raise SettingsError(f"graph setting {name} is {value}, expected a number of metres of at least 0")


@dataclass(frozen=True, eq=False)
class NavigationGraph:
    """Cells and the edges between them, as compressed rows."""

    size: tuple[int, int]
    """rows and columns of the terrain"""
    cell: float
    """side of a cell, m"""
    indptr: NDArray[np.int64]
    """[N+1] the edges out of node n are indptr[n] to indptr[n+1]"""
    targets: NDArray[np.int64]
    """[E] node each edge leads to, ascending within a row"""
    horizontal2: NDArray[np.float64]
    """[E] squared length in the plane, m^2"""
    dz2: NDArray[np.float64]
    """[E] squared height difference, m^2"""
    is_jump: NDArray[np.bool_]
    """[E] jump or step"""

    @classmethod
    def of(cls, terrain: Terrain, settings: GraphSettings | None = None) -> "NavigationGraph":
        """The graph of a terrain: a node for each cell, an edge for each step or jump that is possible."""
        settings = settings or GraphSettings()
        heights = terrain.heights.detach().cpu().numpy().astype(np.float64)
        steps = _steps(heights, settings)
        jumps = _jumps(heights, terrain.cell, settings)
        source, target = (np.concatenate([steps[k], jumps[k]]) for k in (0, 1))
        is_jump = np.arange(len(source)) >= len(steps[0])
        order = np.argsort(source * heights.size + target)
        source, target, is_jump = source[order], target[order], is_jump[order]
        columns = heights.shape[1]
        di = target // columns - source // columns
        dj = target % columns - source % columns
        flat = heights.ravel()
        return cls(
            size=(heights.shape[0], columns),
            cell=terrain.cell,
            indptr=np.concatenate([[0], np.bincount(source, minlength=heights.size).cumsum()]),
            targets=target,
            horizontal2=terrain.cell**2 * (di * di + dj * dj).astype(np.float64),
            dz2=(flat[target] - flat[source]) ** 2,
            is_jump=is_jump,
        )

    @property
    def num_nodes(self) -> int:
        """One for each cell."""
        return len(self.indptr) - 1

    @property
    def num_edges(self) -> int:
        """Steps and jumps in all directions."""
        return len(self.targets)

    @property
    def sources(self) -> NDArray[np.int64]:
        """[E] node each edge leaves."""
        return np.repeat(np.arange(self.num_nodes), np.diff(self.indptr))

    @property
    def edges(self) -> NDArray[np.int64]:
        """[E, 2] source and target node of each edge"""
        return np.stack([self.sources, self.targets], -1)

    @cached_property
    def longest_edge(self) -> int:
        """Cells that one edge can advance along a row or column, at most."""
        if not self.num_edges:
            return 1
        return max(1, int(np.sqrt(self.horizontal2.max()) / self.cell + ROUNDING))

    @cached_property
    def rows(self) -> list[list[int]]:
        """The targets of each node as Python lists, which a Python loop reads several times faster than arrays."""
        targets, ends = self.targets.tolist(), self.indptr.tolist()
        return [targets[a:b] for a, b in pairwise(ends)]

    def node(self, cell: Cell, role: str = "cell") -> int:
        """Number of a cell; the cell must lie on the map."""
        i, j = (int(k) for k in cell)
        if not (0 <= i < self.size[0] and 0 <= j < self.size[1]):
            raise PathError(
                f"the {role} ({i}, {j}) is off the map, expected rows 0-{self.size[0] - 1} and columns 0-{self.size[1] - 1}"
            )
        return i * self.size[1] + j

    def cell_of(self, node: int) -> Cell:
        """Row and column of a node."""
        return node // self.size[1], node % self.size[1]

    def edge(self, source: int, target: int) -> int | None:
        """Index of the edge between two nodes, None where there is none."""
        first, last = self.indptr[source], self.indptr[source + 1]
        at = first + np.searchsorted(self.targets[first:last], target)
        return int(at) if at < last and self.targets[at] == target else None


def cliffs(heights: NDArray[np.float64], drop: float) -> NDArray[np.bool_]:
    """[X, Y] cells with one of 8 neighbours lower by more than `drop`."""
    rows, columns = heights.shape
    padded = np.pad(heights, 1, constant_values=np.inf)
    lowest = np.minimum.reduce([padded[i : i + rows, j : j + columns] for i in range(3) for j in range(3)])
    return heights - lowest > drop + ROUNDING


def _window(shape: tuple[int, ...], offset: Cell) -> tuple[slice, slice]:
    """The cells of a grid whose partner at `offset` lies on the grid too."""
    return tuple(slice(max(0, -d), max(0, n - max(0, d))) for n, d in zip(shape, offset, strict=True))  # type: ignore[return-value]


def _steps(heights: NDArray[np.float64], settings: GraphSettings) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    nodes = np.arange(heights.size).reshape(heights.shape)
    sources, targets = [], []
    for di in (-1, 0, 1):
        for dj in (-1, 0, 1):
            if di == dj == 0:
                continue
            here = _window(heights.shape, (di, dj))
            there = (slice(here[0].start + di, here[0].stop + di), slice(here[1].start + dj, here[1].stop + dj))
            a, b = heights[here], heights[there]
            allowed = np.abs(b - a) <= settings.max_step + ROUNDING
            if di and dj:
                corner = np.maximum(heights[there[0], here[1]], heights[here[0], there[1]])
                allowed &= corner <= np.maximum(a, b) + settings.corner_step + ROUNDING
            sources.append(nodes[here][allowed])
            targets.append(nodes[there][allowed])
    return np.concatenate(sources), np.concatenate(targets)


def _jumps(heights: NDArray[np.float64], cell: float, settings: GraphSettings) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    cliff = cliffs(heights, settings.cliff_drop)
    columns = heights.shape[1]
    nodes = np.arange(heights.size).reshape(heights.shape)
    flat = heights.ravel()
    sources, targets = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for di, dj in _jump_offsets(settings.jump_distance / cell, heights.shape) if cliff.any() else ():
        here = _window(heights.shape, (di, dj))
        there = (slice(here[0].start + di, here[0].stop + di), slice(here[1].start + dj, here[1].stop + dj))
        rise = heights[there] - heights[here]
        able = cliff[here] & cliff[there] & (rise <= settings.jump_up + ROUNDING) & (rise >= -settings.jump_down - ROUNDING)
        source = nodes[here][able]
        if not len(source):
            continue
        cells, first, last, through = crossed_cells(di, dj)
        between = flat[source[:, None] + (cells @ [columns, 1])]
        ground, dz = flat[source], rise[able]
        pit = between[:, through].min(1)
        gap = pit < np.minimum(ground, ground + dz) - settings.cliff_drop - ROUNDING
        line = (ground + settings.jump_clearance)[:, None] + np.minimum(dz[:, None] * first, dz[:, None] * last)
        clear = (between <= line + ROUNDING).all(1)
        source = source[gap & clear]
        sources.append(source)
        targets.append(source + di * columns + dj)
    return np.concatenate(sources), np.concatenate(targets)


def _jump_offsets(radius: float, shape: tuple[int, ...]) -> list[Cell]:
    """Offsets within `radius` cells that are no step and fit the map."""
    reach = [min(int(radius + ROUNDING), n - 1) for n in shape]
    return [
        (di, dj)
        for di in range(-reach[0], reach[0] + 1)
        for dj in range(-reach[1], reach[1] + 1)
        if max(abs(di), abs(dj)) > 1 and di * di + dj * dj <= radius * radius + ROUNDING
    ]


@lru_cache(maxsize=4096)
def crossed_cells(di: int, dj: int) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Cells met by the line from the centre of cell (0, 0) to the centre of (di, dj), both ends left out.

    Returns the cells [K, 2], the parts [K] of the line where it enters and leaves each (0 at the source, 1 at the target), and
    whether it runs through the inside [K] or only touches a corner. A cell (a, b) is the square |x - a| <= 1/2, |y - b| <= 1/2;
    along (t di, t dj) each inequality bounds t, and rational numbers keep a touched corner apart from a near miss.
    """
    cells, first, last = [], [], []
    for a in range(min(di, 0), max(di, 0) + 1):
        for b in range(min(dj, 0), max(dj, 0) + 1):
            if (a, b) in ((0, 0), (di, dj)):
                continue
            enter, leave = Fraction(0), Fraction(1)
            for delta, centre in ((di, a), (dj, b)):
                if delta:
                    bounds = sorted((Fraction(2 * centre - 1, 2 * delta), Fraction(2 * centre + 1, 2 * delta)))
                    enter, leave = max(enter, bounds[0]), min(leave, bounds[1])
            if enter <= leave:
                cells.append((a, b))
                first.append(enter)
                last.append(leave)
    through = np.array([e < f for e, f in zip(first, last, strict=True)], dtype=bool)
    return np.array(cells, np.int64).reshape(-1, 2), np.array(first, float), np.array(last, float), through
