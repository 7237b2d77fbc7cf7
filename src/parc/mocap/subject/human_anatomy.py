"""What retargeting must know of a character: which body is where in a human, how long its legs are, where its soles are.

Told by the character's landmarks, or found from its bodies' names (`parc.mocap.read.joint_naming`), or else from its tree, so any
body with thighs, shins, feet, upper and lower arms and hands will do. The places are the bodies' origins, the origin of a shin is
the knee, unless a landmark says another point. What is called head has its origin at the neck.

A person's joint may be several hinges of a robot with a small body each. The upper bone of a limb is then part of the last of
them, the one that carries the knee; all of them hang on the body that carries the limb (`carrier`), the pelvis or the chest.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from parc.character.body_surface import surface_points
from parc.character.character import Character
from parc.character.limb_chains import APART, limbs_of
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
    """m from the palm to the underside of a level hand"""

    point: Mapping[str, NDArray[np.float64]]
    """[3] where each place is in its body's frame"""
    carrier: Mapping[str, int]
    """body that each hip and shoulder hangs on"""
    is_told: bool = False
    """by landmarks of the character"""

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
        chest = self.carrier["left_shoulder"]
        return sorted({0, chest, self.body.get("head", chest)})

    def bone(self, character: Character, place: str) -> float:
        """m, length of the bone that ends at a place."""
        return float(np.linalg.norm(self.bone_vector(character, place)))

    def bone_vector(self, character: Character, place: str) -> NDArray[np.float64]:
        """[3] m, at rest: from the place before it on its limb, or from what carries the limb, to a place."""
        limb = next((limb for limb in _LIMBS if place in limb), None)
        if limb is None:
            return np.array(character.bodies[self.body[place]].offset, dtype=np.float64)
        before = limb[limb.index(place) - 1] if place != limb[0] else None
        start = self.carrier[place] if before is None else self.body[before]
        way = path_offset(character, start, self.body[place]) + self.point[place]
        return way if before is None else way - self.point[before]

    def upright(self, character: Character, body: int, lean: float) -> NDArray[np.float64]:
        """[3, 3] turn about y of the root or the body that carries the shoulders, after which its z is where the line from the
        hips, or from that body's origin, to the shoulders points, in a person whose shoulders lean back by `lean` (rad) when
        upright; none where landmarks are not told."""

        def middle(part: str) -> float:
            ends = [(self.body[f"{side}_{part}"], self.point[f"{side}_{part}"]) for side in SIDES]
            return float(np.mean([(path_offset(character, 0, b) + p)[2] for b, p in ends]))

        high, low = middle("shoulder"), middle("hip")
        behind = (high - low) * math.tan(lean)
        angle = math.atan2(behind, high - (low if body == 0 else path_offset(character, 0, body)[2])) if self.is_told else 0.0
        c, s = math.cos(angle), math.sin(angle)
        return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])

    def segments(self, character: Character, limb: tuple[str, str, str]) -> tuple[int, int, int]:
        """Bodies of a limb's upper bone, lower bone and end."""
        _, middle, end = limb
        return character.parents[self.body[middle]], self.body[middle], self.body[end]

    def points(self, places: Sequence[str]) -> NDArray[np.float64] | None:
        """[K, 3] in their bodies' frames; None where all are the bodies' origins."""
        points = np.stack([self.point[place] for place in places])
        return points if points.any() else None

    @property
    def limbs(self) -> tuple[tuple[str, str, str], ...]:
        """(upper, middle, end) places of the four limbs, legs first."""
        return _LIMBS


