"""The clips to track as one reference table (`parc.track.follow.reference_table`): screened, at the control rate, end to end."""

from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from parc.character import rotation
from parc.character.character import Character
from parc.dataset import clip_edits
from parc.dataset.clip import Clip
from parc.errors import DatasetError
from parc.motion import motion_edits as motion_edit
from parc.motion.motion import Motion
from parc.motion.mujoco_qpos import qpos_to_qvel
from parc.terrain.terrain import TerrainBatch
from parc.track.env.body_tables import BodyTables
from parc.track.env.reject_bad_references import Refusal, ScreenSettings, screen_clips
from parc.track.env.terrain_nearness import near_ground
from parc.track.follow.reference_table import FrameRows, ReferenceTable


@dataclass(frozen=True)
class ReferenceSettings:
    """Which clips are tracked, and what of them."""

    screen: ScreenSettings = field(default_factory=ScreenSettings)
    mirrored: bool = False
    """train on the mirror image of every clip too; of no use to a policy that is symmetric by itself"""
    near: float = 0.0
    """m from the ground within which an unlabelled body may touch it (`parc.track.env.terrain_nearness`); 0: labels alone"""


_STANDARD = ReferenceSettings()


@dataclass(frozen=True, eq=False, kw_only=True)
class ReferenceLibrary(ReferenceTable):
    """Clips as strips; terrain c of the bank belongs to clip c."""

    names: tuple[str, ...]
    bank: TerrainBatch
    refused: tuple[Refusal, ...]

    @property
    def num_clips(self) -> int:
        """C"""
        return len(self.names)

    @property
    def seconds(self) -> float:
        """Of reference motion at 30 frames a second of control."""
        return float((self.length - 1).sum()) / 30.0


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
        strip_of_row=torch.repeat_interleave(torch.arange(len(kept), device=device), lengths),
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
    rows = FrameRows.of(anatomy, root_pos, root_rot, joint_rot, contacts)
    qvel = qpos_to_qvel(anatomy.character, rows.qpos, lengths, fps)
    return rows._asdict() | {
        "qvel": qvel,
        "root_angular": rotation.rotate(root_rot, qvel[:, 3:6]),
        "key_velocity": _arriving(rows.body_pos.index_select(1, anatomy.key_body), lengths) * fps,
        "may_touch": torch.zeros_like(contacts),
    }


def _arriving(points: Tensor, lengths: Tensor) -> Tensor:
    """Steps [F, K, 3] that lead to points [F, K, 3]; the first frame of a motion has that of its second."""
    step = torch.zeros_like(points)
    step[1:] = points.diff(dim=0)
    first = torch.cumsum(lengths, 0) - lengths
    second = first + (lengths > 1)
    step[first] = torch.where((lengths > 1).view(-1, 1, 1), step[second], 0.0)
    return step
