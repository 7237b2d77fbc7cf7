"""A recorded motion of any skeleton, before it is ours: joints, and where they were.

Readers return it as the file has it (units and axes of the file); `parc.mocap.read.detect_units_and_rate.upright` turns it into
metres with z up. Names are the file's own, `parc.mocap.read.joint_naming` says which of them is a knee.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from parc.errors import FormatError
from parc.mocap.read.joint_naming import find_places


@dataclass(frozen=True, eq=False)
class SourceMotion:
    """Joints of any skeleton in the world, frame by frame."""

    name: str
    joints: tuple[str, ...]
    parents: tuple[int, ...]
    """index of each joint's parent, -1 for roots"""
    pos: NDArray[np.float64]
    """[T, J, 3] joints in the world"""
    fps: float
    rot: NDArray[np.float64] | None = None
    """[T, J, 3, 3] in the world, where the file has them"""
    warnings: tuple[str, ...] = field(default=())
    """what the checks found suspicious"""
    file: str = ""
    """name with its extension, for messages"""
    naming: Mapping[str, str] = field(default_factory=dict)
    """{place: joint}, where the file itself says which joint is which"""

    def __post_init__(self) -> None:
        frames, joints = self.pos.shape[:2]
        if frames == 0:
            raise FormatError(f"{self.told_as}: has no frames")
        if not len(self.joints) == len(self.parents) == joints:
            raise FormatError(f"{self.told_as}: has {joints} joint positions for {len(self.joints)} joint names")
        if len(set(self.joints)) != len(self.joints):
            twice = next(j for j in self.joints if self.joints.count(j) > 1)
            raise FormatError(f"{self.told_as}: two joints are called '{twice}'")
        if not np.isfinite(self.pos).all():
            frame, joint = np.argwhere(~np.isfinite(self.pos).all(-1))[0]
            raise FormatError(f"{self.told_as}: joint '{self.joints[joint]}' is not finite at frame {frame}")
        if not 0 < self.fps < 10_000:
            raise FormatError(f"{self.told_as}: the frame rate is {self.fps:g}, expected a positive number")

    def __len__(self) -> int:
        return len(self.pos)

    @property
    def told_as(self) -> str:
        """What messages call it."""
        return self.file or self.name

    def places(self, naming: Mapping[str, str] | None = None) -> dict[str, int]:
        """The joint at each place of the body; a caller's table goes before the file's own, both before the names."""
        return find_places(self.joints, {**self.naming, **(naming or {})}, self.told_as)

    def slice(self, first: int, stop: int | None = None) -> "SourceMotion":
        """Frames first .. stop-1 (to the end if None)."""
        stop = len(self) if stop is None else stop
        if not 0 <= first < stop <= len(self):
            raise FormatError(f"{self.told_as}: frames {first}..{stop} are not inside its {len(self)} frames")
        return replace(self, pos=self.pos[first:stop], rot=None if self.rot is None else self.rot[first:stop])

    def turned(self, matrix: NDArray[np.float64], scale: float = 1.0) -> "SourceMotion":
        """Every position multiplied by a rotation [3, 3] of the world and by a scale."""
        rot = None if self.rot is None else matrix @ self.rot
        return replace(self, pos=scale * self.pos @ matrix.T, rot=rot)


def joints_in_world(
    parents: Sequence[int], offsets: NDArray[np.float64], turns: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Positions [T, J, 3] and rotations [T, J, 3, 3] of joints, parents first, from those in their parents' frames."""
    pos, rot = offsets.copy(), turns.copy()
    for j, parent in enumerate(parents):
        if parent >= 0:
            pos[:, j] = pos[:, parent] + np.einsum("tij,tj->ti", rot[:, parent], offsets[:, j])
            rot[:, j] = rot[:, parent] @ turns[:, j]
    return pos, rot