@lru_cache(maxsize=16)
def _anatomy(character: Character) -> Anatomy:
    body = _places(character)
    body.setdefault("pelvis", 0)
    for limb in _LIMBS:
        for above, below in pairwise(limb):
            if body[above] not in _ancestors(character, body[below]):
                raise CharacterError(f"character '{character.name}': {', '.join(limb)} must follow each other in its tree")
    point = {place: np.zeros(3) for place in body}
    point |= {mark.place: np.array(mark.point, dtype=np.float64) for mark in character.landmarks}
    if any(point[f"{side}_ankle"].any() for side in SIDES):
        raise CharacterError(f"character '{character.name}': an ankle is the origin of its foot, so its landmark has no point")
    carrier = {limb[0]: _carrier(character, body, limb[0]) for limb in _LIMBS}
    hand = character.bodies[body["right_wrist"]].shapes
    palm_drop = -min((shape.bounds[0][2] for shape in hand), default=0.0) + float(point["right_wrist"][2])
    found = Anatomy(body, 0.0, _sole(character, body["right_ankle"]), palm_drop, point, carrier, bool(character.landmarks))
    lengths = [sum(math.hypot(*found.bone_vector(character, f"{side}_{part}")) for part in ("knee", "ankle")) for side in SIDES]
    return replace(found, leg=float(np.mean(lengths)))


def _places(character: Character) -> dict[str, int]:
    """Body of each place: by landmarks and names, or else by the tree; of several hinges of one joint it is the second's."""
    told = {mark.place: character.names[mark.body] for mark in character.landmarks}
    try:
        named = find_places(character.names, told, f"character '{character.name}'")
        for side in SIDES:  # what is called ankle may be a joint on the way to the foot
            under = [foot for foot in character.feet if named[f"{side}_ankle"] in _ancestors(character, foot)]
            if len(under) == 1 and not told:
                named[f"{side}_ankle"] = under[0]
        return named
    except FormatError as error:
        limbs = limbs_of(character) if not told else None
        if limbs is None:
            raise CharacterError(str(error)) from None
    found: dict[str, int] = {}
    parts = {"hip": limbs.knee, "shoulder": limbs.elbow}
    for k, side in enumerate(SIDES):
        for part, below in parts.items():
            group = _ancestors(character, below[k])
            shared = set(_ancestors(character, below[1 - k]))
            own = [b for b in reversed(group) if b not in shared]
            found[f"{side}_{part}"] = own[min(1, len(own) - 1)] if own else below[k]
        others = (("knee", limbs.knee), ("ankle", limbs.ankle), ("elbow", limbs.elbow), ("wrist", limbs.hand))
        found |= {f"{side}_{part}": pair[k] for part, pair in others}
    return found


def _ancestors(character: Character, body: int) -> list[int]:
    """Bodies above one, the nearest first, the root last."""
    above = []
    while (body := character.parents[body]) >= 0:
        above.append(body)
    return above


def _carrier(character: Character, body: Mapping[str, int], place: str) -> int:
    """What a hip or shoulder hangs on: the parent of its body, or of the first hinge of its joint."""
    other = "right" + place.removeprefix("left") if place.startswith("left") else "left" + place.removeprefix("right")
    shared = set(_ancestors(character, body[other]))
    at = character.parents[body[place]]
    while at not in shared and character.bodies[at].joint.is_hinge:
        if np.linalg.norm(path_offset(character, at, body[place])) >= APART:
            break
        at = character.parents[at]
    return at


def path_offset(character: Character, start: int, end: int) -> NDArray[np.float64]:
    """[3] m from the origin of a body to that of another below it, at rest."""
    way = np.array(character.bodies[end].offset, dtype=np.float64) if end != start else np.zeros(3)
    while end != start and (end := character.parents[end]) != start:
        way = way + np.array(character.bodies[end].offset, dtype=np.float64)
    return way


def _sole(character: Character, foot: int) -> NDArray[np.float64]:
    surface = surface_points(character)
    points = surface.points[surface.body == foot].double().numpy()
    low = points[points[:, 2] < points[:, 2].min() + _FLAT]
    (x0, y0, _), (x1, y1, _) = low.min(0), low.max(0)
    z = float(low[:, 2].mean())
    side = 0.5 * (y1 - y0)
    return np.array([(x0, -side, z), (x0, side, z), (x1, -side, z), (x1, side, z)])
