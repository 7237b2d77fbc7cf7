"""MuJoCo geoms to the shapes a body is made of.

Spheres, capsules and boxes are kept. A cylinder becomes the capsule inside it, or, when flatter than wide, the box inside
it; an ellipsoid the capsule along its longest axis with the geometric mean of the other two as radius; a mesh the smaller of the
box and the capsule around its hull. Geoms that collide with nothing are drawings (by contype and conaffinity, however their
class or group is called): a character none of whose geoms collide is made of them, any other leaves them out.

Densities share the body's mass in MuJoCo (from geoms or from <inertial>) among its shapes as the geoms' masses do, so every
body weighs what it weighs in MuJoCo. Where the file tells the inertia, or a body has no shape, it is kept as it is told.
"""

import math
from collections.abc import Callable
from itertools import permutations

import mujoco
import numpy as np

from parc.character.body_shape import Box, Capsule, Shape, Sphere, Vector
from parc.character.character import Inertial
from parc.errors import CharacterError

_Make = Callable[[float], Shape]
"""a shape that still wants its density, kg/m3"""

_WATER = 1000.0
"""kg/m3, of the ball that stands for a body with mass and no geoms"""


def body_shapes(
    spec: mujoco.MjSpec, model: mujoco.MjModel, rest: mujoco.MjData, body: int, origin: np.ndarray, notes: list[str], drawn: bool
) -> tuple[Shape, ...]:
    """Shapes of a MuJoCo body in the world-aligned frame at `origin` (world, rest pose); `notes` gets what was approximated.

    `drawn`: its drawings are its shapes, as nothing of the character collides.
    """
    name = body_name(model, body)
    mass = float(model.body_mass[body])
    geoms = geoms_of(model, body) if drawn else [g for g in geoms_of(model, body) if collides(model, g)]
    if not geoms:
        if mass == 0:
            return ()
        if geoms_of(model, body) or body in model.body_parentid[1:]:
            why = "its geoms are drawings" if geoms_of(model, body) else "it has no geoms"
            notes.append(f"body '{name}' touches nothing: {why}")
            return ()
        notes.append(f"body '{name}' has mass but no geoms: a ball of water at its centre of mass stands for it")
        return (Sphere(vector(rest.xipos[body] - origin), (mass / _WATER * 3 / (4 * math.pi)) ** (1 / 3), _WATER),)

    makes = [_shape(model, rest, g, origin, notes) for g in geoms]
    volumes = [make(0.0).volume for make in makes]
    shares = [_declared_mass(spec, model, g, v) for g, v in zip(geoms, volumes, strict=True)]
    if sum(shares) == 0:
        shares = volumes
    return tuple(make(mass * s / sum(shares) / v) for make, s, v in zip(makes, shares, volumes, strict=True))


def body_name(model: mujoco.MjModel, body: int) -> str:
    """Of a body of a MuJoCo model, also of one without a name."""
    return model.body(body).name or f"body{body}"


def vector(v: np.ndarray) -> Vector:
    """Plain floats without the last digits' noise, so that mirrored bodies and reread files compare equal."""
    x, y, z = (round(float(x), 9) + 0.0 for x in v)
    return (x, y, z)


def body_inertial(
    spec: mujoco.MjSpec, model: mujoco.MjModel, rest: mujoco.MjData, body: int, origin: np.ndarray
) -> Inertial | None:
    """What the file says a body weighs, in the world-aligned frame at `origin`; None where its geoms say it."""
    source, mass = spec.bodies[body], float(model.body_mass[body])
    assert source.id == body
    if mass == 0 or not (source.explicitinertial or not any(collides(model, g) for g in geoms_of(model, body))):
        return None
    turn = rest.ximat[body].reshape(3, 3)
    full = turn @ np.diag(model.body_inertia[body]) @ turn.T
    moments = tuple(round(float(full[i, j]), 12) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))
    return Inertial(mass, vector(rest.xipos[body] - origin), moments)  # type: ignore[arg-type]


def geoms_of(model: mujoco.MjModel, body: int) -> list[int]:
    """All geoms of a MuJoCo body."""
    first = model.body_geomadr[body]
    return [int(g) for g in range(first, first + model.body_geomnum[body])]


def collides(model: mujoco.MjModel, geom: int) -> bool:
    """Whether a geom is more than a drawing."""
    return bool(model.geom_contype[geom] or model.geom_conaffinity[geom])


