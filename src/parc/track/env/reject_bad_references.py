"""Which clips are worth training on: a reference deep inside a box, or one that teleports, is never tracked and only wastes
samples (references 6-9 cm inside a box never trained). Each refusal has a reason that names the frame and the number.
"""

from dataclasses import dataclass

import torch

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.metrics.clip_batch import ClipBatch, groups
from parc.quality.limit_profiles import TrackerInputLimits
from parc.quality.measure_clip import worst_frames


@dataclass(frozen=True)
class Refusal:
    """A clip that is not tracked, and why."""

    clip: str
    reason: str


def screen_clips(
    character: Character, clips: list[Clip], settings: TrackerInputLimits, device: torch.device | str = "cpu"
) -> tuple[list[Clip], list[Refusal]]:
    """Clips that are fine, and why the others are not. All at one frame rate; measured on `device`, many at a time."""
    if not settings.enabled:
        return list(clips), []
    verdicts: list[Refusal | None] = []
    for group in groups(clips):
        verdicts += _screen_group(character, group, settings, device)
    kept = [clip for clip, verdict in zip(clips, verdicts, strict=True) if verdict is None]
    return kept, [verdict for verdict in verdicts if verdict is not None]


def _screen_group(
    character: Character, clips: list[Clip], settings: TrackerInputLimits, device: torch.device | str
) -> list[Refusal | None]:
    worst = worst_frames(ClipBatch.stack(clips, character, device))
    verdicts: list[Refusal | None] = []
    for i, clip in enumerate(clips):
        values = {name: found[i] for name, (found, _) in worst.items()}
        frames = {name: at[i] for name, (_, at) in worst.items()}
        reasons = settings.faults(values | {"frames": len(clip.motion)}, frames)
        verdicts.append(Refusal(clip.name, reasons[0]) if reasons else None)
    return verdicts
