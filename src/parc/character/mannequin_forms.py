"""What a mannequin is modelled from: tubes of round ends in the frames of the bodies, one list a body.

A tube is the hull of each two balls that follow one another. The humanoid's forms are drawn by hand, close
around its collision shapes; another character gets its own shapes and a tube from each joint to the next.
"""

from dataclasses import dataclass

from parc.character.body_shape import Box, Capsule, Sphere, Vector
from parc.character.character import Character
from parc.character.humanoid import humanoid

_EVEN: Vector = (1.0, 1.0, 1.0)


@dataclass(frozen=True)
class Tube:
    """Balls in a row, and the hull of each two neighbours."""

    points: tuple[Vector, ...]
    """m, centres of balls in the frame of the body"""
    radii: tuple[float, ...]
    """m, of the balls; between two of them the tube tapers"""
    scale: Vector = _EVEN
    """stretch along x, y, z about the middle of the centres"""


@dataclass(frozen=True)
class RoundBox:
    """A box along the axes of the body with rounded edges."""

    centre: Vector
    half: Vector
    """m, rounding included"""
    rounding: float
    """m, radius of the edges"""


Form = Tube | RoundBox


def mannequin_forms(character: Character) -> list[list[Form]]:
    """The forms of each body of a character; empty for a body that has none."""
    if character.names == humanoid().names:
        forms = {**_TRUNK, **_sided(_RIGHT)}
        return [forms[name] for name in character.names]
    return _from_shapes(character)


def _ball(centre: Vector, radius: float, scale: Vector = _EVEN) -> Tube:
    return Tube((centre,), (radius,), scale)


def _across(x: float, half_width: float, z: float, radius: float, scale: Vector = _EVEN) -> Tube:
    """From side to side of the trunk."""
    return Tube(((x, -half_width, z), (x, half_width, z)), (radius, radius), scale)


_TRUNK: dict[str, list[Form]] = {
    "pelvis": [
        Tube(((-0.006, 0, 0.005), (-0.002, 0, 0.09), (0.003, 0, 0.2)), (0.096, 0.088, 0.083), (0.98, 1.38, 0.92)),
        _across(-0.036, 0.05, -0.016, 0.068),
    ],
    "torso": [
        Tube(((0.003, 0, -0.03), (0.002, 0, 0.06), (-0.004, 0, 0.16)), (0.083, 0.093, 0.104), (1.02, 1.42, 0.92)),
        _across(0.044, 0.06, 0.155, 0.05, (1.0, 1.1, 1.0)),
        Tube(((-0.02, -0.16, 0.24), (-0.018, 0.0, 0.222), (-0.02, 0.16, 0.24)), (0.052, 0.07, 0.052)),
    ],
    "head": [
        Tube(((-0.016, 0.0, -0.01), (-0.002, 0.0, 0.1)), (0.056, 0.05)),
        _ball((-0.006, 0.0, 0.185), 0.092, (1.06, 0.86, 1.04)),
        Tube(((0.026, 0.0, 0.165), (0.042, 0.0, 0.108)), (0.066, 0.042), (1.0, 0.92, 1.0)),
        Tube(((0.086, 0.0, 0.182), (0.098, 0.0, 0.157)), (0.009, 0.013)),
    ],
}

