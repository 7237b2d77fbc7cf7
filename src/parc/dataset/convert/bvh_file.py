"""The text of a BVH file: a tree of joints with their channels, and one row of numbers a frame.

    HIERARCHY
    ROOT pelvis
    {
      OFFSET 0 0 0
      CHANNELS 6 Xposition Yposition Zposition Yrotation Xrotation Zrotation
      JOINT torso
      {
        ...
        End Site
        {
          OFFSET 0 0.27 0
        }
      }
    }
    MOTION
    Frames: 2
    Frame Time: 0.0333333333333
    0.0 0.9 0.0 ...

Channels of a row stand in the order of the tree. Nothing here knows what the joints mean.
"""

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parc.dataset.convert.checked_field import check_frames
from parc.errors import FormatError
from parc.motion.motion import MOST_FPS
from parc.run.file_reading import first_line

Vector = tuple[float, float, float]
POSITIONS = ("Xposition", "Yposition", "Zposition")
ROTATIONS = ("Xrotation", "Yrotation", "Zrotation")
MOST_JOINTS = 1000
_PIECE = 2**20
"""characters of a motion that are turned into numbers at once"""
_CHANNELS = {c.lower(): c for c in POSITIONS + ROTATIONS}
_TIMING = re.compile(r"\s*Frames\s*:\s*(\S+)\s+Frame\s+Time\s*:\s*(\S+)", re.IGNORECASE)


@dataclass
class BvhJoint:
    """A joint of a BVH skeleton."""

    name: str
    parent: int
    """index of the parent joint, -1 for the root"""
    offset: Vector = (0.0, 0.0, 0.0)
    channels: tuple[str, ...] = ()
    end: Vector | None = None
    """the End Site of a joint without children"""


@dataclass
class Bvh:
    """The content of a BVH file: its skeleton and a row of channel values a frame."""

    joints: list[BvhJoint]
    """depth first"""
    frame_time: float
    """s"""
    values: NDArray[np.float64]
    """[T, C] the file's own units, degrees for rotations"""

    @property
    def fps(self) -> float:
        """Frames a second."""
        return 1.0 / self.frame_time

    @property
    def channel_start(self) -> list[int]:
        """Column of the first channel of each joint."""
        counts = [len(j.channels) for j in self.joints]
        return np.cumsum([0, *counts[:-1]]).tolist()


def parse_bvh(text: str, name: str) -> Bvh:
    """`name` is the file's, for messages."""
    text = text.removeprefix("\ufeff")
    parts = re.split(r"^[ \t]*MOTION\b", text, maxsplit=1, flags=re.MULTILINE)
    if not parts[0].lstrip().startswith("HIERARCHY"):
        raise FormatError(f"{name} does not begin with HIERARCHY, so it is not a BVH file")
    if len(parts) == 1:
        raise FormatError(f"{name} has no MOTION part")
    joints = _Hierarchy(parts[0], name).joints
    timing = _TIMING.match(parts[1])
    if timing is None:
        raise FormatError(f"{name}: MOTION must be followed by 'Frames: N' and 'Frame Time: S'")
    frame_time = _number(timing[2], "Frame Time", name)
    if (frames := _count(timing[1])) is None or frames == 0:
        raise FormatError(f"{name}: Frames is {timing[1][:40]}, expected a positive whole number")
    check_frames(frames, name)
    if not 1 / MOST_FPS <= frame_time < np.inf:
        raise FormatError(f"{name}: Frame Time is {timing[2][:40]}, expected a number of seconds from {1 / MOST_FPS:g} on")
    columns = sum(len(j.channels) for j in joints)
    return Bvh(joints, frame_time, _rows(parts[1][timing.end() :], frames, columns, name))


def format_bvh(bvh: Bvh) -> str:
    """The text of a BVH file."""
    lines = ["HIERARCHY"]
    children: list[list[int]] = [[] for _ in bvh.joints]
    for i, joint in enumerate(bvh.joints):
        if joint.parent >= 0:
            children[joint.parent].append(i)

    def write(index: int, depth: int) -> None:
        joint, pad = bvh.joints[index], "  " * depth
        lines.append(f"{pad}{'JOINT' if depth else 'ROOT'} {joint.name}")
        lines.append(f"{pad}{{")
        lines.append(f"{pad}  OFFSET {_vector(joint.offset)}")
        lines.append(f"{pad}  CHANNELS {len(joint.channels)} {' '.join(joint.channels)}")
        for child in children[index]:
            write(child, depth + 1)
        if joint.end is not None:
            lines.extend([f"{pad}  End Site", f"{pad}  {{", f"{pad}    OFFSET {_vector(joint.end)}", f"{pad}  }}"])
        lines.append(f"{pad}}}")

    write(0, 0)
    lines += ["MOTION", f"Frames: {len(bvh.values)}", f"Frame Time: {bvh.frame_time:.12g}"]
    rows = io.StringIO()
    np.savetxt(rows, np.round(bvh.values, 6) + 0.0, fmt="%.6f")
    return "\n".join(lines) + "\n" + rows.getvalue()


