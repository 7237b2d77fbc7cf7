"""The paper's humanoid, built in code: 15 bodies, 28 degrees of freedom, 50.05 kg.

The right side is written down; the left is its reflection in y = 0, so the two cannot disagree.
"""

import math
from functools import cache

from parc.character.body_shape import Box, Capsule, Shape, Sphere
from parc.character.character import BALL_AXES, Body, Character, Joint, Motor, Vector

_ABDOMEN = Motor(1000, 100, 0.02, 200, 1.0)
_NECK = Motor(100, 10, 0.01, 50, 0.6)
_SHOULDER = Motor(400, 40, 0.02, 100, 0.6)
_ELBOW = Motor(300, 30, 0.01, 70, 0.4)
_HIP = Motor(500, 50, 0.02, 200, 1.0)
_KNEE = Motor(500, 50, 0.02, 150, 0.6)
_ANKLE = Motor(400, 40, 0.01, 90, 0.4)


def _joint(axes: tuple[Vector, ...], degrees: tuple[tuple[float, float], ...], motor: Motor) -> Joint:
    return Joint(
        axes=axes,
        lower=tuple(math.radians(lo) for lo, _ in degrees),
        upper=tuple(math.radians(hi) for _, hi in degrees),
        stiffness=motor.stiffness,
        damping=motor.damping,
        armature=motor.armature,
        torque_limit=motor.torque_limit,
        weight=motor.weight,
    )


def _flip(v: Vector) -> Vector:
    return (v[0], -v[1], v[2])


def _mirror_shape(s: Shape) -> Shape:
    if isinstance(s, Sphere):
        return Sphere(_flip(s.centre), s.radius, s.density)
    if isinstance(s, Capsule):
        return Capsule(_flip(s.start), _flip(s.end), s.radius, s.density)
    return Box(_flip(s.centre), s.half, s.density)


def _mirror_joint(j: Joint) -> Joint:
    """Reflection in y = 0 keeps rotations about y and reverses those about x and z; axes stay, limits swap."""
    lower, upper = list(j.lower), list(j.upper)
    for k, axis in enumerate(j.axes):
        if axis[1] == 0:
            lower[k], upper[k] = -j.upper[k], -j.lower[k]
    return Joint(j.axes, tuple(lower), tuple(upper), j.stiffness, j.damping, j.armature, j.torque_limit, j.weight)


_Z: Vector = (0.0, 0.0, 1.0)
_Y: Vector = (0.0, 1.0, 0.0)


def _trunk() -> list[Body]:
    clavicles = tuple(
        Capsule((-0.0060125, side * 0.0457775, 0.2287955), (-0.016835, side * 0.128177, 0.2376182), 0.045, 1100)
        for side in (-1, 1)
    )
    return [
        Body("pelvis", -1, (0, 0, 0), shapes=(Sphere((0, 0, 0.07), 0.09, 2226), Sphere((0, 0, 0.205), 0.07, 2226))),
        Body(
            "torso", 0, (0, 0, 0.236151),
            joint=_joint(BALL_AXES, ((-60, 60), (-60, 90), (-70, 70)), _ABDOMEN),
            shapes=(Sphere((0, 0, 0.12), 0.11, 1794), *clavicles),
        ),
        Body(
            "head", 1, (0, 0, 0.223894),
            joint=_joint(BALL_AXES, ((-50, 50), (-40, 60), (-45, 45)), _NECK),
            shapes=(Sphere((0, 0, 0.175), 0.095, 1081),),
        ),
    ]  # fmt: skip


def _arm() -> list[Body]:
    return [
        Body(
            "right_upper_arm", 1, (-0.02405, -0.18311, 0.24350),
            joint=_joint(BALL_AXES, ((-110, 140), (-90, 90), (-60, 160)), _SHOULDER),
            shapes=(Capsule((0, -0.03, 0), (0, -0.23, 0), 0.045, 982),),
        ),
        Body(
            "right_lower_arm", 3, (0, -0.274788, 0),
            joint=_joint((_Z,), ((0, 160),), _ELBOW),
            shapes=(Capsule((0, -0.035, 0), (0, -0.1875, 0), 0.04, 1056),),
        ),
        Body("right_hand", 4, (0, -0.258947, 0), shapes=(Sphere((0, 0, 0), 0.04, 1865),), is_key=True),
    ]  # fmt: skip


def _leg() -> list[Body]:
    return [
        Body(
            "right_thigh", 0, (0, -0.084887, 0),
            joint=_joint(BALL_AXES, ((-60, 30), (-140, 60), (-60, 60)), _HIP),
            shapes=(Capsule((0, 0, -0.04), (0, 0, -0.36), 0.055, 1269),),
        ),
        Body(
            "right_shin", 9, (0, 0, -0.421546),
            joint=_joint((_Y,), ((0, 160),), _KNEE),
            shapes=(Capsule((0, 0, -0.03), (0, 0, -0.355), 0.05, 1014),),
        ),
        Body(
            "right_foot", 10, (0, 0, -0.409870),
            joint=_joint(BALL_AXES, ((-30, 30), (-55, 55), (-40, 40)), _ANKLE),
            shapes=(Box((0.045, 0, -0.0225), (0.0885, 0.045, 0.0275), 1141),),
            is_key=True,
            is_foot=True,
        ),
    ]  # fmt: skip


def _with_left_twin(right: list[Body], first: int) -> list[Body]:
    """A right limb whose first body will have index `first`, followed by its mirror image."""
    left = []
    for b in right:
        parent = b.parent + len(right) if b.parent >= first else b.parent
        left.append(
            Body(
                name=b.name.replace("right_", "left_"),
                parent=parent,
                offset=_flip(b.offset),
                joint=_mirror_joint(b.joint),
                shapes=tuple(_mirror_shape(s) for s in b.shapes),
                is_key=b.is_key,
                is_foot=b.is_foot,
            )
        )
    return right + left


@cache
def humanoid() -> Character:
    """The paper's character: 15 bodies, 28 degrees of freedom, about as heavy as a person."""
    trunk = _trunk()
    arms = _with_left_twin(_arm(), first=len(trunk))
    legs = _with_left_twin(_leg(), first=len(trunk) + len(arms))
    bodies = (*trunk, *arms, *legs)
    names = [b.name for b in bodies]
    swap = {"right_": "left_", "left_": "right_"}
    mirror = []
    for name in names:
        side = next((s for s in swap if name.startswith(s)), None)
        mirror.append(names.index(swap[side] + name.removeprefix(side)) if side else names.index(name))
    return Character("humanoid", bodies, tuple(mirror))
