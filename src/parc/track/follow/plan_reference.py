"""References that are still being written: K plans side by side, as the tables a tracker reads.

`parc.track.env.reference_library` lays out finished clips one after the other. Here every row has its own short motion of T
frames, made anew whenever the plan changes. Past the end the last frame stays.
"""

from dataclasses import dataclass

from torch import Tensor

from parc.character import rotation
from parc.motion.frame_state import FrameState
from parc.motion.mujoco_qpos import qpos_difference
from parc.track.env.body_tables import BodyTables
from parc.track.env.reference_library import frame_tables


@dataclass(frozen=True, eq=False)
class PlanReference:
    frames: FrameState
    """[K, T, ...] as they were written"""
    targets: Tensor
    """[K, T, W] what an observation shows of a frame"""
    dof: Tensor
    """[K, T, D] motor targets that ask for the frame's pose"""
    body_pos: Tensor
    """[K, T, B, 3] world, m"""
    root_rot: Tensor
    """[K, T, 4] xyzw"""
    qpos: Tensor
    """[K, T, nq]"""
    contacts: Tensor
    """[K, T, B]"""

    @classmethod
    def of(cls, anatomy: BodyTables, frames: FrameState) -> "PlanReference":
        """Of frames [K, T, ...], T at least 2."""
        root_rot, joint_rot = rotation.from_matrix(frames.root_rot), rotation.from_matrix(frames.joint_rot)
        tables = frame_tables(anatomy, frames.root_pos, root_rot, joint_rot, frames.contacts)
        shown = {name: tables[name] for name in ("targets", "dof", "body_pos", "root_rot", "qpos")}
        return cls(frames, **shown, contacts=frames.contacts)

    @property
    def count(self) -> int:
        """K"""
        return self.dof.shape[0]

    @property
    def length(self) -> int:
        """T"""
        return self.dof.shape[1]

    def row(self, index: int) -> "PlanReference":
        """One of the K alone."""
        one = slice(index, index + 1)
        tables = (self.targets, self.dof, self.body_pos, self.root_rot, self.qpos, self.contacts)
        return PlanReference(FrameState(*(part[one] for part in self.frames)), *(t[one] for t in tables))

    def ahead(self, table: Tensor, frames: Tensor) -> Tensor:
        """Rows [K, S, ...] of a table at frames [S], the last one past the end."""
        return table.index_select(1, frames.clamp_max(self.length - 1))

    def at(self, table: Tensor, frame: int) -> Tensor:
        """Rows [K, ...] of a table at one frame, the last one past the end."""
        return table[:, min(frame, self.length - 1)]

    def start_velocity(self, anatomy: BodyTables, fps: float) -> Tensor:
        """[K, nv] from frame 0 to frame 1."""
        return qpos_difference(anatomy.character, self.qpos[:, 0], self.qpos[:, 1], 1.0 / fps)
