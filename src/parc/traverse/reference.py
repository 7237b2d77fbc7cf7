"""References that are still being written: B generated motions side by side, as the tables a tracker reads.

`parc.track.reference` lays out finished clips one after the other. Here every row has its own short motion of L frames, made
anew whenever the plan changes; frame 0 is the present. Past the end the last frame stays.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from parc.character import rotation
from parc.character.kinematics import forward_kinematics
from parc.character.pose import dof_to_joints, joints_to_dof
from parc.generate.frame import FrameState
from parc.motion.qpos import frames_to_qpos, qpos_difference
from parc.track.anatomy import Anatomy


@dataclass(frozen=True, eq=False)
class References:
    body_pos: Tensor
    """[B, L, bodies, 3] world, m"""
    root_rot: Tensor
    """[B, L, 4] xyzw"""
    dof: Tensor
    """[B, L, D] motor targets that ask for the frame's pose"""
    targets: Tensor
    """[B, L, W] what an observation shows of a future frame"""
    qpos: Tensor
    """[B, L, nq]"""
    contacts: Tensor
    """[B, L, bodies]"""

    @classmethod
    def of(cls, anatomy: Anatomy, frames: FrameState) -> "References":
        """Of frames [B, L, ...]. Turns off a hinge's axis are dropped everywhere, as a tracker expects."""
        character = anatomy.character
        root_rot = rotation.from_matrix(frames.root_rot)
        dof = joints_to_dof(character, rotation.from_matrix(frames.joint_rot))
        joint_rot = dof_to_joints(character, dof)
        body_pos = forward_kinematics(character, frames.root_pos, root_rot, joint_rot).pos
        keys = anatomy.root_relative(body_pos).index_select(-2, anatomy.key_body)
        moving = rotation.to_sixd(joint_rot.index_select(-2, anatomy.joint_body - 1))
        shown = [frames.root_pos, rotation.to_sixd(root_rot), keys.flatten(-2), moving.flatten(-2), frames.contacts]
        qpos = frames_to_qpos(character, frames.root_pos, root_rot, joint_rot)
        return cls(body_pos, root_rot, dof, torch.cat(shown, -1), qpos, frames.contacts)

    def __len__(self) -> int:
        return self.dof.shape[0]

    @property
    def frames(self) -> int:
        return self.dof.shape[1]

    def start_velocity(self, anatomy: Anatomy, fps: float) -> Tensor:
        """[B, nv] from frame 0 to frame 1."""
        return qpos_difference(anatomy.character, self.qpos[:, 0], self.qpos[:, 1], 1.0 / fps)

    def ahead(self, table: Tensor, frames: Tensor) -> Tensor:
        """Rows [B, S, ...] of a table at frames [S], the last one past the end."""
        return table.index_select(1, frames.clamp_max(self.frames - 1))
