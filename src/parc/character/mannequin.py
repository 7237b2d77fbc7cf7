"""A mannequin: one smooth closed skin around a character, with the weights by which it follows the bodies.

The skin is the surface where a smooth union of the bodies' forms is zero, found by surface nets (Gibson 1998): a vertex in every
cell of a grid that the surface passes through, then moved onto the surface. A vertex follows the bodies by how near their forms
are, among the nearest body and its neighbours in the tree; the weights are smoothed over the skin.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from parc.character.character import Character
from parc.character.mannequin_forms import Form, RoundBox, mannequin_forms
from parc.errors import CharacterError

Array = NDArray[np.float64]


@dataclass(frozen=True)
class MannequinSettings:
    """How finely and how softly the skin is made."""

    cell: float = 0.018
    """m of the grid in which the skin is found, about the length of an edge"""
    blend: float = 0.016
    """m over which forms that touch flow into each other"""
    joint: float = 0.035
    """m over which the skin goes over from one body to the next"""
    smoothing: int = 6
    """times each vertex's weights are averaged with its neighbours'"""

    def __post_init__(self) -> None:
        if not 0.004 <= self.cell <= 0.1:
            raise CharacterError(f"a mannequin of cells of {self.cell} m was asked for, expected 0.004 to 0.1")
        if not (self.blend > 0 and self.joint > 0 and self.smoothing >= 0):
            raise CharacterError(f"blend {self.blend} m, joint {self.joint} m, smoothing {self.smoothing}: expected more than 0")


@dataclass(frozen=True, eq=False)
class Mannequin:
    """The skin in the zero pose and the bodies that its vertices follow."""

    vertices: Array
    """[V, 3] m in the zero pose, root at the origin"""
    normals: Array
    """[V, 3]"""
    faces: NDArray[np.int64]
    """[F, 3] counter-clockwise from outside"""
    joints: NDArray[np.int64]
    """[V, 4] the bodies that each vertex follows"""
    weights: Array
    """[V, 4] how much, in falling order; sum 1"""
    origins: Array
    """[B, 3] m, the bodies' origins in the zero pose"""

    def posed(self, pos: Array, rot: Array) -> Array:
        """[V, 3] the skin of bodies at pos [B, 3], turned by the matrices rot [B, 3, 3] (linear blend skinning)."""
        local = self.vertices[:, None] - self.origins[self.joints]
        moved = np.einsum("vkij,vkj->vki", rot[self.joints], local) + pos[self.joints]
        return (self.weights[..., None] * moved).sum(1)

    def dense_weights(self) -> Array:
        """[V, B]"""
        dense = np.zeros((len(self.vertices), len(self.origins)))
        np.put_along_axis(dense, self.joints, self.weights, axis=1)
        return dense


@lru_cache(maxsize=4)
def mannequin(character: Character, settings: MannequinSettings = MannequinSettings()) -> Mannequin:
    """The skin of a character; the same object for the same question."""
    forms = mannequin_forms(character)
    if not any(forms):
        raise CharacterError(f"character '{character.name}' has no shapes, so it has no skin")
    origins = np.zeros((len(character), 3))
    for index, body in enumerate(character.bodies[1:], 1):
        origins[index] = origins[body.parent] + body.offset
    solid = _Solid(forms, origins, settings.blend)
    vertices, quads = _surface_net(solid, *solid.bounds(2 * settings.cell), settings.cell)
    vertices, quads = _largest_part(vertices, quads)
    for _ in range(2):  # Newton steps along the gradient onto the surface
        vertices = vertices - _towards_surface(solid, vertices)
    normals = solid.gradient(vertices)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    faces = _triangles(vertices, quads)
    joints, weights = _skin_weights(character, solid, vertices, faces, settings)
    return Mannequin(vertices, normals, faces, joints, weights, origins)


class _Solid:
    """The smooth union of all forms: negative inside, about m outside."""

    def __init__(self, forms: list[list[Form]], origins: Array, blend: float) -> None:
        self._forms, self._origins, self._blend = forms, origins, blend

    def bounds(self, margin: float) -> tuple[Array, Array]:
        corners = []
        for own, origin in zip(self._forms, self._origins, strict=True):
            for form in own:
                if isinstance(form, RoundBox):
                    middle, half = np.array(form.centre), np.array(form.half)
                    corners += [origin + middle - half, origin + middle + half]
                else:
                    for centre, radius in zip(form.points, form.radii, strict=True):
                        reach = 1.2 * radius * max(1.0, *form.scale)
                        corners += [origin + np.array(centre) - reach, origin + np.array(centre) + reach]
        return np.min(corners, 0) - margin, np.max(corners, 0) + margin

    def by_body(self, points: Array) -> Array:
        """[N, B] distances from the smooth union of each body's own forms; infinite for a body without."""
        columns = []
        for own, origin in zip(self._forms, self._origins, strict=True):
            away = [_distance(form, points - origin) for form in own]
            columns.append(_smooth_least(np.stack(away, -1), self._blend) if away else np.full(len(points), np.inf))
        return np.stack(columns, -1)

    def __call__(self, points: Array) -> Array:
        """[N]"""
        return _smooth_least(self.by_body(points), self._blend)

    def gradient(self, points: Array, step: float = 1e-4) -> Array:
        shifts = step * np.eye(3)
        return np.stack([(self(points + s) - self(points - s)) / (2 * step) for s in shifts], -1)


