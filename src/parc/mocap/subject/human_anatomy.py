"""What retargeting must know of a character: which body is where in a human, how long its legs are, where its soles are.

Found from names (`parc.mocap.read.joint_naming`) and shapes, so any humanoid with thighs, shins, feet, upper and lower arms and
hands will do. The places are the bodies' origins: the origin of a shin is the knee. What is called head has its origin at the
neck.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from parc.character.body_surface import surface_points
from parc.character.character import Character
from parc.errors import CharacterError, FormatError
from parc.fit.held_parts import SIDES
from parc.mocap.read.joint_naming import find_places

_FLAT = 0.005
"""m: points this near to the lowest of a foot are its sole"""
_LIMBS = tuple(
    (f"{side}_{upper}", f"{side}_{middle}", f"{side}_{end}")
    for upper, middle, end in (("hip", "knee", "ankle"), ("shoulder", "elbow", "wrist"))
    for side in SIDES
)


@dataclass(frozen=True, eq=False)
class Anatomy:
    """Where the places of a human are on a character, and a few of its lengths."""

    body: Mapping[str, int]
    """body whose origin is at each place"""
    leg: float
    """m from hip over knee to ankle"""
    sole: NDArray[np.float64]
    """[4, 3] corners of the sole in the foot's frame: heel right and left, toe right and left"""

    palm_drop: float
    """m from a hand's origin to the underside of a level hand"""

    @classmethod
    def of(cls, character: Character) -> "Anatomy":
        """Refused for characters without a human's limbs."""
        return _anatomy(character)

    @property
    def ankle_drop(self) -> float:
        """m from the ankle down to the sole of a level foot."""
        return float(-self.sole[:, 2].mean())

    @property
    def toe(self) -> NDArray[np.float64]:
        """[3] the middle of the sole's front edge, in the foot's frame."""
        return self.sole[2:].mean(0)

    @property
    def feet(self) -> list[int]:
        """Bodies, left and right."""
        return [self.body[f"{side}_ankle"] for side in SIDES]

    @property
    def hands(self) -> list[int]:
        """Bodies, left and right."""
        return [self.body[f"{side}_wrist"] for side in SIDES]

    def trunk(self, character: Character) -> list[int]:
        """Root, the body that carries the shoulders, and the head if it is a body."""
        chest = character.parents[self.body["left_shoulder"]]
        return sorted({0, chest, self.body.get("head", chest)})

    def bone(self, character: Character, place: str) -> float:
        """m, length of the bone that ends at a place."""
        return float(np.linalg.norm(character.bodies[self.body[place]].offset))

    @property
    def limbs(self) -> tuple[tuple[str, str, str], ...]:
        """(upper, middle, end) places of the four limbs, legs first."""
        return _LIMBS


@lru_cache(maxsize=16)
def _anatomy(character: Character) -> Anatomy:
    try:
        body = find_places(character.names, None, f"character '{character.name}'")
    except FormatError as error:
        raise CharacterError(str(error)) from None
    body.setdefault("pelvis", 0)
    for upper, middle, end in _LIMBS:
        if character.parents[body[middle]] != body[upper] or character.parents[body[end]] != body[middle]:
            raise CharacterError(f"character '{character.name}': {upper}, {middle} and {end} must be a chain of three bodies")
    lengths = [sum(math.hypot(*character.bodies[body[f"{side}_{part}"]].offset) for part in ("knee", "ankle")) for side in SIDES]
    hand = character.bodies[body["right_wrist"]].shapes
    palm_drop = -min((shape.bounds[0][2] for shape in hand), default=0.0)
    return Anatomy(body, float(np.mean(lengths)), _sole(character, body["right_ankle"]), palm_drop)


def _sole(character: Character, foot: int) -> NDArray[np.float64]:
    surface = surface_points(character)
    points = surface.points[surface.body == foot].double().numpy()
    low = points[points[:, 2] < points[:, 2].min() + _FLAT]
    (x0, y0, _), (x1, y1, _) = low.min(0), low.max(0)
    z = float(low[:, 2].mean())
    side = 0.5 * (y1 - y0)
    return np.array([(x0, -side, z), (x0, side, z), (x1, -side, z), (x1, side, z)])
