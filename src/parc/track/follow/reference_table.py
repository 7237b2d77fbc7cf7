"""What bodies follow: strips of frames as tables on the device, one row a frame, all strips one after the other.

A body at frame f of strip c reads row `start[c] + f` of each table; past the end the last frame stays. Reading is one gather for
all bodies and all future frames. A strip is a clip, shared by every body that follows it (`parc.track.env.reference_library` lays
clips out), or it is one body's own and has room for frames that are written while the body runs:

    start[0]            start[1]                                 start[2]
    | clip 0, 5 frames  | plan of body 7: 4 frames, room for 9   | ...
                          0 1 2 3 . . . . .

`write` replaces frames `at`, `at` + 1, .. of strips and forgets what came later; it is batched, waits for nothing on the host,
and tables keep their addresses, so it can be part of a CUDA graph, or happen between replays of graphs that read the tables.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from parc.character import rotation
from parc.character.joint_coordinates import dof_to_joints, joints_to_dof
from parc.character.kinematics import forward_kinematics
from parc.motion.frame_state import FrameState
from parc.motion.mujoco_qpos import frames_to_qpos, qpos_difference, state_layout
from parc.track.env.body_tables import BodyTables


class FrameRows(NamedTuple):
    """What a tracker reads of frames, but for velocities: the columns of a `ReferenceTable`, with any leading dims."""

    qpos: Tensor
    body_pos: Tensor
    joint_rot: Tensor
    root_rot: Tensor
    dof: Tensor
    targets: Tensor
    contacts: Tensor

    @classmethod
    def of(cls, anatomy: BodyTables, root_pos: Tensor, root_rot: Tensor, joint_rot: Tensor, contacts: Tensor) -> "FrameRows":
        """Of frames [..., 3], [..., 4], [..., J, 4], [..., B].

        Joints go through the DoF vector first, so that turns off a hinge's axis are gone everywhere.
        """
        character = anatomy.character
        dof = joints_to_dof(character, joint_rot)
        joint_rot = dof_to_joints(character, dof)
        body_pos = forward_kinematics(character, root_pos, root_rot, joint_rot).pos
        moving = joint_rot.index_select(-2, anatomy.joint_body - 1)
        keys = anatomy.root_relative(body_pos).index_select(-2, anatomy.key_body)
        shown = [root_pos, rotation.to_sixd(root_rot), keys.flatten(-2), rotation.to_sixd(moving).flatten(-2), contacts]
        qpos = frames_to_qpos(character, root_pos, root_rot, joint_rot)
        return cls(qpos, body_pos, moving, root_rot, dof, torch.cat(shown, -1), contacts)

    @classmethod
    def of_frames(cls, anatomy: BodyTables, frames: FrameState) -> "FrameRows":
        """Of frames as a generator writes them."""
        root_rot, joint_rot = rotation.from_matrix(frames.root_rot), rotation.from_matrix(frames.joint_rot)
        return cls.of(anatomy, frames.root_pos, root_rot, joint_rot, frames.contacts)


@dataclass(frozen=True, eq=False, kw_only=True)
class ReferenceTable:
    """C strips, F rows in all. The columns are those of `FrameRows`, and four that only a reward or a start needs."""

    start: Tensor
    """[C] first row of each strip"""
    length: Tensor
    """[C] frames of each strip"""
    strip_of_row: Tensor
    """[F]"""
    qpos: Tensor
    """[F, nq]"""
    body_pos: Tensor
    """[F, B, 3] world"""
    joint_rot: Tensor
    """[F, J, 4] xyzw, moving joints"""
    root_rot: Tensor
    """[F, 4] xyzw"""
    dof: Tensor
    """[F, D] motor targets that ask for the frame's pose"""
    targets: Tensor
    """[F, W] what an observation shows of a future frame: root position, root axes, key positions, joint 6D, contacts"""
    contacts: Tensor
    """[F, B] labels"""
    qvel: Tensor
    """[F, nv] central differences, one-sided at the two ends"""
    root_angular: Tensor
    """[F, 3] world, rad/s"""
    key_velocity: Tensor
    """[F, K, 3] world, m/s, mean over the step that led to the frame; the first frame has that of the second"""
    may_touch: Tensor
    """[F, B] 1 where touching is not asked for but no fault either"""

    @property
    def num_frames(self) -> int:
        """F"""
        return self.qpos.shape[0]

    def row(self, strip: Tensor, frame: Tensor) -> Tensor:
        """Rows of frames [...] of strips [...], the last one past the end."""
        return self.start[strip] + torch.minimum(frame, self.length[strip] - 1)


