"""Find which body is the mirror image of which, in the plane y = 0, from geometry.

Body j is the image of body i if its parent is the image of i's parent, its offset is i's with y negated, and its joint
turns likewise: a reflection maps a turn by t about (x, y, z) to a turn by t about (-x, y, -z), so j's axes must be these
or their negatives, the latter with the limits negated and swapped. Shapes need only fill the same reflected space, since
modellers cut meshes as they like. Where several bodies qualify, names that differ by left and right decide.
"""

import re
from collections.abc import Sequence

from parc.character.character import Body, Joint

_OFFSET_TOLERANCE = 1e-3
"""m"""
_EXTENT_TOLERANCE = 0.02
"""m"""
_LIMIT_TOLERANCE = 0.05
"""rad"""
_AXIS_TOLERANCE = 1e-3

_SIDE = re.compile(r"left|right|(?<![a-z])[lr](?![a-z])|[LR](?![a-zLR])", re.ASCII)
_SIDE_ANY_CASE = re.compile(r"left|right", re.IGNORECASE)
_OTHER = {"left": "right", "right": "left", "l": "r", "r": "l"}


def find_mirror(bodies: Sequence[Body]) -> tuple[int, ...] | None:
    """Index of each body's mirror image (of itself in the middle), or None if any body has none."""
    image: list[int] = []
    for i, body in enumerate(bodies):
        parent = -1 if body.parent < 0 else image[body.parent]
        fits = [j for j, other in enumerate(bodies) if other.parent == parent and j not in image and _is_image(body, other)]
        if i in image:
            fits = [j for j in fits if j == image.index(i)]
        if not fits:
            return None
        image.append(max(fits, key=lambda j: (other_side(body.name) == bodies[j].name, j == i)))
    return tuple(image) if all(image[j] == i for i, j in enumerate(image)) else None


def other_side(name: str) -> str:
    """The name with left and right exchanged: left/right in any case, l and r as words of their own, capital L and R."""

    def swap(match: re.Match[str]) -> str:
        side = match.group()
        other = _OTHER[side.lower()]
        return other.upper() if side.isupper() else other.capitalize() if side[0].isupper() else other

    return (_SIDE_ANY_CASE if _SIDE_ANY_CASE.search(name) else _SIDE).sub(swap, name)


def _is_image(body: Body, other: Body) -> bool:
    x, y, z = body.offset
    same_place = _near((x, -y, z), other.offset, _OFFSET_TOLERANCE)
    return same_place and _turns_alike(body.joint, other.joint) and _fills_alike(body, other)


def _turns_alike(joint: Joint, other: Joint) -> bool:
    if joint.dof != other.dof:
        return False
    for k, (x, y, z) in enumerate(joint.axes):
        limits = (joint.lower[k], joint.upper[k])
        if _near((-x, y, -z), other.axes[k], _AXIS_TOLERANCE):
            expected = limits
        elif _near((x, -y, z), other.axes[k], _AXIS_TOLERANCE):
            expected = (-limits[1], -limits[0])
        else:
            return False
        if not _near(expected, (other.lower[k], other.upper[k]), _LIMIT_TOLERANCE):
            return False
    return True


def _fills_alike(body: Body, other: Body) -> bool:
    if not body.shapes or not other.shapes:
        return not body.shapes and not other.shapes
    (low, high), (other_low, other_high) = extent(body), extent(other)
    reflected_low, reflected_high = (low[0], -high[1], low[2]), (high[0], -low[1], high[2])
    return _near(reflected_low, other_low, _EXTENT_TOLERANCE) and _near(reflected_high, other_high, _EXTENT_TOLERANCE)


def extent(body: Body) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Lowest and highest corner of the body's shapes along the axes of its frame; its origin if it has none."""
    bounds = [s.bounds for s in body.shapes] or [((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))]
    lows, highs = zip(*bounds, strict=True)
    return tuple(min(v) for v in zip(*lows, strict=True)), tuple(max(v) for v in zip(*highs, strict=True))


def _near(a: Sequence[float], b: Sequence[float], tolerance: float) -> bool:
    return all(abs(p - q) <= tolerance for p, q in zip(a, b, strict=True))
