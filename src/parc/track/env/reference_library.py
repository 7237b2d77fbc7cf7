"""The clips to track, as tables on the device: one row a frame, all clips one after the other.

A world that is at frame f of clip c reads row `start[c] + f` of each table; past the end the last frame stays. Reading is one
gather for all worlds and all future frames. Terrain c of the bank belongs to clip c.
"""

from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from parc.character import rotation
from parc.character.character import Character
from parc.character.joint_coordinates import dof_to_joints, joints_to_dof
from parc.character.kinematics import forward_kinematics
from parc.dataset import clip_edits
from parc.dataset.clip import Clip
from parc.errors import DatasetError
from parc.motion import motion_edits as motion_edit
from parc.motion.motion import Motion
from parc.motion.mujoco_qpos import frames_to_qpos, qpos_to_qvel
from parc.terrain.terrain import TerrainBatch
from parc.track.env.body_tables import BodyTables
from parc.track.env.reject_bad_references import Refusal, ScreenSettings, screen_clips
from parc.track.env.terrain_nearness import near_ground


@dataclass(frozen=True)
class ReferenceSettings:
    screen: ScreenSettings = field(default_factory=ScreenSettings)
    mirrored: bool = False
    """train on the mirror image of every clip too; of no use to a policy that is symmetric by itself"""
    near: float = 0.0
    """m from the ground within which an unlabelled body may touch it (`parc.track.env.terrain_nearness`); 0: labels alone"""


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
    key_velocity: Tensor
    """[F, K, 3] world, m/s, mean over the step that led to the frame"""
    contacts: Tensor
    """[F, B] labels"""
    may_touch: Tensor
    """[F, B] 1 where touching is not asked for but no fault either"""
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
    for clip in clips:
        clip.check_made_for(character)
    kept, refused = screen_clips(character, clips, settings.screen, device)
    if not kept:
        reasons = "; ".join(f"{r.clip} {r.reason}" for r in refused[:3])
        raise DatasetError(f"none of {len(clips)} clips can be tracked" + (f": {reasons}" if reasons else ""))
    if settings.mirrored:
        kept = [twin for clip in kept for twin in (clip, clip_edits.mirror(clip, character))]
    lengths = torch.tensor([len(clip.motion) for clip in kept], device=device)
    tables = _tables(BodyTables(character, device), [clip.motion for clip in kept], lengths, fps)
    if settings.near > 0:
        near = torch.cat(near_ground(character, kept, settings.near, device)).to(device)
        tables["may_touch"] = (near & (tables["contacts"] < 0.5)).float()
    return ReferenceLibrary(
        names=tuple(clip.name for clip in kept),
        start=torch.cumsum(lengths, 0) - lengths,
        length=lengths,
        clip_of_row=torch.repeat_interleave(torch.arange(len(kept), device=device), lengths),
        bank=TerrainBatch.stack([replace(clip.terrain, bounds=None) for clip in kept]).to(device),
        refused=tuple(refused),
        **tables,
    )


def _at_rate(clip: Clip, fps: float) -> Clip:
    if abs(clip.motion.fps - fps) < 1e-6:
        return clip
    return clip.derived(clip.name, f"resample {fps:g}", motion=motion_edit.resample(clip.motion, fps))


def _tables(anatomy: BodyTables, motions: list[Motion], lengths: Tensor, fps: float) -> dict[str, Tensor]:
    """All motions end to end."""

    def joined(parts: list[Tensor]) -> Tensor:
        return torch.cat(parts).to(anatomy.device)

    root_pos, root_rot = joined([m.root_pos for m in motions]), joined([m.root_rot for m in motions])
    joint_rot, contacts = joined([m.joint_rot for m in motions]), joined([m.contacts for m in motions])
    tables = frame_tables(anatomy, root_pos, root_rot, joint_rot, contacts)
    qvel = qpos_to_qvel(anatomy.character, tables["qpos"], lengths, fps)
    return tables | {
        "qvel": qvel,
        "root_angular": rotation.rotate(root_rot, qvel[:, 3:6]),
        "key_velocity": _arriving(tables["body_pos"].index_select(1, anatomy.key_body), lengths) * fps,
        "contacts": contacts,
        "may_touch": torch.zeros_like(contacts),
    }


def frame_tables(
    anatomy: BodyTables, root_pos: Tensor, root_rot: Tensor, joint_rot: Tensor, contacts: Tensor
) -> dict[str, Tensor]:
    """What a tracker reads of frames [..., 3], [..., 4], [..., J, 4], [..., B], but for velocities: see `ReferenceLibrary`.

    Joints go through the DoF vector first, so that turns off a hinge's axis are gone everywhere.
    """
    character = anatomy.character
    dof = joints_to_dof(character, joint_rot)
    joint_rot = dof_to_joints(character, dof)
    body_pos = forward_kinematics(character, root_pos, root_rot, joint_rot).pos
    moving = joint_rot.index_select(-2, anatomy.joint_body - 1)
    keys = anatomy.root_relative(body_pos).index_select(-2, anatomy.key_body)
    shown = [root_pos, rotation.to_sixd(root_rot), keys.flatten(-2), rotation.to_sixd(moving).flatten(-2), contacts]
    return {
        "qpos": frames_to_qpos(character, root_pos, root_rot, joint_rot),
        "body_pos": body_pos,
        "joint_rot": moving,
        "root_rot": root_rot,
        "dof": dof,
        "targets": torch.cat(shown, -1),
    }


def _arriving(points: Tensor, lengths: Tensor) -> Tensor:
    """Steps [F, K, 3] that lead to points [F, K, 3]; the first frame of a motion has that of its second."""
    step = torch.zeros_like(points)
    step[1:] = points.diff(dim=0)
    first = torch.cumsum(lengths, 0) - lengths
    second = first + (lengths > 1)
    step[first] = torch.where((lengths > 1).view(-1, 1, 1), step[second], 0.0)
    return step
