"""`sdTerrain`: the signed distance from points to the terrain.

Positive in the air, the distance to the nearest column; negative in the ground, the distance to the nearest air, which
may lie above or sideways. Both are the same question. A point in the air at height z is from cell c

    d_c^2 = dx_c^2 + dy_c^2 + max(0, z - h_c)^2

away, with dx_c and dy_c the horizontal gaps between point and cell; a point in the ground is from the air above c away
by the same formula with heights and z negated. So the maps are held twice, upright and negated, each point is put on
one of them, and one search for the least d_c serves both. Turning the world upside down also exchanges the two borders:

    open    off the map is air: near the edge the way out of the ground may be sideways
    wall    off the map is solid: depth counts to the nearest air above a cell, so a point off the map and above its
            neighbours counts its horizontal distance to the map (the paper's TPL)

Exact, yet local. `signed_distance` starts from the point's own cell and looks at rings of cells around it. Nothing in
ring r is nearer than

    sqrt(off^2 + ((r - 1) cell + margin)^2 + max(0, z - highest cell within r)^2)

(off: distance to the map; margin: from the point to the nearest edge of its cell), so most points look at few rings and
leave the search early. `signed_distance_local` looks at a fixed window instead: nothing in it depends on the data, so it
can be captured in a CUDA graph. It is an operator of its own (`parc::local_distance`), which compilers leave as it is; on CUDA it
is one kernel (`distance_kernel`) where Triton is installed.

The search runs without gradient and remembers the cell that won; backward is the unit vector from the nearest point of
that cell, which is the gradient wherever there is one, and zero on the surface itself. Heights get no gradient.
"""

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from parc.errors import TerrainError
from parc.terrain.terrain import Terrain, TerrainBatch

Border = Literal["open", "wall"]

_CHUNK_CPU = 1 << 16
_CHUNK_CUDA = 1 << 23


def signed_distance(terrain: Terrain | TerrainBatch, points: Tensor, border: Border = "open") -> Tensor:
    """Exact distance [...] of points [..., 3] to one terrain, or of points [N, ..., 3] to N terrains."""
    ground = _ground(terrain, points, border)
    maps = _maps(*ground, terrain.cell, border == "wall", points.dtype)
    windows = _Windows(maps)
    with_normal = torch.is_grad_enabled() and points.requires_grad
    with torch.no_grad():
        distance, normal = _measure(maps, points, lambda query: _search_rings(maps, windows, query, with_normal), with_normal)
    return _AlongNormal.apply(points, distance, normal) if with_normal else distance


def signed_distance_local(terrain: Terrain | TerrainBatch, points: Tensor, reach: int = 1, border: Border = "open") -> Tensor:
    """The same from the (2 reach + 1)^2 cells around each point, without host sync or data-dependent shapes.

    Exact wherever the true |distance| is at most reach * cell. Elsewhere the sign is right and the size is an upper
    bound (the distance to something that is there), itself at least reach * cell.
    """
    with_normal = torch.is_grad_enabled() and points.requires_grad
    return _found_local(terrain, points, reach, border, with_normal)[0].view(points.shape[:-1])


def nearest_local(
    terrain: Terrain | TerrainBatch, points: Tensor, reach: int = 1, border: Border = "open"
) -> tuple[Tensor, Tensor]:
    """The same distances [...], and the unit vectors [..., 3] in which they grow: out of the nearest ground."""
    distance, normal = _found_local(terrain, points, reach, border, True)
    return distance.view(points.shape[:-1]), normal.view(points.shape)


def _found_local(
    terrain: Terrain | TerrainBatch, points: Tensor, reach: int, border: Border, with_normal: bool
) -> tuple[Tensor, Tensor]:
    if reach < 1:
        raise TerrainError(f"reach is {reach} cells, expected at least 1")
    heights, min_point, size = _ground(terrain, points, border)
    rows = points.reshape(heights.shape[0], -1, 3)
    measure = measure_local if torch.compiler.is_exporting() else local_distance  # other runtimes do not have our operators
    return measure(rows, heights, min_point, size, terrain.cell, reach, border == "wall", with_normal)


