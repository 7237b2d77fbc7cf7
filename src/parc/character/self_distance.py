"""How deep the body is inside itself: signed distances between the shapes of bodies that may collide.

Spheres and capsules are segments with a radius. Distances between two of them are exact. A segment's distance from a box is
exact while its axis is outside of the box; inside, depth is measured in the middle of the part of the axis that is in the
box, which finds at least half of what the axis is deep. Two boxes are told apart by the 15 axes of the separating axis
theorem: their depth is exact (the shortest way out), their distance is a lower bound where two corners are nearest.

The nearest points are found without gradient and the distance is that of these points, held fixed on their shapes: since a
nearest point cannot be improved, this has the gradient of the distance (exact wherever the distance is). Shapes are
compared kind by kind, all pairs at once; the index tensors live on the device, so nothing is copied from the host inside a
captured CUDA graph. Where a motion is moved a little many times, `NearPairs` compares only what was near at first.
"""

import itertools
from functools import cache
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from parc.character import rotation
from parc.character.body_shape import Box, Capsule, Shape, Vector
from parc.character.character import Character
from parc.character.kinematics import BodyPose

Pairs = tuple[tuple[int, int], ...]
_ROUND = 1e-12
"""m2 under roots, so that touching centres have a gradient: 1 micrometre"""
_FLAT = 1e-6
"""m2: slope of the squared distance along a segment that counts as none; costs 0.03 mm at a distance of 4 cm"""
_PARALLEL = 1e-4
"""squared sine under which two edges are parallel, and the faces' axes tell enough"""


@cache
def separate_pairs(character: Character) -> Pairs:
    """Bodies (i, j), i < j, sorted, with shapes, that are neither one rigid body nor joined by a joint, as MuJoCo sees them."""
    rigid, above = _rigid(character), {}
    for i, body in enumerate(character.bodies):
        if rigid[i] == i:
            above[i] = rigid[body.parent] if body.parent >= 0 else -1
    return tuple(
        (i, j)
        for i, j in itertools.combinations(range(len(character)), 2)
        if rigid[i] != rigid[j] and above[rigid[i]] != rigid[j] and above[rigid[j]] != rigid[i]
        if character.bodies[i].shapes and character.bodies[j].shapes
    )


@cache
def self_pairs(character: Character) -> Pairs:
    """Bodies (i, j), i < j, sorted, that may collide: not neighbours in the tree, and apart in the zero pose.

    Bodies that are joined without a joint count as one, as in MuJoCo, so a hand on a fixed wrist never meets its upper arm.
    """
    candidates = separate_pairs(character)
    origins = torch.zeros(len(character), 3, dtype=torch.float64)
    for i, body in enumerate(character.bodies):
        origins[i] = torch.tensor(body.offset, dtype=torch.float64) + (origins[body.parent] if body.parent >= 0 else 0.0)
    zero_pose = BodyPose(origins, rotation.identity((len(character),), dtype=torch.float64))
    deep = _depth(_tables(character, candidates, origins.device, origins.dtype), zero_pose) > 0
    return tuple(pair for pair, overlaps in zip(candidates, deep.tolist(), strict=True) if not overlaps)


def self_depth(character: Character, pose: BodyPose) -> Tensor:
    """Depth of each of the `self_pairs` [..., P] in m, positive inside, for quaternion or matrix poses."""
    return _depth(_tables(character, self_pairs(character), pose.pos.device, pose.pos.dtype), pose)