def _declared_mass(spec: mujoco.MjSpec, model: mujoco.MjModel, geom: int, shape_volume: float) -> float:
    source = spec.geoms[geom]
    assert source.id == geom
    if not math.isnan(source.mass):
        return float(source.mass)
    a, b, c = model.geom_size[geom]
    kind = model.geom_type[geom]
    if kind == mujoco.mjtGeom.mjGEOM_CYLINDER:
        return float(source.density * 2 * math.pi * a * a * b)
    if kind == mujoco.mjtGeom.mjGEOM_ELLIPSOID:
        return float(source.density * 4 / 3 * math.pi * a * b * c)
    return float(source.density * shape_volume)


def _shape(model: mujoco.MjModel, rest: mujoco.MjData, geom: int, origin: np.ndarray, notes: list[str]) -> _Make:
    centre, axes = rest.geom_xpos[geom] - origin, rest.geom_xmat[geom].reshape(3, 3)
    a, b, c = (float(x) for x in model.geom_size[geom])
    label = f"geom '{model.geom(geom).name or geom}' of body '{body_name(model, model.geom_bodyid[geom])}'"
    kinds = mujoco.mjtGeom
    match model.geom_type[geom]:
        case kinds.mjGEOM_SPHERE:
            return _capsule(centre, axes[:, 2], a, 0.0)
        case kinds.mjGEOM_CAPSULE:
            return _capsule(centre, axes[:, 2], a, b)
        case kinds.mjGEOM_BOX:
            return _box(centre, axes, np.array([a, b, c]))
        case kinds.mjGEOM_CYLINDER:
            if b < a:
                notes.append(f"{label} is a flat cylinder, read as the box inside it")
                return _box(centre, axes, np.array([a / math.sqrt(2), a / math.sqrt(2), b]))
            notes.append(f"{label} is a cylinder, read as the capsule inside it")
            return _capsule(centre, axes[:, 2], a, b - a)
        case kinds.mjGEOM_ELLIPSOID:
            notes.append(f"{label} is an ellipsoid, read as a capsule")
            longest = int(np.argmax([a, b, c]))
            small, middle, long = sorted((a, b, c))
            radius = math.sqrt(small * middle)
            return _capsule(centre, axes[:, longest], radius, long - radius)
        case kinds.mjGEOM_MESH:
            middle_of_box, half = model.geom_aabb[geom, :3], np.maximum(model.geom_aabb[geom, 3:], 1e-4)
            place = centre + axes @ middle_of_box
            longest, radius, reach = _capsule_around(_mesh_points(model, geom) - middle_of_box)
            if math.pi * radius**2 * (2 * reach + 4 / 3 * radius) < 8 * math.prod(half):
                notes.append(f"{label} is a mesh, read as the capsule around it")
                return _capsule(place, axes[:, longest], radius, reach)
            notes.append(f"{label} is a mesh, read as its bounding box")
            return _box(place, axes, half)
        case other:
            raise CharacterError(
                f"{label} is of type {kinds(other).name}; only sphere, capsule, box, cylinder, ellipsoid and mesh can be read"
            )


def _mesh_points(model: mujoco.MjModel, geom: int) -> np.ndarray:
    mesh = int(model.geom_dataid[geom])
    first = model.mesh_vertadr[mesh]
    return np.asarray(model.mesh_vert[first : first + model.mesh_vertnum[mesh]], dtype=np.float64)


def _capsule_around(points: np.ndarray) -> tuple[int, float, float]:
    """Axis (0, 1, 2), radius and half length of the capsule around points [N, 3], centred at the origin."""
    longest = int(np.abs(points).max(0).argmax())
    beside = np.linalg.norm(np.delete(points, longest, axis=1), axis=1)
    radius = float(beside.max())
    return longest, radius, max(float((np.abs(points[:, longest]) - np.sqrt(np.maximum(radius**2 - beside**2, 0))).max()), 0.0)


def _capsule(centre: np.ndarray, axis: np.ndarray, radius: float, half_length: float) -> _Make:
    if half_length < 1e-6:
        return lambda density: Sphere(vector(centre), radius, density)
    start, end = vector(centre - half_length * axis), vector(centre + half_length * axis)
    return lambda density: Capsule(start, end, radius, density)


def _box(centre: np.ndarray, axes: np.ndarray, half: np.ndarray) -> _Make:
    """A box whose edges lie along the body's axes keeps no rotation: its sides are renamed instead."""
    place = vector(centre)
    for order in permutations(range(3)):
        if all(abs(axes[row, column]) > 1 - 1e-9 for row, column in enumerate(order)):
            sides = vector(half[list(order)])
            return lambda density: Box(place, sides, density)
    quat = np.zeros(4)
    mujoco.mju_mat2Quat(quat, axes.flatten())
    w, x, y, z = (float(v) for v in (-quat if quat[0] < 0 else quat))
    sides = vector(half)
    return lambda density: Box(place, sides, density, (x, y, z, w))