@torch.library.custom_op("parc::local_distance", mutates_args=())
def local_distance(
    points: Tensor, heights: Tensor, min_point: Tensor, size: Tensor, cell: float, reach: int, wall: bool, with_normal: bool
) -> tuple[Tensor, Tensor]:
    """Distances [N, M] of points [N, M, 3] and their gradients [N, M, 3] (none, and no backward, without `with_normal`).

    heights [N, X, Y], min_point [N, 2] and size [N, 2] as in a `TerrainBatch`.
    """
    if kernel_applies(points):
        from parc.terrain.distance_kernel import measure_on_gpu

        return measure_on_gpu(points, heights, min_point, size, cell, reach, wall, with_normal)
    return measure_local(points, heights, min_point, size, cell, reach, wall, with_normal)


@local_distance.register_fake
def _(
    points: Tensor, heights: Tensor, min_point: Tensor, size: Tensor, cell: float, reach: int, wall: bool, with_normal: bool
) -> tuple[Tensor, Tensor]:
    return points.new_empty(points.shape[:-1]), points.new_empty(points.shape if with_normal else (0,))


def measure_local(
    points: Tensor, heights: Tensor, min_point: Tensor, size: Tensor, cell: float, reach: int, wall: bool, with_normal: bool
) -> tuple[Tensor, Tensor]:
    """`local_distance` in plain torch, on any device and in any precision."""
    maps = _maps(heights, min_point, size, cell, wall, points.dtype)
    span = torch.arange(-reach, reach + 1, device=points.device, dtype=torch.int32)
    return _measure(maps, points, lambda query: _look(maps, query, span, span, with_normal), with_normal)


def kernel_applies(points: Tensor) -> bool:
    """Whether the Triton kernel can take these points."""
    return points.is_cuda and points.dtype == torch.float32 and points.numel() < 1 << 31 and _has_triton()


@lru_cache(maxsize=1)
def _has_triton() -> bool:
    return importlib.util.find_spec("triton") is not None


def _keep_normal(ctx, inputs: tuple, output: tuple[Tensor, Tensor]) -> None:
    ctx.save_for_backward(output[1])


def _along_normal(ctx, grad: Tensor, _: Tensor | None) -> tuple[Tensor | None, ...]:
    (normal,) = ctx.saved_tensors
    return (grad.unsqueeze(-1) * normal, *[None] * 7)


local_distance.register_autograd(_along_normal, setup_context=_keep_normal)


def penetration_depth(terrain: Terrain | TerrainBatch, points: Tensor, border: Border = "wall") -> Tensor:
    """How deep points are in the ground, m, zero in the air; by default off the map is solid, as in the paper's TPL."""
    return (-signed_distance(terrain, points, border)).clamp_min(0)


def clearance(terrain: Terrain | TerrainBatch, points: Tensor, border: Border = "open") -> Tensor:
    """How far points are from the ground, m, zero inside it."""
    return signed_distance(terrain, points, border).clamp_min(0)


@dataclass(eq=False)
class _Maps:
    heights: Tensor
    """[2, N, X, Y] as they are and negated; for a walled map the other way round"""
    min_point: Tensor
    """[N, 2]"""
    last: Tensor
    """[N, 2] int32, index of the last real cell"""
    cell: float
    up: float
    """1, or -1 where the world is turned upside down (a walled map)"""

    def __post_init__(self) -> None:
        self.flat = self.heights.reshape(-1)
        _, self.count, self.width, self.depth = self.heights.shape