_RIGHT: dict[str, list[Form]] = {
    "right_upper_arm": [
        _ball((-0.003, -0.004, 0.0), 0.064, (0.98, 1.05, 1.0)),
        Tube(((0, -0.02, 0), (0.003, -0.12, 0), (0, -0.2, 0), (0, -0.275, 0)), (0.056, 0.05, 0.044, 0.039)),
    ],
    "right_lower_arm": [
        Tube(((0, 0, 0), (0.002, -0.07, 0), (0, -0.16, 0), (0, -0.24, 0)), (0.039, 0.045, 0.037, 0.028), (1.04, 1.0, 0.96)),
    ],
    "right_hand": [
        Tube(((0, 0.03, 0), (0.002, -0.01, 0), (0.006, -0.034, -0.008)), (0.026, 0.041, 0.034), (1.05, 1.0, 0.82)),
        Tube(((0.026, 0.004, -0.006), (0.042, -0.03, -0.012)), (0.016, 0.014)),
    ],
    "right_thigh": [
        Tube(
            ((-0.004, -0.006, -0.01), (0.006, -0.006, -0.16), (0.004, -0.002, -0.3), (0, 0, -0.4)),
            (0.078, 0.07, 0.056, 0.049),
        ),
        Tube(((-0.02, 0.006, -0.12), (-0.014, 0, -0.33)), (0.055, 0.042)),
    ],
    "right_shin": [
        Tube(((0.004, 0, 0), (0.002, 0, -0.12), (-0.004, 0, -0.26), (-0.006, 0, -0.4)), (0.049, 0.046, 0.039, 0.034)),
        Tube(((-0.018, 0, -0.06), (-0.026, 0, -0.13), (-0.014, 0, -0.24)), (0.04, 0.042, 0.034)),
    ],
    "right_foot": [
        RoundBox((0.045, 0, -0.03), (0.088, 0.042, 0.017), 0.0155),
        Tube(((-0.006, 0, 0.012), (0.034, 0, -0.002), (0.09, 0, -0.022)), (0.036, 0.034, 0.02)),
        _ball((-0.012, 0, -0.012), 0.034),
    ],
}


def _sided(right: dict[str, list[Form]]) -> dict[str, list[Form]]:
    """The right side and its reflection in y = 0."""
    left = {name.replace("right_", "left_"): [_reflected(form) for form in forms] for name, forms in right.items()}
    return {**right, **left}


def _reflected(form: Form) -> Form:
    if isinstance(form, RoundBox):
        return RoundBox(_flip(form.centre), form.half, form.rounding)
    return Tube(tuple(_flip(point) for point in form.points), form.radii, form.scale)


def _flip(v: Vector) -> Vector:
    return (v[0], -v[1], v[2])


def _from_shapes(character: Character) -> list[list[Form]]:
    """Each body's own shapes, and a cone that bridges the gap to each child's joint."""
    forms: list[list[Form]] = []
    for body in character.bodies:
        own: list[Form] = []
        for shape in body.shapes:
            if isinstance(shape, Sphere):
                own.append(_ball(shape.centre, shape.radius))
            elif isinstance(shape, Capsule):
                own.append(Tube((shape.start, shape.end), (shape.radius, shape.radius)))
            else:
                own.append(RoundBox(shape.centre, _half_along_axes(shape), 0.3 * min(shape.half)))
        forms.append(own)
    for index, body in enumerate(character.bodies):
        if body.parent >= 0 and body.shapes and character.bodies[body.parent].shapes:
            radius = 0.8 * min(_thickness(index, character), _thickness(body.parent, character))
            origin: Vector = (0.0, 0.0, 0.0)
            near = min(_centres(forms[body.parent]), key=lambda c: sum((a - b) ** 2 for a, b in zip(c, body.offset, strict=True)))
            forms[body.parent].append(Tube((near, body.offset), (radius, radius)))
            own = forms[index]
            near = min(_centres(own), key=lambda c: sum(a * a for a in c))
            own.append(Tube((origin, near), (radius, radius)))
    return forms


def _centres(forms: list[Form]) -> list[Vector]:
    return [c for form in forms for c in ((form.centre,) if isinstance(form, RoundBox) else form.points)]


def _half_along_axes(box: Box) -> Vector:
    """A turned box is taken for the upright one around it."""
    low, high = box.bounds
    x, y, z = (0.5 * (b - a) for a, b in zip(low, high, strict=True))
    return x, y, z


def _thickness(index: int, character: Character) -> float:
    """m, half the thinnest shape of a body."""
    return min(min(s.half) if isinstance(s, Box) else s.radius for s in character.bodies[index].shapes)
