"""A body made of rigid parts: `Character` is the one description that kinematics, physics and files share.

Conventions: z up, x forward, y left, metres, kilograms, radians. In the zero pose every body frame is aligned
with the world, so a body is placed by its `offset` from the parent's origin alone. A joint turns its body about
the body's own origin. Bodies are listed parents first; body 0 is the free root and has no joint.

A joint has `axes`: none is fixed, one is a hinge (its coordinate is an angle), two are hinges in sequence,
three is a ball (its coordinates are an exponential map in the parent frame, `axes` being x, y, z).
"""

import json
import math
from dataclasses import dataclass, field
from functools import cached_property

from parc.character.body_shape import Shape
from parc.errors import CharacterError
from parc.run.hashing import hash_text

Vector = tuple[float, float, float]
BALL_AXES: tuple[Vector, ...] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def _plain(v: Vector) -> list[float]:
    """Rounded, and 0, 0.0 and -0.0 written alike."""
    return [round(float(x), 6) + 0.0 for x in v]


@dataclass(frozen=True)
class Motor:
    """See `Joint` for the units and meanings."""

    stiffness: float
    damping: float
    armature: float
    torque_limit: float
    weight: float


@dataclass(frozen=True)
class Joint:
    """How a body turns against its parent, and the motor that turns it."""

    axes: tuple[Vector, ...] = ()
    """unit axes in the parent frame, see the module's docstring"""
    lower: tuple[float, ...] = ()
    """rad, one for each axis"""
    upper: tuple[float, ...] = ()
    """rad, one for each axis"""
    stiffness: float = 0.0
    """kp of the PD motor, N m / rad"""
    damping: float = 0.0
    """kd of the PD motor, N m s / rad"""
    armature: float = 0.0
    """rotor inertia, kg m2"""
    torque_limit: float = 0.0
    """N m"""
    weight: float = 0.0
    """weight in the tracker's pose reward"""
    speed_limit: float = 0.0
    """rad/s that the motor reaches at most; 0: none is known"""

    @property
    def dof(self) -> int:
        return len(self.axes)

    @property
    def is_ball(self) -> bool:
        return len(self.axes) == 3

    @property
    def is_hinge(self) -> bool:
        return len(self.axes) == 1


@dataclass(frozen=True)
class Inertial:
    """Mass of a body where its shapes do not tell: a robot's links are weighed, and their shapes only touch."""

    mass: float
    """kg"""
    centre: Vector
    """centre of mass in the body frame, m"""
    moments: tuple[float, float, float, float, float, float]
    """xx, yy, zz, xy, xz, yz of the inertia about the centre of mass, along the body frame's axes, kg m2"""


@dataclass(frozen=True)
class Landmark:
    """A place of a human body on a character: where its knee is, where its palm."""

    place: str
    """as `parc.mocap.read.joint_naming.PLACES` calls it: left_knee, right_wrist, head"""
    body: int
    """index of the body it is fixed to"""
    point: Vector = (0.0, 0.0, 0.0)
    """in the frame of that body, m"""


@dataclass(frozen=True)
class Body:
    """A rigid part of a character and the joint by which it hangs on its parent."""

    name: str
    parent: int
    """index of the parent body, -1 for the root"""
    offset: Vector
    """origin in the parent's frame, m"""
    joint: Joint = Joint()
    shapes: tuple[Shape, ...] = ()
    is_key: bool = False
    """end effectors: the key bodies of the tracking reward"""
    is_foot: bool = False
    inertial: Inertial | None = None
    """what it weighs; None: what its shapes weigh"""

    @property
    def mass(self) -> float:
        """kg"""
        return self.inertial.mass if self.inertial is not None else sum(s.mass for s in self.shapes)