class _Windows:
    """Highest cell within r of each cell, made when first asked for.

    Padding of a batch repeats the last real cells, so a padded cell within r stands for a real one that is nearer still.
    """

    def __init__(self, maps: _Maps) -> None:
        self._by_radius = [maps.heights.flatten(0, 1)]
        self.largest = max(maps.width, maps.depth) - 1
        """radius at which every window holds its whole map"""

    def highest(self, radius: int) -> Tensor:
        while len(self._by_radius) <= radius:
            self._by_radius.append(F.max_pool2d(self._by_radius[-1], 3, stride=1, padding=1))
        return self._by_radius[radius].reshape(-1)


@dataclass(eq=False)
class _Query:
    """Points on their maps, one entry a point."""

    u: Tensor
    """position against the centre of the own cell, along x"""
    v: Tensor
    """the same along y"""
    z: Tensor
    """height, negated for points that use the negated map"""
    i: Tensor
    """own cell along x, int32; the nearest one for points off the map"""
    j: Tensor
    """the same along y"""
    last_i: Tensor
    last_j: Tensor
    base: Tensor
    """where the point's map starts in the flat heights, int32"""
    best: Tensor
    """least squared distance so far"""
    winner: Tensor
    """flat index of the cell it belongs to; -1: the edge of the map"""
    in_ground: Tensor

    def select(self, which: Tensor) -> "_Query":
        return _Query(*(getattr(self, field.name).index_select(0, which) for field in fields(self)))


def _ground(terrain: Terrain | TerrainBatch, points: Tensor, border: Border) -> tuple[Tensor, Tensor, Tensor]:
    """Heights [N, X, Y], first centres [N, 2] and sizes [N, 2] of what the points are on; refuses what does not fit together."""
    if points.shape[-1:] != (3,):
        raise TerrainError(f"points have shape {list(points.shape)}, expected [..., 3]")
    if border not in ("open", "wall"):
        raise TerrainError(f"border is '{border}', expected 'open' or 'wall'")
    if isinstance(terrain, TerrainBatch):
        if points.dim() < 2 or points.shape[0] != terrain.count:
            raise TerrainError(f"points have shape {list(points.shape)}, expected [{terrain.count}, ..., 3], a row a terrain")
        return terrain.heights.detach(), terrain.min_point, terrain.size
    heights = terrain.heights.detach()[None]
    size = torch.stack([torch.full((1,), n, device=heights.device) for n in terrain.size], -1)
    return heights, terrain.min_point[None], size


def _maps(heights: Tensor, min_point: Tensor, size: Tensor, cell: float, wall: bool, dtype: torch.dtype) -> _Maps:
    up = -1.0 if wall else 1.0
    heights = up * heights.to(dtype)
    return _Maps(torch.stack([heights, -heights]), min_point.to(dtype), (size - 1).int(), cell, up)