class _Hierarchy:
    """Reads the tree with a stack of open joints; braces may stand on lines of their own or not."""

    def __init__(self, text: str, name: str) -> None:
        self._file = name
        self._words = iter(text.replace("{", " { ").replace("}", " } ").split()[1:])
        self.joints: list[BvhJoint] = []
        open_joints: list[int] = []
        placed: set[int] = set()
        for word in self._words:
            if len(self.joints) > MOST_JOINTS:
                raise FormatError(f"{name}: the hierarchy has more than {MOST_JOINTS} joints")
            if word in ("ROOT", "JOINT"):
                if (word == "ROOT") != (not self.joints) or (word == "JOINT" and not open_joints):
                    raise FormatError(f"{name}: a {word} stands where it cannot; a file has one ROOT and all JOINTs inside it")
                self.joints.append(BvhJoint(" ".join(self._until("{")), open_joints[-1] if open_joints else -1))
                open_joints.append(len(self.joints) - 1)
            elif not open_joints:
                raise FormatError(f"{name}: '{word[:40]}' in the hierarchy where ROOT was expected")
            elif word == "OFFSET":
                self.joints[open_joints[-1]].offset = self._offset()
                placed.add(open_joints[-1])
            elif word == "CHANNELS":
                self.joints[open_joints[-1]].channels = self._channels(self.joints[open_joints[-1]].name)
            elif word == "End":
                self._until("{")
                self._expect("OFFSET")
                self.joints[open_joints[-1]].end = self._offset()
                self._expect("}")
            elif word == "}":
                closed = open_joints.pop()
                if closed not in placed:
                    raise FormatError(f"{name}: joint '{self.joints[closed].name}' has no OFFSET")
            else:
                raise FormatError(f"{name}: '{word[:40]}' in joint '{self.joints[open_joints[-1]].name}' is not BVH")
        if not self.joints or open_joints:
            raise FormatError(f"{name}: the hierarchy ends inside {'a joint' if open_joints else 'the header, without a ROOT'}")
        if not self.joints[0].channels:
            raise FormatError(f"{name}: the root '{self.joints[0].name}' has no CHANNELS")

    def _next(self) -> str:
        word = next(self._words, None)
        if word is None:
            raise FormatError(f"{self._file}: the hierarchy ends in the middle of joint '{self.joints[-1].name}'")
        return word

    def _until(self, mark: str) -> Iterator[str]:
        words = []
        while (word := next(self._words, mark)) != mark:
            words.append(word)
        return iter(words)

    def _expect(self, wanted: str) -> None:
        if (word := self._next()) != wanted:
            raise FormatError(f"{self._file}: '{word[:40]}' after joint '{self.joints[-1].name}', expected '{wanted}'")

    def _offset(self) -> Vector:
        x, y, z = (_number(self._next(), f"OFFSET of joint '{self.joints[-1].name}'", self._file) for _ in range(3))
        return x, y, z

    def _channels(self, joint: str) -> tuple[str, ...]:
        count = self._next()
        if (number := _count(count)) is None or number > len(_CHANNELS):
            raise FormatError(f"{self._file}: joint '{joint}' has '{count[:40]}' CHANNELS, expected 0 to {len(_CHANNELS)}")
        names = [self._next() for _ in range(number)]
        for channel in names:
            if channel.lower() not in _CHANNELS:
                raise FormatError(
                    f"{self._file}: joint '{joint}' has a channel '{channel[:40]}'; known are {', '.join(_CHANNELS.values())}"
                )
        if len({channel.lower() for channel in names}) != len(names):
            raise FormatError(f"{self._file}: joint '{joint}' has a channel twice: {' '.join(names)}")
        return tuple(_CHANNELS[channel.lower()] for channel in names)


def _rows(text: str, frames: int, columns: int, name: str) -> NDArray[np.float64]:
    values = _numbers(text, frames * columns, name)
    if values is None:
        rows = [line.split() for line in text.splitlines() if line.strip()]
        short = next((i for i, row in enumerate(rows) if len(row) != columns), None)
        if short is not None:
            raise FormatError(f"{name}: frame {short} has {len(rows[short])} numbers, the channels need {columns}")
        raise FormatError(f"{name}: {len(rows)} frames follow where 'Frames: {frames}' was promised")
    values = values.reshape(frames, columns)
    if not np.isfinite(values).all():
        raise FormatError(f"{name}: frame {int(np.argwhere(~np.isfinite(values))[0, 0])} holds a value that is not finite")
    return values


def _numbers(text: str, count: int, name: str) -> NDArray[np.float64] | None:
    """So many numbers, read piece by piece: as words they take ten times the room. None if there are more or fewer."""
    if count > len(text):
        return None
    values, have = np.empty(count), 0
    for piece in re.finditer(rf"\S(?:[^\x00]{{0,{_PIECE}}})\S*", text):
        words = piece[0].split()
        if have + len(words) > count:
            return None
        try:
            values[have : have + len(words)] = [float(word) for word in words]
        except ValueError as error:
            raise FormatError(f"{name}: a frame holds something that is not a number ({first_line(error)})") from None
        have += len(words)
    return values if have == count else None


def _count(word: str) -> int | None:
    """A whole number in plain digits, if the word is one and no text is as long as it says."""
    return int(word) if word.isascii() and word.isdigit() and len(word) < 12 else None


def _number(word: str, what: str, name: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise FormatError(f"{name}: {what} holds '{word[:40]}', expected a number")
    return value


def _vector(v: Vector) -> str:
    return " ".join(f"{x + 0.0:.8g}" for x in v)
