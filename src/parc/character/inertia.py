"""Masses and centres of mass of the bodies, from their shapes."""

from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

from parc.character import rotation
from parc.character.body_shape import Capsule, Shape
from parc.character.character import Character
from parc.character.kinematics import BodyPose


class Inertia(NamedTuple):
    """Masses of all bodies and where they sit."""

    mass: Tensor
    """[B] kg"""
    centre: Tensor
    """[B, 3] centre of mass in the body frame"""


@cache  # captured graphs read these tensors, so none may be dropped
def inertia(character: Character, device: torch.device | str = "cpu") -> Inertia:
    """From what the bodies are said to weigh, or from their shapes and densities."""
    masses, centres = [], []
    for body in character.bodies:
        if body.inertial is not None:
            masses.append(body.inertial.mass)
            centres.append(list(body.inertial.centre))
            continue
        mass = sum(s.mass for s in body.shapes)
        weighted = [sum(s.mass * _centre(s)[k] for s in body.shapes) for k in range(3)]
        masses.append(mass)
        centres.append([w / mass if mass else 0.0 for w in weighted])
    return Inertia(torch.tensor(masses, device=device), torch.tensor(centres, device=device))


def centre_of_mass(character: Character, pose: BodyPose) -> Tensor:
    """[..., 3] of the whole character, for quaternion poses."""
    bodies = inertia(character, pose.pos.device)
    centres = pose.pos + rotation.rotate(pose.rot, bodies.centre)
    return (centres * bodies.mass.unsqueeze(-1)).sum(-2) / bodies.mass.sum()


def _centre(shape: Shape) -> tuple[float, ...]:
    if isinstance(shape, Capsule):
        return tuple(0.5 * (a + b) for a, b in zip(shape.start, shape.end, strict=True))
    return shape.centre
