"""Plans: short motions of T frames each, side by side, with the rows that a tracker reads of them.

A plan is a value, made once and kept with what was simulated of it. A body follows it when it is written into the body's strip of
a table (`parc.track.follow.reference_table`).
"""

from dataclasses import dataclass

from torch import Tensor

from parc.motion.frame_state import FrameState
from parc.motion.mujoco_qpos import qpos_difference
from parc.track.env.body_tables import BodyTables
from parc.track.follow.reference_table import FrameRows


@dataclass(frozen=True, eq=False)
class PlanReference:
    """K plans of T frames."""

    frames: FrameState
    """[K, T, ...] as they were written"""
    rows: FrameRows
    """[K, T, ...]"""

    @classmethod
    def of(cls, anatomy: BodyTables, frames: FrameState) -> "PlanReference":
        """Of frames [K, T, ...], T at least 2."""
        return cls(frames, FrameRows.of_frames(anatomy, frames))

    @property
    def count(self) -> int:
        """K"""
        return self.rows.qpos.shape[0]

    @property
    def length(self) -> int:
        """T"""
        return self.rows.qpos.shape[1]

    def row(self, index: int) -> "PlanReference":
        """One of the K alone."""
        one = slice(index, index + 1)
        return PlanReference(FrameState(*(part[one] for part in self.frames)), FrameRows(*(part[one] for part in self.rows)))

    def start_velocity(self, anatomy: BodyTables, fps: float) -> Tensor:
        """[K, nv] from frame 0 to frame 1."""
        return qpos_difference(anatomy.character, self.rows.qpos[:, 0], self.rows.qpos[:, 1], 1.0 / fps)