def _measure(maps: _Maps, points: Tensor, search: Callable[[_Query], None], with_normal: bool) -> tuple[Tensor, Tensor]:
    """Distances [...] of points [..., 3] and, if asked for, their gradients [..., 3], in pieces that stay in cache."""
    flat = points.reshape(-1, 3)
    rows = torch.arange(maps.count, device=points.device)[:, None].expand(-1, flat.shape[0] // maps.count).reshape(-1)
    distances, normals = [], [flat.new_zeros(0)]
    for piece, piece_rows in _pieces(flat, rows):
        query = _locate(maps, piece, piece_rows)
        search(query)
        sign = torch.where(query.in_ground, -maps.up, maps.up)
        distance = query.best.sqrt()
        distances.append(sign * distance)
        if with_normal:
            away = _from_nearest(maps, query, sign)
            normals.append((away * (sign / distance.clamp_min(torch.finfo(distance.dtype).tiny))[:, None]).flatten())
    normal = torch.cat(normals)
    return torch.cat(distances).view(points.shape[:-1]), normal.view(points.shape) if with_normal else normal


def _pieces(points: Tensor, rows: Tensor) -> list[tuple[Tensor, Tensor]]:
    if torch.compiler.is_exporting():  # how many there are must not depend on the batch
        return [(points, rows)]
    size = _CHUNK_CUDA if points.is_cuda else _CHUNK_CPU
    return list(zip(points.split(size), rows.split(size), strict=True))


def _locate(maps: _Maps, points: Tensor, rows: Tensor) -> _Query:
    """Own cells, and what they and the edge of the map say about the distance."""
    cell, half = maps.cell, 0.5 * maps.cell
    min_x, min_y = maps.min_point.unbind(-1)
    last_i, last_j = (column.index_select(0, rows) for column in maps.last.unbind(-1))
    x, y = points[:, 0] - min_x.index_select(0, rows), points[:, 1] - min_y.index_select(0, rows)
    i, j = _own_cell(x, cell), _own_cell(y, cell)
    on_map = (i >= 0) & (i <= last_i) & (j >= 0) & (j <= last_j)
    i, j = i.clamp_min(0).minimum(last_i), j.clamp_min(0).minimum(last_j)
    base = rows.int() * (maps.width * maps.depth)
    own = base + i * maps.depth + j
    rise = maps.up * points[:, 2] - maps.flat.index_select(0, own)
    in_ground = on_map & (rise <= 0)

    u, v = x - cell * i, y - cell * j
    gap_x, gap_y = (u.abs() - half).clamp_min(0), (v.abs() - half).clamp_min(0)
    gap_z = torch.where(in_ground, -rise, rise).clamp_min(0)
    best = gap_x.square() + gap_y.square() + gap_z.square()
    to_edge = torch.minimum(torch.minimum(x, cell * last_i - x), torch.minimum(y, cell * last_j - y)) + half
    edge = to_edge.clamp_min(0).square()
    edge_wins = in_ground & (edge < best)

    other_map = in_ground.int() * (maps.count * maps.width * maps.depth)
    return _Query(
        u=u, v=v, z=torch.where(in_ground, -maps.up, maps.up) * points[:, 2],
        i=i, j=j, last_i=last_i, last_j=last_j, base=base + other_map,
        best=torch.where(edge_wins, edge, best), winner=torch.where(edge_wins, -1, own + other_map),
        in_ground=in_ground,
    )  # fmt: skip


def _own_cell(x: Tensor, cell: float) -> Tensor:
    return (x * (1 / cell) + 0.5).floor().clamp(-1, 1 << 20).int()


def _look(maps: _Maps, query: _Query, span_i: Tensor, span_j: Tensor, with_winner: bool) -> None:
    """Update `best` (and `winner`) from the cells at offsets span_i x span_j from the own cells."""
    ci, gap_x = _line(query.u, query.i, query.last_i, span_i, maps.cell)
    cj, gap_y = _line(query.v, query.j, query.last_j, span_j, maps.cell)
    index = ((query.base + ci * maps.depth)[:, None] + cj).flatten()
    drop = (query.z - maps.flat.index_select(0, index).view(len(span_i), len(span_j), -1)).clamp_min_(0)
    squared = drop.square_().add_(gap_x[:, None]).add_(gap_y).flatten(0, 1)
    if with_winner:
        least, which = squared.min(0)
        candidate = index.view(squared.shape).gather(0, which[None])[0]
        query.winner = torch.where(least < query.best, candidate, query.winner)
    else:
        least = squared.amin(0)
    query.best = torch.minimum(query.best, least)


def _line(offset: Tensor, own: Tensor, last: Tensor, span: Tensor, cell: float) -> tuple[Tensor, Tensor]:
    """Indices and squared gaps [S, M] of the cells at `span` [S] from the own ones, moved back onto the map."""
    index = (own + span[:, None]).clamp_min_(0).minimum(last)
    gap = (offset - (index - own) * cell).abs_().sub_(0.5 * cell).clamp_min_(0)
    return index, gap.square_()


def _search_rings(maps: _Maps, windows: _Windows, query: _Query, with_winner: bool) -> None:
    """Look at ring after ring around the own cells until no ring can hold anything nearer."""
    pending, rows = query, None
    for radius in range(1, windows.largest + 1):
        off, margin = _bounds(pending, maps.cell)
        least = off + (margin + (radius - 1) * maps.cell).square()
        alive = (least < pending.best).nonzero()[:, 0]
        if len(alive) == 0:
            break
        if len(alive) < 0.5 * len(least):
            _hand_back(query, pending, rows)
            rows = alive if rows is None else rows[alive]
            pending, least = pending.select(alive), least[alive]
        own = pending.base + pending.i * maps.depth + pending.j
        drop = (pending.z - windows.highest(radius).index_select(0, own)).clamp_min_(0)
        worth = (drop.square_().add_(least) < pending.best).nonzero()[:, 0]
        if len(worth) == 0:
            continue
        looking = pending.select(worth)
        full = torch.arange(-radius, radius + 1, device=own.device, dtype=torch.int32)
        _look(maps, looking, full[:: 2 * radius], full, with_winner)
        _look(maps, looking, full[1:-1], full[:: 2 * radius], with_winner)
        pending.best.index_copy_(0, worth, looking.best)
        pending.winner.index_copy_(0, worth, looking.winner)
    _hand_back(query, pending, rows)


def _bounds(query: _Query, cell: float) -> tuple[Tensor, Tensor]:
    """Squared distance to the map, and distance from the point (or its image on the map) to the edge of its cell."""
    beyond_x, beyond_y = query.u.abs() - 0.5 * cell, query.v.abs() - 0.5 * cell
    off = beyond_x.clamp_min(0).square() + beyond_y.clamp_min(0).square()
    return off, -torch.maximum(beyond_x, beyond_y).clamp_max(0)


def _hand_back(query: _Query, pending: _Query, rows: Tensor | None) -> None:
    if rows is not None:
        query.best.index_copy_(0, rows, pending.best)
        query.winner.index_copy_(0, rows, pending.winner)


def _from_nearest(maps: _Maps, query: _Query, sign: Tensor) -> Tensor:
    """Vectors [M, 3] to the points from the nearest point of the cell, or of the edge of the map, that won."""
    cell, half = maps.cell, 0.5 * maps.cell
    local = query.winner - query.base
    ci = torch.div(local, maps.depth, rounding_mode="floor")
    cj = local - ci * maps.depth
    across = query.u - (ci - query.i) * cell, query.v - (cj - query.j) * cell
    x, y = (a - a.clamp(-half, half) for a in across)
    z = sign * (query.z - maps.flat.index_select(0, query.winner.clamp_min(0))).clamp_min(0)

    edge_x, edge_y = _from_edge(query.u, query.i, query.last_i, cell), _from_edge(query.v, query.j, query.last_j, cell)
    by_x = edge_x.abs() <= edge_y.abs()
    edge = torch.stack([torch.where(by_x, edge_x, 0), torch.where(by_x, 0, edge_y), torch.zeros_like(z)], -1)
    return torch.where((query.winner < 0)[:, None], edge, torch.stack([x, y, z], -1))


def _from_edge(offset: Tensor, own: Tensor, last: Tensor, cell: float) -> Tensor:
    """Signed way from the nearer of the two edges of the map along one axis."""
    from_low = offset + (own + 0.5) * cell
    from_high = offset - (last - own + 0.5) * cell
    return torch.where(from_low < -from_high, from_low, from_high)


class _AlongNormal(torch.autograd.Function):
    """The distances given, with the normals given as their gradient."""

    @staticmethod
    def forward(ctx, points: Tensor, distance: Tensor, normal: Tensor) -> Tensor:
        ctx.save_for_backward(normal)
        return distance

    @staticmethod
    def backward(ctx, grad: Tensor) -> tuple[Tensor, None, None]:
        (normal,) = ctx.saved_tensors
        return grad.unsqueeze(-1) * normal, None, None