class NearPairs:
    """Depths of the shapes alone that are near each other in given poses: a tenth of all, for a motion that moves little.

    Its lists are made once and on the device, so a captured CUDA graph may read them as long as this lives.
    """

    def __init__(self, character: Character, pose: BodyPose, reach: float, among: Tensor | None = None) -> None:
        """Shapes less than `reach` m apart, in the frames `among` [...] (bool) of poses [..., B, 3]."""
        t = _tables(character, self_pairs(character), pose.pos.device, pose.pos.dtype)
        with torch.no_grad():
            near = (_compare(t, _place(t, pose)) > -reach).flatten(0, -2)
            if among is not None:
                near &= among.reshape(-1, 1)
            kinds = near.split([len(t.round_radius), len(t.edge_radius), len(t.box_pairs[0])], -1)
            (at, k), (at_box, e), (at_boxes, b) = (kind.nonzero().unbind(-1) for kind in kinds)
        rounds, boxes = len(t.round_body), len(t.box_body)
        self.frame = torch.cat([at, at_box, at_boxes])
        """[M] frame of each depth, of all frames in one row"""
        self._tables = t._replace(
            round_pairs=(at * rounds + t.round_pairs[0][k], at * rounds + t.round_pairs[1][k]),
            round_radius=t.round_radius[k],
            half_square=(t.half_square[0][k], t.half_square[1][k]),
            half_product=t.half_product[k],
            edge_pairs=(at_box * rounds + t.edge_pairs[0][e], at_box * boxes + t.edge_pairs[1][e]),
            edge_radius=t.edge_radius[e],
            edge_half=t.edge_half[:, e],
            box_pairs=(at_boxes * boxes + t.box_pairs[0][b], at_boxes * boxes + t.box_pairs[1][b]),
            box_half=(t.box_half[0][:, b], t.box_half[1][:, b]),
        )

    def depth(self, pose: BodyPose) -> Tensor:
        """[M] m, positive inside, in poses of the shape given at first."""
        return _compare(self._tables, _place(self._tables, pose).in_one_row())


class _Tables(NamedTuple):
    round_body: Tensor
    """[S] body of each sphere and capsule"""
    round_pairs: tuple[Tensor, Tensor]
    """[K] rows of spheres and capsules to compare"""
    round_radius: Tensor
    """[K] sum of both radii"""
    half_square: tuple[Tensor, Tensor]
    """[K] squared half lengths"""
    half_product: Tensor
    """[K] their product, a little more: parallel segments meet in the middle"""
    box_body: Tensor
    """[X] body of each box"""
    turn: Tensor
    """[9B, 3 (2S + 4X)] the bodies' rotation matrices, flattened, times this: centres and half axes of segments, centres and axes
    of boxes, all turned; first the x of all, then y, then z"""
    edge_pairs: tuple[Tensor, Tensor]
    """[L] rows of spheres or capsules, and of boxes to compare them with"""
    edge_radius: Tensor
    """[L]"""
    edge_half: Tensor
    """[3, L] half sizes of the boxes"""
    box_pairs: tuple[Tensor, Tensor]
    """[M] rows of boxes to compare"""
    box_half: tuple[Tensor, Tensor]
    """[3, M]"""
    by_pair: Tensor
    """[P, R] comparisons of each pair of bodies, the last repeated to fill up"""