def _smooth_least(values: Array, width: float) -> Array:
    """The least along the last axis, rounded where two are about equal: -w log sum exp(-v / w) with its overshoot taken off.

    Two equal values give width * log 2 less than either; three or more, which meet in a joint, no more than twice that.
    """
    least = values.min(-1, keepdims=True)
    scale = 0.5 * width
    return least[..., 0] - scale * np.log(np.exp(-(values - least) / scale).sum(-1))


def _distance(form: Form, points: Array) -> Array:
    """[N] m from a form."""
    if isinstance(form, RoundBox):
        over = np.abs(points - form.centre) - (np.array(form.half) - form.rounding)
        return np.linalg.norm(np.maximum(over, 0), axis=-1) + np.minimum(over.max(-1), 0) - form.rounding
    scale = np.array(form.scale)
    centres = np.array(form.points)
    middle = 0.5 * (centres[0] + centres[-1])
    centres, places = (centres - middle) / scale, (points - middle) / scale
    if len(centres) == 1:
        near = np.linalg.norm(places - centres[0], axis=-1) - form.radii[0]
    else:
        steps = range(len(centres) - 1)
        near = np.min([_round_cone(places, *centres[k : k + 2], *form.radii[k : k + 2]) for k in steps], axis=0)
    return near * float(scale.min())


def _round_cone(p: Array, a: Array, b: Array, r1: float, r2: float) -> Array:
    """[N] distance from the hull of two balls: the nearest ball of those between, whose radii go from r1 to r2."""
    ba, pa = b - a, p - a
    length = max(float(ba @ ba), 1.0001 * (r1 - r2) ** 2, 1e-12)  # two balls in one place are one ball
    along = pa @ ba / length
    side = np.linalg.norm(pa - along[:, None] * ba, axis=-1)
    # The nearest ball lies where the cone's wall is met at a right angle: further on by the slope of the wall.
    slope = (r1 - r2) / np.sqrt(length - (r1 - r2) ** 2)
    at = np.clip(along - side * slope / np.sqrt(length), 0, 1)
    return np.linalg.norm(pa - at[:, None] * ba, axis=-1) - (r1 + at * (r2 - r1))


def _surface_net(solid: _Solid, low: Array, high: Array, cell: float) -> tuple[Array, NDArray[np.int64]]:
    """Vertices [V, 3] and quads [Q, 4] where the solid is zero; the grid is symmetric in y, as characters are."""
    low, high = low.copy(), high.copy()
    reach = max(abs(low[1]), abs(high[1]))
    low[1], high[1] = -reach, reach
    count = np.ceil((high - low) / cell).astype(int) + 1
    low = 0.5 * (low + high) - 0.5 * cell * (count - 1)
    axes = [low[k] + cell * np.arange(count[k]) for k in range(3)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), -1)
    value = _near_surface(solid, grid, cell)
    inside = value < 0
    # In each cell the mean of the places where its twelve edges cross the surface.
    total = np.zeros((*(count - 1), 3))
    crossings = np.zeros(count - 1)
    for axis in range(3):
        first, second = _ends(value, axis)
        crosses = (first < 0) != (second < 0)
        share = np.where(crosses, first / np.where(crosses, first - second, 1.0), 0.0)
        place = _ends(grid, axis)[0] + share[..., None] * cell * np.eye(3)[axis]
        others = [k for k in range(3) if k != axis]
        for u in (0, 1):
            for v in (0, 1):
                window = [slice(None)] * 3
                window[others[0]] = slice(u, count[others[0]] - 1 + u)
                window[others[1]] = slice(v, count[others[1]] - 1 + v)
                part = tuple(window)
                total += np.where(crosses[part][..., None], place[part], 0.0)
                crossings += crosses[part]
    used = crossings > 0
    number = np.full(used.shape, -1)
    number[used] = np.arange(int(used.sum()))
    vertices = total[used] / crossings[used][:, None]
    quads = []
    for axis in range(3):  # every crossed edge is the middle of a quad of the four cells around it
        a, b = (axis + 1) % 3, (axis + 2) % 3
        first, second = _ends(inside, axis)
        i = np.argwhere(first != second)
        i = i[(i[:, a] > 0) & (i[:, b] > 0) & (i[:, a] < count[a] - 1) & (i[:, b] < count[b] - 1)]
        corners = [number[tuple((i - da * np.eye(3, dtype=int)[a] - db * np.eye(3, dtype=int)[b]).T)]
                   for da, db in ((1, 1), (0, 1), (0, 0), (1, 0))]  # fmt: skip
        quad = np.stack(corners, -1)
        outwards = first[tuple(i.T)]
        quads.append(np.where(outwards[:, None], quad, quad[:, ::-1]))
    return vertices, np.concatenate(quads)


