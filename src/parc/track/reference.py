"""The clips to track, as tables on the device: one row a frame, all clips one after the other.

A world that is at frame f of clip c reads row `start[c] + f` of each table; past the end the last frame stays. Reading is one
gather for all worlds and all future frames. Terrain c of the bank belongs to clip c.
"""

from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from parc.character import rotation
from parc.character.character import Character
from parc.character.kinematics import forward_kinematics
from parc.character.pose import dof_to_joints, joints_to_dof
from parc.dataset import edit
from parc.dataset.clip import Clip
from parc.errors import DatasetError
from parc.motion import edit as motion_edit
from parc.motion.motion import Motion
from parc.physics.state import motion_to_qpos, motion_to_qvel
from parc.terrain.terrain import TerrainBatch
from parc.track.anatomy import Anatomy
from parc.track.screen import Refusal, ScreenSettings, screen_clips


@dataclass(frozen=True)
class ReferenceSettings:
    screen: ScreenSettings = field(default_factory=ScreenSettings)
    mirrored: bool = False
    """train on the mirror image of every clip too; of no use to a policy that is symmetric by itself"""


_STANDARD = ReferenceSettings()


@dataclass(frozen=True, eq=False)
class ReferenceLibrary:
    names: tuple[str, ...]
    start: Tensor
    """[C] first row of each clip"""
    length: Tensor
    """[C] frames of each clip"""
    clip_of_row: Tensor
    """[F]"""
    qpos: Tensor
    """[F, nq]"""
    qvel: Tensor
    """[F, nv]"""
    body_pos: Tensor
    """[F, B, 3] world"""
    joint_rot: Tensor
    """[F, J, 4] xyzw, moving joints"""
    root_rot: Tensor
    """[F, 4] xyzw"""
    root_angular: Tensor
    """[F, 3] world, rad/s"""
    contacts: Tensor
    """[F, B]"""
    dof: Tensor
    """[F, D] motor targets that ask for the frame's pose"""
    targets: Tensor
    """[F, W] what an observation shows of a future frame: root position, root axes, key positions, joint 6D, contacts"""
    bank: TerrainBatch
    refused: tuple[Refusal, ...]

    @property
    def num_clips(self) -> int:
        return len(self.names)

    @property
    def num_frames(self) -> int:
        return self.qpos.shape[0]

    @property
    def seconds(self) -> float:
        """Of reference motion at 30 frames a second of control."""
        return float((self.length - 1).sum()) / 30.0

    def row(self, clip: Tensor, frame: Tensor) -> Tensor:
        """Rows of frames [...] of clips [...], the last one past the end."""
        return self.start[clip] + torch.minimum(frame, self.length[clip] - 1)


def build_library(
    character: Character,
    clips: list[Clip],
    settings: ReferenceSettings = _STANDARD,
    device: torch.device | str = "cpu",
    fps: float = 30.0,
) -> ReferenceLibrary:
    """Screens the clips, brings them to the control rate, and lays them out."""
    clips = [_at_rate(clip, fps) for clip in clips]
    kept, refused = screen_clips(character, clips, settings.screen)
    if not kept:
        reasons = "; ".join(f"{r.clip} {r.reason}" for r in refused[:3])
        raise DatasetError(f"none of {len(clips)} clips can be tracked" + (f": {reasons}" if reasons else ""))
    if settings.mirrored:
        kept = [twin for clip in kept for twin in (clip, edit.mirror(clip, character))]
    anatomy = Anatomy(character, "cpu")
    columns = [_columns(anatomy, clip.motion) for clip in kept]
    lengths = torch.tensor([len(clip.motion) for clip in kept])
    tables = {name: torch.cat([c[name] for c in columns]).contiguous().to(device) for name in columns[0]}
    return ReferenceLibrary(
        names=tuple(clip.name for clip in kept),
        start=(torch.cumsum(lengths, 0) - lengths).to(device),
        length=lengths.to(device),
        clip_of_row=torch.repeat_interleave(torch.arange(len(kept)), lengths).to(device),
        bank=TerrainBatch.stack([replace(clip.terrain, bounds=None) for clip in kept]).to(device),
        refused=tuple(refused),
        **tables,
    )


def _at_rate(clip: Clip, fps: float) -> Clip:
    if abs(clip.motion.fps - fps) < 1e-6:
        return clip
    return clip.derived(clip.name, f"resample {fps:g}", motion=motion_edit.resample(clip.motion, fps))


def _columns(anatomy: Anatomy, motion: Motion) -> dict[str, Tensor]:
    """Tables of one clip. Joints are put through the DoF vector first, so that turns off a hinge's axis are gone everywhere."""
    character = anatomy.character
    dof = joints_to_dof(character, motion.joint_rot)
    joint_rot = dof_to_joints(character, dof)
    clean = replace(motion, joint_rot=joint_rot)
    pose = forward_kinematics(character, motion.root_pos, motion.root_rot, joint_rot)
    qvel = motion_to_qvel(character, clean)
    moving = joint_rot.index_select(1, anatomy.joint_body - 1)
    keys = anatomy.root_relative(pose.pos).index_select(1, anatomy.key_body)
    sixd = rotation.to_sixd(motion.root_rot)
    shown = [motion.root_pos, sixd, keys.flatten(1), rotation.to_sixd(moving).flatten(1), motion.contacts]
    return {
        "qpos": motion_to_qpos(character, clean),
        "qvel": qvel,
        "body_pos": pose.pos,
        "joint_rot": moving,
        "root_rot": motion.root_rot,
        "root_angular": rotation.rotate(motion.root_rot, qvel[:, 3:6]),
        "contacts": motion.contacts,
        "dof": dof,
        "targets": torch.cat(shown, -1),
    }