@cache  # captured graphs read these tensors, so none may be dropped
def _tables(character: Character, pairs: Pairs, device: torch.device, dtype: torch.dtype) -> _Tables:
    shapes = [(body, shape) for body, b in enumerate(character.bodies) for shape in b.shapes]
    rounds = [(body, s) for body, s in shapes if not isinstance(s, Box)]
    boxes = [(body, s) for body, s in shapes if isinstance(s, Box)]
    wanted = {pair: k for k, pair in enumerate(pairs)}

    def compare(first: list, second: list) -> list[tuple[int, int, int]]:
        """(row of first, row of second, pair of bodies)"""
        of_pair = [
            (a, b, wanted.get((min(i, j), max(i, j)))) for a, (i, _) in enumerate(first) for b, (j, _) in enumerate(second)
        ]
        return [(a, b, k) for a, b, k in of_pair if k is not None and (first is not second or a < b)]

    round_round, round_box, box_box = compare(rounds, rounds), compare(rounds, boxes), compare(boxes, boxes)
    rows: list[list[int]] = [[] for _ in pairs]
    for row, (_, _, k) in enumerate([*round_round, *round_box, *box_box]):
        rows[k].append(row)
    widest = max(map(len, rows), default=1)

    def index(values: list[int]) -> Tensor:
        return torch.tensor(values, device=device, dtype=torch.long)

    def both(compared: list[tuple[int, int, int]]) -> tuple[Tensor, Tensor]:
        return index([a for a, _, _ in compared]), index([b for _, b, _ in compared])

    def numbers(values: list, *shape: int) -> Tensor:
        return torch.tensor(values, device=device, dtype=dtype).reshape(len(values), *shape)

    def attached(to: list[tuple[int, Vector]]) -> np.ndarray:
        """[9B, 3, n] of vectors in their bodies' frames."""
        turn = np.zeros((len(character), 3, 3, 3, len(to)))
        for k, (body, vector) in enumerate(to):
            for axis in range(3):
                turn[body, axis, :, axis, k] = vector
        return turn.reshape(9 * len(character), 3, len(to))

    axes = [(body, axis) for column in range(3) for body, s in boxes for axis in [_axis(s, column)]]
    turn = np.concatenate(
        [
            attached([(body, _centre(s)) for body, s in rounds]),
            attached([(body, _half_axis(s)) for body, s in rounds]),
            attached([(body, s.centre) for body, s in boxes]),
            attached(axes),
        ],
        -1,
    )
    with torch.inference_mode(False):  # the cache outlives the caller's mode, and inference tensors cannot take part in autograd
        half_axis = numbers([_half_axis(s) for _, s in rounds], 3)
        radius, half = numbers([s.radius for _, s in rounds]), numbers([s.half for _, s in boxes], 3)
        first, second = both(round_round)
        segment, box = both(round_box)
        one, other = both(box_box)
        square = (half_axis[first].square().sum(-1).clamp_min(1e-9), half_axis[second].square().sum(-1).clamp_min(1e-9))
        return _Tables(
            round_body=index([body for body, _ in rounds]),
            round_pairs=(first, second),
            round_radius=radius[first] + radius[second],
            half_square=square,
            half_product=square[0] * square[1] * (1 + 1e-6),
            box_body=index([body for body, _ in boxes]),
            turn=torch.tensor(turn.reshape(len(turn), -1), device=device, dtype=dtype),
            edge_pairs=(segment, box),
            edge_radius=radius[segment],
            edge_half=half[box].mT.contiguous(),
            box_pairs=(one, other),
            box_half=(half[one].mT.contiguous(), half[other].mT.contiguous()),
            by_pair=index([r[min(k, len(r) - 1)] for r in rows for k in range(widest)]).reshape(len(rows), widest),
        )


def _rigid(character: Character) -> list[int]:
    """For each body the first of those it is joined with without a joint."""
    rigid: list[int] = []
    for i, body in enumerate(character.bodies):
        rigid.append(rigid[body.parent] if i and not body.joint.dof else i)
    return rigid


def _axis(box: Box, column: int) -> Vector:
    x, y, z = rotation.to_matrix(torch.tensor(box.rotation, dtype=torch.float64))[:, column].tolist()
    return x, y, z


def _centre(shape: Shape) -> Vector:
    return _between(shape.start, shape.end, 0.5, 0.5) if isinstance(shape, Capsule) else shape.centre


def _half_axis(shape: Shape) -> Vector:
    return _between(shape.start, shape.end, -0.5, 0.5) if isinstance(shape, Capsule) else (0.0, 0.0, 0.0)


def _between(start: Vector, end: Vector, a: float, b: float) -> Vector:
    (ax, ay, az), (bx, by, bz) = start, end
    return a * ax + b * bx, a * ay + b * by, a * az + b * bz


