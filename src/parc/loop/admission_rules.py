"""What may join the data set: no bad clips, no copies, and no surplus when everything begins to look alike.

A loop that trains on its own output can feed on its faults. Three rules stand against that:

1. *Quality*: a clip that sinks, floats, slides, shakes, or strayed far from its reference is refused, with the reasons.
2. *Copies*: clips are put into the heading frame of their first frame and sampled at 16 times from start to end. The distance
   of two clips of about equal length is the root mean square over times and bodies of the distance of body positions

       d(a, b) = sqrt( mean_{k, b} |p_a[k, b] - p_b[k, b]|^2 )

   and a clip nearer than `nearest` to one that is in the set, or to one that joins before it, is refused.
3. *Diversity*: when the new clips are much less diverse than the starting set, those most alike are refused until the others
   are diverse enough (`parc.loop.diversity`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from parc.character import rotation
from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.errors import SettingsError
from parc.loop.diversity import Diversity, diversity_of, features_of, find_surplus
from parc.metrics.clip_measures import measure_clips
from parc.quality.limit_check import fault
from parc.quality.limit_profiles import AdmissionLimits

_SAMPLES = 16


@dataclass(frozen=True)
class GuardSettings:
    """Which clips may join the data set."""

    quality: AdmissionLimits | None = field(default_factory=AdmissionLimits)
    """None: any quality will do"""
    shortest: float = 1.0
    """s"""
    nearest: float = 0.04
    """m, least distance d from every other clip; 0: copies are welcome"""
    length_ratio: float = 0.1
    """clips whose lengths differ by more than this share are no copies of each other"""
    least_diversity: float = 0.5
    """share of the starting set's, below which new clips count as collapsed"""
    judged_from: int = 20
    """new clips; fewer say nothing about diversity"""
    refuse_surplus: bool = True
    """of collapsed clips only so many join that they are diverse enough; False: all join, and the report says so"""

    @classmethod
    def off(cls) -> "GuardSettings":
        """Everything joins, as in the paper; how diverse it is is still told."""
        return cls(quality=None, shortest=0.0, nearest=0.0, refuse_surplus=False)

    def __post_init__(self) -> None:
        if not 0 <= self.least_diversity < 1:
            raise SettingsError(f"least_diversity is {self.least_diversity}, expected a share from 0 to under 1")
        if self.nearest < 0 or self.shortest < 0 or not 0 <= self.length_ratio < 1:
            raise SettingsError(
                f"nearest is {self.nearest} m, shortest {self.shortest} s, length_ratio {self.length_ratio}; expected >= 0 (< 1)"
            )


@dataclass(frozen=True)
class Verdict:
    """Whether a clip may join, and why not."""

    clip: str
    reasons: tuple[str, ...]
    """why it may not join; empty: it may"""
    metrics: dict[str, float]
    is_surplus: bool = False
    """sound, and refused because the new clips are too much alike"""

    @property
    def joins(self) -> bool:
        """Whether the motion joins the data set."""
        return not self.reasons


def judge_clips(
    new: Sequence[Clip],
    present: Sequence[Clip],
    character: Character,
    settings: GuardSettings = GuardSettings(),
    device: torch.device | str = "cpu",
) -> list[Verdict]:
    """Which of the new clips may join those present, in order: of two copies the first joins."""
    measured = measure_clips(new, character, device)
    reasons = [quality_faults(clip, values, settings) for clip, values in zip(new, measured, strict=True)]
    if settings.nearest > 0 and new:
        sound = [i for i in range(len(new)) if not reasons[i]]
        copies = find_copies([new[i] for i in sound], present, character, settings)
        for i, original in zip(sound, copies, strict=True):
            if original is not None:
                reasons[i].append(
                    f"is a copy of '{original[0]}' ({original[1]:.3f} m apart, {settings.nearest:g} m are the least)"
                )
    return [Verdict(clip.name, tuple(why), m) for clip, why, m in zip(new, reasons, measured, strict=True)]


