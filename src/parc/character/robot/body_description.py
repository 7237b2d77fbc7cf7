"""What a character is beyond its MJCF file: feet, key bodies, motors, landmarks; one small TOML file beside it.

    robot.xml                the model
    robot.parc.toml          its description, read with it

Some robots have one in this package (g1.toml); it is taken for any file whose bodies have the names it tells. Everything may be
left out, and is then found by rule (`parc.character.mjcf` says how, `parc.character.robot.character_report` what was
guessed). Names are those of the file's bodies; where several are meant, * and ? stand for any letters.

    feet = ["*_foot"]                      bodies that stand
    keys = ["*_foot", "*_hand"]            key bodies of the tracking reward
    facing = 0.0                           degrees, from x towards y, that the file's rest pose looks
    [mirror]                               bodies of the right side by those of the left
    left_foot = "right_foot"
    [gains]                                for motors whose stiffness is not told: kp = armature w^2, kd = 2 zeta armature w
    frequency = 10.0                       Hz
    damping_ratio = 2.0
    [[motors]]                             of the joints that turn these bodies
    bodies = ["*_knee"]
    torque = 139.0                         N m
    speed = 20.0                           rad/s
    armature = 0.025                       kg m2
    stiffness = 100.0                      N m / rad
    damping = 6.0                          N m s / rad
    weight = 1.0                           in the tracker's pose reward
    [[boxes]]                              one box instead of the shapes that these bodies have
    bodies = ["*_foot"]
    centre = [0.04, 0.0, -0.02]            m, in the body's frame
    half = [0.1, 0.03, 0.01]               m
    [landmarks]                            a person's joints (`parc.mocap.read.joint_naming` has the names)
    left_knee = { body = "left_shin" }
    left_wrist = { body = "left_hand", at = [0.1, 0.0, 0.0] }
"""

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

from parc.character.character import Vector
from parc.errors import CharacterError


@dataclass(frozen=True)
class MotorNote:
    """What is told of the motors of some joints; None is not told."""

    bodies: tuple[str, ...]
    torque: float | None = None
    """N m"""
    speed: float | None = None
    """rad/s"""
    armature: float | None = None
    """kg m2"""
    stiffness: float | None = None
    """N m / rad"""
    damping: float | None = None
    """N m s / rad"""
    weight: float | None = None
    """in the tracker's pose reward"""


@dataclass(frozen=True)
class BoxNote:
    """One box that stands for the shapes of a body."""

    bodies: tuple[str, ...]
    centre: Vector
    half: Vector


@dataclass(frozen=True)
class BodyDescription:
    """The content of a description; what is not in it is found by rule."""

    name: str | None = None
    feet: tuple[str, ...] | None = None
    keys: tuple[str, ...] | None = None
    facing: float = 0.0
    """degrees"""
    mirror: Mapping[str, str] = field(default_factory=dict)
    frequency: float | None = None
    """Hz"""
    damping_ratio: float = 1.0
    motors: tuple[MotorNote, ...] = ()
    boxes: tuple[BoxNote, ...] = ()
    landmarks: Mapping[str, tuple[str, Vector]] = field(default_factory=dict)
    """body and point in it by place"""


def shipped_description(names: Sequence[str]) -> BodyDescription | None:
    """The description in this package of a character with bodies of these names: one all of whose bodies are among them."""
    return next((told for told in _shipped() if _bodies_told(told) <= set(names)), None)


@cache
def _shipped() -> tuple[BodyDescription, ...]:
    return tuple(read_description(file) for file in sorted(Path(__file__).parent.glob("*.toml")))


def _bodies_told(told: BodyDescription) -> set[str]:
    return {*(told.feet or ()), *(told.keys or ()), *(body for body, _ in told.landmarks.values())}


def description_beside(path: Path | str) -> Path:
    """Where the description of an MJCF file is looked for: robot.xml has robot.parc.toml."""
    return Path(path).with_suffix(".parc.toml")


def read_description(path: Path | str) -> BodyDescription:
    """A description file; anything unknown or of the wrong kind in it is refused."""
    path = Path(path)
    try:
        told = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CharacterError(f"{path.name} is not a readable description of a character ({error})") from None
    known = {"name", "feet", "keys", "facing", "mirror", "gains", "motors", "boxes", "landmarks"}
    if unknown := sorted(set(told) - known):
        raise CharacterError(f"{path.name} tells '{unknown[0]}', which no description has; known are {', '.join(sorted(known))}")
    try:
        return _described(told)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise CharacterError(f"{path.name} is not a description of a character: {error}") from None


def _described(told: Mapping[str, Any]) -> BodyDescription:
    gains = dict(told.get("gains", {}))
    landmarks = {place: (str(at["body"]), _vector(at.get("at", (0, 0, 0)))) for place, at in told.get("landmarks", {}).items()}
    description = BodyDescription(
        name=None if "name" not in told else str(told["name"]),
        feet=_names(told.get("feet")),
        keys=_names(told.get("keys")),
        facing=float(told.get("facing", 0.0)),
        mirror={str(a): str(b) for a, b in told.get("mirror", {}).items()},
        frequency=None if "frequency" not in gains else _positive("frequency", gains.pop("frequency")),
        damping_ratio=_positive("damping_ratio", gains.pop("damping_ratio", 1.0)),
        motors=tuple(_motor(row) for row in told.get("motors", ())),
        boxes=tuple(BoxNote(_names(r["bodies"]) or (), _vector(r["centre"]), _vector(r["half"])) for r in told.get("boxes", ())),
        landmarks=landmarks,
    )
    if gains:
        raise ValueError(f"gains have no '{next(iter(gains))}'")
    if not math.isfinite(description.facing):
        raise ValueError(f"facing is {description.facing}")
    return description


def _motor(row: Mapping[str, Any]) -> MotorNote:
    numbers = {f.name for f in fields(MotorNote)} - {"bodies"}
    if unknown := sorted(set(row) - numbers - {"bodies"}):
        raise ValueError(f"a motor has no '{unknown[0]}'")
    return MotorNote(_names(row["bodies"]) or (), **{key: _positive(key, row[key]) for key in sorted(numbers & set(row))})


def _names(value: Any) -> tuple[str, ...] | None:
    if isinstance(value, str):
        raise ValueError(f"'{value}' must be a list of names")
    return None if value is None else tuple(str(name) for name in value)


def _vector(value: Sequence[float]) -> Vector:
    x, y, z = (float(v) for v in value)
    if not math.isfinite(x + y + z):
        raise ValueError(f"{value} is not finite")
    return x, y, z


def _positive(name: str, value: Any) -> float:
    number = float(value)
    if not 0 < number < math.inf:
        raise ValueError(f"{name} is {value}, expected a positive number")
    return number


def named_bodies(patterns: Sequence[str], names: Sequence[str], what: str) -> list[str]:
    """The bodies that patterns mean, in the character's order; a pattern that means none is refused."""
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise CharacterError(f"no body is called '{pattern}' to be a {what}; the bodies are {', '.join(names)}")
    return [name for name in names if any(fnmatchcase(name, pattern) for pattern in patterns)]