class _Placed(NamedTuple):
    """Shapes in the world."""

    centre: Tensor
    """[..., 3, S] of segments"""
    half_axis: Tensor
    """[..., 3, S]"""
    box_centre: Tensor
    """[..., 3, X]"""
    box_turn: Tensor
    """[..., 3, 3, X] a box's axes are its columns"""

    def in_one_row(self) -> "_Placed":
        """All frames' shapes side by side, [3, frames S] and so on."""
        centre, half_axis, box_centre = (v.movedim(-2, 0).flatten(1) for v in self[:3])
        return _Placed(centre, half_axis, box_centre, self.box_turn.movedim((-3, -2), (0, 1)).flatten(2))


def _place(t: _Tables, pose: BodyPose) -> _Placed:
    """One matrix product for all shapes, as in `surface.world_points`."""
    turns = rotation.to_matrix(pose.rot) if pose.rot.shape[-1] == 4 else pose.rot
    with torch.autocast(pose.pos.device.type, enabled=False):
        turned = (turns.reshape(-1, t.turn.shape[0]) @ t.turn).unflatten(-1, (3, -1))
    rounds, boxes = len(t.round_body), len(t.box_body)
    centre, half_axis, box_centre, box_turn = turned.reshape(*pose.pos.shape[:-2], *turned.shape[1:]).split(
        [rounds, rounds, boxes, 3 * boxes], -1
    )
    origin = pose.pos.mT
    return _Placed(
        origin.index_select(-1, t.round_body) + centre,
        half_axis,
        origin.index_select(-1, t.box_body) + box_centre,
        box_turn.unflatten(-1, (3, boxes)),
    )


def _compare(t: _Tables, placed: _Placed) -> Tensor:
    """[..., C] depth of every comparison: of spheres and capsules, of them with boxes, of boxes."""
    found = [_between_rounds(t, placed)]
    if len(t.edge_radius):
        found.append(_round_in_box(t, placed))
    if len(t.box_pairs[0]):
        found.append(_between_boxes(t, placed))
    return torch.cat(found, -1)


def _depth(t: _Tables, pose: BodyPose) -> Tensor:
    """[..., P]"""
    rows = _compare(t, _place(t, pose)).index_select(-1, t.by_pair.flatten())
    return rows.unflatten(-1, tuple(t.by_pair.shape)).amax(-1)


def _between_rounds(t: _Tables, placed: _Placed) -> Tensor:
    """[..., K] of segments with radii."""
    first, second = t.round_pairs
    r = placed.centre.index_select(-1, first) - placed.centre.index_select(-1, second)
    h, k = placed.half_axis.index_select(-1, first), placed.half_axis.index_select(-1, second)
    u, v = _nearest_on_segments(t, r.detach(), h.detach(), k.detach())
    gap = r + u.unsqueeze(-2) * h - v.unsqueeze(-2) * k
    return t.round_radius - (gap.square().sum(-2) + _ROUND).sqrt()


