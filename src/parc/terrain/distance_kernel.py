"""The distance to the terrain in the cells around a point, and its gradient, as one kernel: nothing is written in between.

The same arithmetic as `parc.terrain.terrain_distance`, one thread a point: the own cell decides between air and ground, the cells
around it are looked at one after the other, and the vector from the nearest point of the best so far is kept in registers.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

_BLOCK = 256


def measure_on_gpu(
    points: Tensor, heights: Tensor, min_point: Tensor, size: Tensor, cell: float, reach: int, wall: bool, with_normal: bool
) -> tuple[Tensor, Tensor]:
    """`parc.terrain.terrain_distance.local_distance` for float32 points [N, M, 3]."""
    points, heights = points.contiguous(), heights.to(points.dtype).contiguous()
    min_point, size = min_point.to(points.dtype).contiguous(), size.int().contiguous()
    distance = torch.empty(points.shape[:-1], device=points.device, dtype=points.dtype)
    normal = torch.empty(points.shape if with_normal else (0,), device=points.device, dtype=points.dtype)
    total = distance.numel()
    if total:
        _search[(triton.cdiv(total, _BLOCK),)](
            points, heights, min_point, size, distance, normal,
            total, points.shape[1], heights.shape[1] * heights.shape[2], heights.shape[2],
            cell, 1 / cell, -1.0 if wall else 1.0,
            REACH=reach, WITH_NORMAL=with_normal, BLOCK=_BLOCK,
        )  # fmt: skip
    return distance, normal


@triton.jit
def _search(
    points, heights, min_point, size, distance, normal, total, per_map, map_cells, columns, cell, per_metre, up,
    REACH: tl.constexpr, WITH_NORMAL: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    k = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = k < total
    row = k // per_map
    half = 0.5 * cell
    last_i = tl.load(size + 2 * row, mask=live, other=1) - 1
    last_j = tl.load(size + 2 * row + 1, mask=live, other=1) - 1
    x = tl.load(points + 3 * k, mask=live, other=0.0) - tl.load(min_point + 2 * row, mask=live, other=0.0)
    y = tl.load(points + 3 * k + 1, mask=live, other=0.0) - tl.load(min_point + 2 * row + 1, mask=live, other=0.0)
    z = up * tl.load(points + 3 * k + 2, mask=live, other=0.0)
    own_x = tl.floor(x * per_metre + 0.5)
    own_y = tl.floor(y * per_metre + 0.5)
    i = tl.minimum(tl.maximum(own_x, -1.0), 1048576.0).to(tl.int32)
    j = tl.minimum(tl.maximum(own_y, -1.0), 1048576.0).to(tl.int32)
    on_map = (i >= 0) & (i <= last_i) & (j >= 0) & (j <= last_j)
    i = tl.minimum(tl.maximum(i, 0), last_i)
    j = tl.minimum(tl.maximum(j, 0), last_j)
    base = heights + row * map_cells
    rise = z - up * tl.load(base + i * columns + j, mask=live, other=0.0)
    in_ground = on_map & (rise <= 0)
    side = tl.where(in_ground, -1.0, 1.0)
    z = side * z
    sign = side * up
    u = x - cell * i.to(tl.float32)
    v = y - cell * j.to(tl.float32)

    # in the ground the edge of the map may be the way out
    low_x, high_x = u + (i.to(tl.float32) + 0.5) * cell, u - ((last_i - i).to(tl.float32) + 0.5) * cell
    low_y, high_y = v + (j.to(tl.float32) + 0.5) * cell, v - ((last_j - j).to(tl.float32) + 0.5) * cell
    edge_x = tl.where(low_x < -high_x, low_x, high_x)
    edge_y = tl.where(low_y < -high_y, low_y, high_y)
    by_x = tl.abs(edge_x) <= tl.abs(edge_y)
    away_x = tl.where(by_x, edge_x, 0.0)
    away_y = tl.where(by_x, 0.0, edge_y)
    away_z = tl.full((BLOCK,), 0.0, tl.float32)
    best = tl.where(in_ground, away_x * away_x + away_y * away_y, float("inf"))

    # the own cell first: of cells equally near it is the one that counts
    for step in tl.static_range((2 * REACH + 1) * (2 * REACH + 1) + 1):
        a = 0 if step == 0 else (step - 1) // (2 * REACH + 1) - REACH
        b = 0 if step == 0 else (step - 1) % (2 * REACH + 1) - REACH
        ci = tl.minimum(tl.maximum(i + a, 0), last_i)
        cj = tl.minimum(tl.maximum(j + b, 0), last_j)
        gap_x = u - (ci - i).to(tl.float32) * cell
        gap_y = v - (cj - j).to(tl.float32) * cell
        gap_x = gap_x - tl.minimum(tl.maximum(gap_x, -half), half)
        gap_y = gap_y - tl.minimum(tl.maximum(gap_y, -half), half)
        drop = tl.maximum(z - sign * tl.load(base + ci * columns + cj, mask=live, other=0.0), 0.0)
        squared = gap_x * gap_x + gap_y * gap_y + drop * drop
        # the edge of the map must be nearer than the own cell's surface to count
        nearer = (squared <= best) if step == 0 else (squared < best)
        best = tl.where(nearer, squared, best)
        if WITH_NORMAL:
            away_x = tl.where(nearer, gap_x, away_x)
            away_y = tl.where(nearer, gap_y, away_y)
            away_z = tl.where(nearer, sign * drop, away_z)

    found = tl.sqrt(best)
    tl.store(distance + k, sign * found, mask=live)
    if WITH_NORMAL:
        scale = sign / tl.maximum(found, 1.17549435e-38)
        tl.store(normal + 3 * k, away_x * scale, mask=live)
        tl.store(normal + 3 * k + 1, away_y * scale, mask=live)
        tl.store(normal + 3 * k + 2, away_z * scale, mask=live)
