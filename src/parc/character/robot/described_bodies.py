"""A description's words put on bodies: motors, boxes, mirror pairs, landmarks (`parc.character.robot.body_description`)."""

import math
from collections.abc import Sequence
from dataclasses import replace

from parc.character.body_shape import Box
from parc.character.character import Body, Landmark
from parc.character.find_symmetry import find_mirror
from parc.character.robot.body_description import BodyDescription, named_bodies
from parc.errors import CharacterError


def with_told_motors(bodies: Sequence[Body], told: BodyDescription) -> list[Body]:
    """Motors as they are told; what a note leaves out stays, but gains follow the armature where a frequency is told."""
    names, found = [b.name for b in bodies], list(bodies)
    for note in told.motors:
        for name in named_bodies(note.bodies, names, "motor"):
            at = names.index(name)
            joint = found[at].joint
            if not joint.dof:
                raise CharacterError(f"body '{name}' has no joint that a motor could turn")
            armature = note.armature or joint.armature
            stiffness, damping = joint.stiffness, joint.damping
            if told.frequency is not None:
                turn = 2 * math.pi * told.frequency
                stiffness, damping = armature * turn**2, 2 * told.damping_ratio * armature * turn
            found[at] = replace(
                found[at],
                joint=replace(
                    joint,
                    stiffness=note.stiffness or stiffness,
                    damping=note.damping or damping,
                    armature=armature,
                    torque_limit=note.torque or joint.torque_limit,
                    weight=note.weight or joint.weight,
                    speed_limit=note.speed or joint.speed_limit,
                ),
            )
    return found


def with_told_boxes(bodies: Sequence[Body], told: BodyDescription) -> list[Body]:
    """One box for the shapes of the bodies that are told so, as heavy as they are."""
    names, found = [b.name for b in bodies], list(bodies)
    for note in told.boxes:
        for name in named_bodies(note.bodies, names, "box"):
            body = found[names.index(name)]
            box = Box(note.centre, note.half, 1.0)
            found[names.index(name)] = replace(body, shapes=(replace(box, density=body.mass / box.volume),))
    return found


def mirror_of(bodies: Sequence[Body], told: BodyDescription) -> tuple[int, ...] | None:
    """By the pairs that are told, those without one being their own image; by geometry where none is told."""
    if not told.mirror:
        return find_mirror(bodies)
    names = [b.name for b in bodies]
    image = list(range(len(bodies)))
    for left, right in told.mirror.items():
        a, b = (names.index(name) for name in named_bodies([left, right], names, "mirror image"))
        image[a], image[b] = b, a
    return tuple(image)


def landmarks(bodies: Sequence[Body], told: BodyDescription) -> tuple[Landmark, ...]:
    """The places of a person that are told."""
    names = [b.name for b in bodies]
    found = []
    for place, (name, point) in told.landmarks.items():
        if name not in names:
            raise CharacterError(f"no body '{name}' to be {place}; the bodies are {', '.join(names)}")
        found.append(Landmark(place, names.index(name), point))
    return tuple(found)