def _nearest_on_segments(t: _Tables, r: Tensor, h: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
    """u, v [..., K] in [-1, 1] where |r + u h - v k| is least: u with v free, then v for this u, then u for this v."""
    hh, kk = t.half_square
    hk, hr, kr = (h * k).sum(-2), (h * r).sum(-2), (k * r).sum(-2)
    u = ((hk * kr - hr * kk) / (t.half_product - hk * hk)).clamp(-1, 1)
    v = ((hk * u + kr) / kk).clamp(-1, 1)
    return ((hk * v - hr) / hh).clamp(-1, 1), v


def _round_in_box(t: _Tables, placed: _Placed) -> Tensor:
    """[..., L] of segments with radii, and boxes."""
    segment, box = t.edge_pairs
    turn = placed.box_turn.index_select(-1, box)
    middle = _into(turn, placed.centre.index_select(-1, segment) - placed.box_centre.index_select(-1, box))
    half = _into(turn, placed.half_axis.index_select(-1, segment))
    u = _nearest_in_box(middle.detach(), half.detach(), t.edge_half)
    beyond = (middle + u.unsqueeze(-2) * half).abs() - t.edge_half
    outside = (beyond.clamp_min(0).square().sum(-2) + _ROUND).sqrt()
    return t.edge_radius - outside - beyond.amax(-2).clamp_max(0)


def _nearest_in_box(middle: Tensor, half: Tensor, box: Tensor) -> Tensor:
    """u [..., L] in [-1, 1] where middle + u half [..., 3, L] is nearest to a box of half sizes [3, L] around the origin.

    The slope of the squared distance rises with u and is piecewise linear, with corners where the line crosses the planes of
    the faces: it is zero between the last corner with a negative slope and the first with a positive one.
    """
    safe = torch.where(half.abs() < 1e-9, 1e-9, half)
    end = torch.ones_like(middle[..., :1, :])
    at = torch.cat([(box - middle) / safe, (-box - middle) / safe, -end, end], -2).clamp(-1, 1)
    slope = torch.zeros_like(at)
    for axis in range(3):
        along, limit = half[..., axis : axis + 1, :], box[axis]
        place = torch.addcmul(middle[..., axis : axis + 1, :], at, along)
        slope = torch.addcmul(slope, place - place.clamp(-limit, limit), along)
    low, high = torch.where(slope < -_FLAT, at, -1.0).amax(-2), torch.where(slope > _FLAT, at, 1.0).amin(-2)
    fall = -torch.where(slope < -_FLAT, slope, -float("inf")).amax(-2)
    rise = torch.where(slope > _FLAT, slope, float("inf")).amin(-2)
    crossing = torch.where(rise.isinf(), 1.0, low + (high - low) / (1 + rise / fall))
    flat = slope.abs() <= _FLAT
    first, last = torch.where(flat, at, 2.0).amin(-2), torch.where(flat, at, -2.0).amax(-2)
    return torch.where(first <= last, 0.5 * (first + last), crossing)


def _between_boxes(t: _Tables, placed: _Placed) -> Tensor:
    """[..., M] by the separating axis theorem: three axes of each box and the nine cross products of their edges."""
    one, other = t.box_pairs
    a, b = t.box_half
    turn_a, turn_b = placed.box_turn.index_select(-1, one), placed.box_turn.index_select(-1, other)
    between = placed.box_centre.index_select(-1, other) - placed.box_centre.index_select(-1, one)
    cosine = (turn_a.unsqueeze(-2) * turn_b.unsqueeze(-3)).sum(-4)
    along_a, along_b = _into(turn_a, between), _into(turn_b, between)
    size = cosine.abs()
    gap_a = along_a.abs() - a - (size * b).sum(-2)
    gap_b = along_b.abs() - b - (size * a.unsqueeze(-2)).sum(-3)
    (a1, a2), (b1, b2) = ((x.roll(-1, -2), x.roll(-2, -2)) for x in (a, b))
    apart = along_a.roll(-2, -2).unsqueeze(-2) * cosine.roll(-1, -3) - along_a.roll(-1, -2).unsqueeze(-2) * cosine.roll(-2, -3)
    reach_a = a1.unsqueeze(-2) * size.roll(-2, -3) + a2.unsqueeze(-2) * size.roll(-1, -3)
    reach_b = b1 * size.roll(-2, -2) + b2 * size.roll(-1, -2)
    sine = 1 - cosine.square()
    crossed = sine > _PARALLEL
    gap_edges = (apart.abs() - reach_a - reach_b) / torch.where(crossed, sine, 1.0).sqrt()
    gap_edges = torch.where(crossed, gap_edges, -float("inf")).flatten(-3, -2)
    return -torch.cat([gap_a, gap_b, gap_edges], -2).amax(-2)


def _into(turn: Tensor, v: Tensor) -> Tensor:
    """World vectors [..., 3, L] in frames whose axes are the columns of turn [..., 3, 3, L]."""
    return (turn * v.unsqueeze(-2)).sum(-3)