def quality_faults(clip: Clip, metrics: dict[str, float], settings: GuardSettings) -> list[str]:
    """What is wrong with a clip, one sentence part each."""
    short = fault("seconds", metrics["seconds"] + 1e-6, settings.shortest)
    faults = [short] if short else []
    if settings.quality is None:
        return faults
    values = metrics | {"tracking_error": clip.provenance.losses.get("tracking_error", 0.0)}
    return [*faults, *settings.quality.faults(values)]


def find_copies(
    new: Sequence[Clip], present: Sequence[Clip], character: Character, settings: GuardSettings
) -> list[tuple[str, float] | None]:
    """For each new clip the name of a clip it repeats and how far apart they are, or None."""
    if not new:
        return []
    everyone = [*present, *new]
    signs = torch.stack([signature(clip, character) for clip in everyone])
    seconds = torch.tensor([len(clip.motion) / clip.motion.fps for clip in everyone])
    allowed = torch.ones(len(everyone), dtype=torch.bool)
    found: list[tuple[str, float] | None] = []
    for i in range(len(present), len(everyone)):
        apart = (signs[:i] - signs[i]).square().mean(1).mul(3).sqrt()  # the mean is over coordinates, three to a body
        alike = (seconds[:i] - seconds[i]).abs() <= settings.length_ratio * torch.maximum(seconds[:i], seconds[i])
        apart = torch.where(alike & allowed[:i], apart, torch.inf)
        nearest = int(apart.argmin()) if i else -1
        is_copy = nearest >= 0 and float(apart[nearest]) < settings.nearest
        found.append((everyone[nearest].name, float(apart[nearest])) if is_copy else None)
        allowed[i] = not is_copy
    return found


def signature(clip: Clip, character: Character) -> Tensor:
    """Body positions at evenly spaced times, in the heading frame of the first frame, flat; see d in the module's docstring."""
    at = torch.linspace(0, len(clip.motion) - 1, _SAMPLES).round().long()
    pos = clip.motion.body_poses(character).pos[at]
    turn = rotation.conjugate(rotation.heading(clip.motion.root_rot[0]))
    return rotation.rotate(turn, pos - clip.motion.root_pos[0]).flatten()


def refuse_surplus(
    verdicts: Sequence[Verdict],
    new: Sequence[Clip],
    start: Sequence[Clip],
    present: Sequence[Clip],
    character: Character,
    settings: GuardSettings = GuardSettings(),
    device: torch.device | str = "cpu",
) -> tuple[list[Verdict], Diversity, str | None]:
    """Verdicts on the new clips with the surplus refused too, the diversity, and a sentence if it has collapsed."""
    ground = features_of(start, character, device)
    sound = [i for i, verdict in enumerate(verdicts) if verdict.joins]

    def of(clips: Sequence[Clip]) -> float:
        return diversity_of(clips, ground, character, device)

    base, share = of(start), settings.least_diversity
    before = of([new[i] for i in sound])
    judged = Diversity(base, before, before, math.nan, share)
    verdicts, warning = list(verdicts), None
    if ground is not None and len(sound) >= settings.judged_from and judged.has_collapsed:
        warning = f"{judged.sentence}; more kinds of terrain or a higher share of old data may help"
        if settings.refuse_surplus:
            surplus = find_surplus([new[i] for i in sound], ground, share * base, character, device)
            for i in (sound[k] for k in surplus):
                reason = f"is surplus: {judged.sentence}, and it is among those most alike"
                verdicts[i] = replace(verdicts[i], reasons=(reason,), is_surplus=True)
            left = len(sound) - len(surplus)
            warning = f"{judged.sentence}: {_outcome(len(surplus), left)}; more kinds of terrain may help"
    joining = [clip for clip, verdict in zip(new, verdicts, strict=True) if verdict.joins]
    return verdicts, replace(judged, joined=of(joining), all=of([*present, *joining])), warning


def _outcome(surplus: int, left: int) -> str:
    if left:
        return f"the {surplus} most alike were refused, {left} joined"
    return f"none of the {surplus} joined, and the data set stays as it is"