@dataclass(frozen=True, eq=False, kw_only=True)
class WrittenTable(ReferenceTable):
    """Strips with room for frames that are written while bodies follow them. One row more than they need takes what is void."""

    anatomy: BodyTables
    room: int
    """frames that a strip can hold"""
    fps: float
    velocities: bool
    """the last four columns are kept too; else they stay 0"""
    touching: float = 0.0
    """what `may_touch` says of every frame that is written"""

    @classmethod
    def empty(
        cls, anatomy: BodyTables, strips: int, room: int, fps: float, velocities: bool = True, touching: float = 0.0
    ) -> "WrittenTable":
        """One frame a strip, all zeros: `write` before anything reads."""
        device, bodies = anatomy.device, anatomy.character.num_bodies
        still = FrameState(
            torch.zeros(1, 3, device=device),
            torch.eye(3, device=device).expand(1, 3, 3),
            torch.eye(3, device=device).expand(1, bodies - 1, 3, 3),
            torch.zeros(1, bodies, device=device),
        )
        rows = strips * room + 1

        def zeros(*shape: int) -> Tensor:
            return torch.zeros(rows, *shape, device=device)

        return cls(
            start=room * torch.arange(strips, device=device),
            length=torch.ones(strips, dtype=torch.long, device=device),
            strip_of_row=(torch.arange(rows, device=device) // room).clamp_max(strips - 1),
            **{name: zeros(*part.shape[1:]) for name, part in FrameRows.of_frames(anatomy, still)._asdict().items()},
            qvel=zeros(state_layout(anatomy.character).nv),
            root_angular=zeros(3),
            key_velocity=zeros(anatomy.num_keys, 3),
            may_touch=zeros(bodies),
            anatomy=anatomy,
            room=room,
            fps=fps,
            velocities=velocities,
            touching=touching,
        )

    def write(self, strips: Tensor, at: Tensor | int, frames: FrameRows | FrameState) -> None:
        """Frames [M, n, ...] become frames `at` ([M], or one for all), `at` + 1, .. of strips [M]; what came later is forgotten.

        `strips` may be a mask [C] instead: then frames are [C, n, ...], and those of other strips are left alone. What a strip
        has no room for is dropped.
        """
        rows = frames if isinstance(frames, FrameRows) else FrameRows.of_frames(self.anatomy, frames)
        count, device = rows.qpos.shape[1], self.start.device
        is_mask = strips.dtype == torch.bool
        index = torch.arange(len(strips), device=device) if is_mask else strips
        first = at if isinstance(at, Tensor) else torch.full(index.shape, at, device=device)
        wanted = strips.unsqueeze(1) if is_mask else torch.ones_like(index, dtype=torch.bool).unsqueeze(1)

        # Void frames go to the last row, which nobody reads: no host needs to know how many there are.
        frame = first.unsqueeze(1) + torch.arange(count, device=device)
        target = self._targets_of(index, frame, wanted)
        for name, part in rows._asdict().items():
            getattr(self, name).index_copy_(0, target, part.flatten(0, 1))
        length = (first + count).clamp_max(self.room)
        self.length.copy_(torch.where(strips, length, self.length)) if is_mask else self.length.index_copy_(0, index, length)
        if self.velocities:
            self._write_velocities(index, first, count, wanted)

    def _write_velocities(self, index: Tensor, first: Tensor, count: int, wanted: Tensor) -> None:
        """Of the frames just written and of the one before them, whose next frame is another now."""
        frame = first.unsqueeze(1) + torch.arange(-1, count, device=first.device)
        target = self._targets_of(index, frame, wanted)
        last = (first + count - 1).clamp_max(self.room - 1).unsqueeze(1)
        here = torch.minimum(frame.clamp_min(0), last)
        for name, part in frame_velocities(self.anatomy, self, self.start[index].unsqueeze(1), here, last, self.fps).items():
            getattr(self, name).index_copy_(0, target, part.flatten(0, 1))
        self.may_touch.index_fill_(0, target, self.touching)

    def _targets_of(self, index: Tensor, frame: Tensor, wanted: Tensor) -> Tensor:
        """Rows, flat, of frames [M, n] of strips [M]; the void row for those that are not `wanted` [M, 1] or do not exist."""
        exists = wanted & (frame >= 0) & (frame < self.room)
        return torch.where(exists, self.start[index].unsqueeze(1) + frame, self.num_frames - 1).flatten()


def frame_velocities(
    anatomy: BodyTables, rows: FrameRows | ReferenceTable, begin: Tensor, frame: Tensor, last: Tensor, fps: float
) -> dict[str, Tensor]:
    """Columns of velocities, of frames [...] of strips that begin in rows `begin` [...] and end with frames `last` [...]."""
    before, after = (frame - 1).clamp_min(0), torch.minimum(frame + 1, last)
    step = qpos_difference(anatomy.character, rows.qpos[begin + before], rows.qpos[begin + after], 1.0 / fps)
    qvel = step / (after - before).clamp_min(1).unsqueeze(-1)
    # The step that led here; nothing led to frame 0, which has that of frame 1.
    end = torch.where(frame == 0, after, frame)
    there, here = (rows.body_pos[begin + at].index_select(-2, anatomy.key_body) for at in ((end - 1).clamp_min(0), end))
    return {
        "qvel": qvel,
        "root_angular": rotation.rotate(rows.root_rot[begin + frame], qvel[..., 3:6]),
        "key_velocity": (here - there) * fps,
    }