@dataclass(frozen=True)
class Character:
    """A tree of bodies with joints, shapes and masses; parents come before their children."""

    name: str
    bodies: tuple[Body, ...]
    mirror_of: tuple[int, ...] | None = field(default=None)
    """body index of each body's mirror image in the plane y = 0; None if the body is not symmetric"""
    landmarks: tuple[Landmark, ...] = ()
    """places of a human body on it, for motions of people; those not named are found by the bodies' names or by geometry"""

    def __post_init__(self) -> None:
        if not self.bodies:
            raise CharacterError(f"character '{self.name}' has no bodies")
        names = [b.name for b in self.bodies]
        if len(set(names)) != len(names):
            raise CharacterError(f"character '{self.name}' has two bodies of one name: {sorted(names)}")
        for i, body in enumerate(self.bodies):
            if (i == 0) != (body.parent == -1) or body.parent >= i:
                raise CharacterError(f"body '{body.name}' must come after its parent, and only body 0 is the root")
            j = body.joint
            if not len(j.axes) == len(j.lower) == len(j.upper) or len(j.axes) > 3:
                raise CharacterError(f"joint of '{body.name}' needs a lower and an upper limit for each of its 0-3 axes")
            if i == 0 and j.axes:
                raise CharacterError(f"root body '{body.name}' has a joint, but the root moves freely and must have none")
            if any(not lower <= upper for lower, upper in zip(j.lower, j.upper, strict=True)):
                raise CharacterError(f"joint of '{body.name}' has a lower limit above its upper: {j.lower} and {j.upper}")
            if any(abs(math.hypot(*axis) - 1) > 1e-4 for axis in j.axes):
                raise CharacterError(f"joint of '{body.name}' has an axis that is not of unit length: {j.axes}")
            if j.dof == 3 and j.axes != BALL_AXES:
                raise CharacterError(f"ball joint of '{body.name}' must have the axes x, y, z, not {j.axes}")
            if j.dof == 2 and abs(sum(a * b for a, b in zip(*j.axes, strict=True))) > 1e-3:
                raise CharacterError(f"the two axes of the joint of '{body.name}' are not perpendicular: {j.axes}")
        mirror = self.mirror_of
        if mirror is not None and [mirror[m] if 0 <= m < len(mirror) else -1 for m in mirror] != list(range(len(self.bodies))):
            raise CharacterError(
                f"mirror_of of character '{self.name}' must pair its {len(self.bodies)} bodies, got {self.mirror_of}"
            )

    def __hash__(self) -> int:
        """By the cached fingerprint: characters key the caches of device constants on hot paths."""
        return hash(self.fingerprint)

    def __len__(self) -> int:
        return len(self.bodies)

    @property
    def num_bodies(self) -> int:
        return len(self.bodies)

    @property
    def num_joints(self) -> int:
        """Bodies other than the root; rotations of fixed ones are the identity but take a place in files."""
        return len(self.bodies) - 1

    @cached_property
    def num_dof(self) -> int:
        return sum(b.joint.dof for b in self.bodies)

    @cached_property
    def dof_start(self) -> tuple[int, ...]:
        """First coordinate of each body's joint in the DoF vector."""
        starts, total = [], 0
        for b in self.bodies:
            starts.append(total)
            total += b.joint.dof
        return tuple(starts)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(b.name for b in self.bodies)

    @cached_property
    def parents(self) -> tuple[int, ...]:
        return tuple(b.parent for b in self.bodies)

    @cached_property
    def levels(self) -> tuple[tuple[int, ...], ...]:
        """Bodies by depth, root excluded: each level is one batched step of forward kinematics."""
        depth = [0] * len(self.bodies)
        for i, b in enumerate(self.bodies[1:], 1):
            depth[i] = depth[b.parent] + 1
        return tuple(tuple(i for i, d in enumerate(depth) if d == level) for level in range(1, max(depth) + 1))

    @cached_property
    def feet(self) -> tuple[int, ...]:
        return tuple(i for i, b in enumerate(self.bodies) if b.is_foot)

    @cached_property
    def key_bodies(self) -> tuple[int, ...]:
        return tuple(i for i, b in enumerate(self.bodies) if b.is_key)

    @cached_property
    def mass(self) -> float:
        """kg"""
        return sum(s.mass for b in self.bodies for s in b.shapes) if not self.is_weighed else sum(b.mass for b in self.bodies)

    @cached_property
    def is_weighed(self) -> bool:
        """Whether any body's mass is told beside its shapes."""
        return any(b.inertial is not None for b in self.bodies)

    @cached_property
    def is_hinged(self) -> bool:
        """Whether all joints are hinges, as robots have: their ranges are exact, and motions keep inside them."""
        return all(b.joint.dof <= 1 for b in self.bodies)

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the kinematic structure; data and weights made for another one are refused."""
        structure = [(b.name, b.parent, _plain(b.offset), [_plain(a) for a in b.joint.axes]) for b in self.bodies]
        return hash_text(json.dumps(structure))[:16]

    def index(self, name: str) -> int:
        try:
            return self.names.index(name)
        except ValueError:
            raise CharacterError(f"no body '{name}' in character '{self.name}'; it has {', '.join(self.names)}") from None