def _near_surface(solid: _Solid, grid: Array, cell: float, stride: int = 4) -> Array:
    """The solid at the points of a grid; exact near the surface, elsewhere that of the point of a coarse grid beside it."""
    coarse = grid[::stride, ::stride, ::stride]
    rough = solid(coarse.reshape(-1, 3)).reshape(coarse.shape[:-1])
    places = [np.minimum((np.arange(grid.shape[k]) + stride // 2) // stride, rough.shape[k] - 1) for k in range(3)]
    value = rough[np.ix_(*places)]
    close = np.abs(value) < 1.3 * cell * stride
    value[close] = solid(grid[close])
    return value


def _ends(values: NDArray, axis: int) -> tuple[NDArray, NDArray]:
    """Of all edges of the grid along an axis."""
    size = values.shape[axis]
    return np.take(values, range(size - 1), axis), np.take(values, range(1, size), axis)


def _largest_part(vertices: Array, quads: NDArray[np.int64]) -> tuple[Array, NDArray[np.int64]]:
    """A character whose bodies do not touch keeps all of them; crumbs of a few cells are left out."""
    label = np.arange(len(vertices))
    while True:  # the least number spreads over each connected part
        least = label[quads].min(1)
        before = label.copy()
        for k in range(4):
            np.minimum.at(label, quads[:, k], least)
        label = label[label]
        if (label == before).all():
            break
    sizes = np.bincount(label, minlength=len(vertices))
    kept = sizes[label] > 40
    number = np.cumsum(kept) - 1
    return vertices[kept], number[quads[kept[quads].all(1)]]


def _towards_surface(solid: _Solid, points: Array) -> Array:
    slope = solid.gradient(points)
    return solid(points)[:, None] * slope / np.maximum((slope**2).sum(-1, keepdims=True), 0.05)


def _triangles(vertices: Array, quads: NDArray[np.int64]) -> NDArray[np.int64]:
    """Each quad cut along its shorter diagonal."""
    p = vertices[quads]
    short = np.linalg.norm(p[:, 0] - p[:, 2], axis=-1) <= np.linalg.norm(p[:, 1] - p[:, 3], axis=-1)
    one = quads[:, [0, 1, 2, 0, 2, 3]]
    other = quads[:, [1, 2, 3, 1, 3, 0]]
    return np.where(short[:, None], one, other).reshape(-1, 3)


def _skin_weights(
    character: Character, solid: _Solid, vertices: Array, faces: NDArray[np.int64], settings: MannequinSettings
) -> tuple[NDArray[np.int64], Array]:
    away = solid.by_body(vertices)
    nearest = away.argmin(-1)
    parents = np.array([body.parent for body in character.bodies])
    related = np.eye(len(parents), dtype=bool)
    for child, parent in enumerate(parents):
        if parent >= 0:
            related[child, parent] = related[parent, child] = True
    over = np.where(related[nearest], away - away.min(-1, keepdims=True), np.inf)
    dense = np.exp(-over / (0.5 * settings.joint))
    dense /= dense.sum(-1, keepdims=True)
    # Averaging with the neighbours on the skin takes away the steps where the nearest body changes.
    edges = np.unique(np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1), axis=0)
    both = np.concatenate([edges, edges[:, ::-1]])
    degree = np.bincount(both[:, 0], minlength=len(vertices))[:, None]
    for _ in range(settings.smoothing):
        around = np.stack([np.bincount(both[:, 0], w[both[:, 1]], len(vertices)) for w in dense.T], -1)
        dense = 0.5 * dense + 0.5 * around / np.maximum(degree, 1)
    count = min(4, dense.shape[1])
    joints = np.argsort(-dense, axis=-1, kind="stable")[:, :count]
    weights = np.take_along_axis(dense, joints, axis=1)
    weights = np.where(weights < 0.01, 0.0, weights)
    weights /= weights.sum(-1, keepdims=True)
    pad = ((0, 0), (0, 4 - count))
    return np.pad(joints, pad), np.pad(weights, pad)
