"""The clips to track as one reference table (`parc.track.follow.reference_table`): screened, at the control rate, end to end."""

from dataclasses import dataclass, field, replace

import torch

from parc.character.character import Character
from parc.dataset import clip_edits
from parc.dataset.clip import Clip
from parc.errors import DatasetError
from parc.motion import motion_edits as motion_edit
from parc.quality.limit_profiles import TrackerInputLimits
from parc.terrain.terrain import TerrainBatch
from parc.track.env.body_tables import BodyTables
from parc.track.env.reject_bad_references import Refusal, screen_clips
from parc.track.env.terrain_nearness import near_ground
from parc.track.follow.reference_table import FrameRows, ReferenceTable, frame_velocities


@dataclass(frozen=True)
class ReferenceSettings:
    """Which clips are tracked, and what of them."""

    screen: TrackerInputLimits = field(default_factory=TrackerInputLimits)
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
    anatomy, lengths = BodyTables(character, device), torch.tensor([len(clip.motion) for clip in kept], device=device)
    # All motions end to end.
    columns = ([getattr(clip.motion, name) for clip in kept] for name in ("root_pos", "root_rot", "joint_rot", "contacts"))
    rows = FrameRows.of(anatomy, *(torch.cat(parts).to(device) for parts in columns))
    start, strip = torch.cumsum(lengths, 0) - lengths, torch.repeat_interleave(torch.arange(len(kept), device=device), lengths)
    frame = torch.arange(len(strip), device=device) - start[strip]
    may_touch = torch.zeros_like(rows.contacts)
    if settings.near > 0:
        near = torch.cat(near_ground(character, kept, settings.near, device)).to(device)
        may_touch = (near & (rows.contacts < 0.5)).float()
    return ReferenceLibrary(
        names=tuple(clip.name for clip in kept),
        start=start,
        length=lengths,
        strip_of_row=strip,
        bank=TerrainBatch.stack([replace(clip.terrain, bounds=None) for clip in kept]).to(device),
        refused=tuple(refused),
        may_touch=may_touch,
        **rows._asdict(),
        **frame_velocities(anatomy, rows, start[strip], frame, lengths[strip] - 1, fps),
    )


def _at_rate(clip: Clip, fps: float) -> Clip:
    if abs(clip.motion.fps - fps) < 1e-6:
        return clip
    return clip.derived(clip.name, f"resample {fps:g}", motion=motion_edit.resample(clip.motion, fps))
