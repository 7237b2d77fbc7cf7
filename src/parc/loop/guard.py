"""What may join the data set: no bad clips, no copies, and a warning when everything begins to look alike.

A loop that trains on its own output can feed on its faults. Three rules stand against that:

1. *Quality*: a clip that sinks, floats, slides, shakes, or strayed far from its reference is refused, with the reasons.
2. *Copies*: clips are put into the heading frame of their first frame and sampled at 16 times from start to end. The distance
   of two clips of about equal length is the root mean square over times and bodies of the distance of body positions

       d(a, b) = sqrt( mean_{k, b} |p_a[k, b] - p_b[k, b]|^2 )

   and a clip nearer than `nearest` to one that is in the set, or to one that joins before it, is refused.
3. *Diversity*: the mean distance of random pairs of half-second windows, in deviations of the starting set. When that of the new
   clips falls below a share of the starting set's, the report says so.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from parc.character import rotation
from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.errors import MotionError, SettingsError
from parc.metrics.batch import ClipBatch
from parc.metrics.distribution import diversity, window_features
from parc.metrics.measure import measure_clips

_SAMPLES = 16
_AT_ONCE = 64
"""clips whose features are computed together, to bound memory"""


@dataclass(frozen=True)
class QualityLimits:
    """Largest values of a clip that may join."""

    pen_mm: float = 20.0
    """mm, deepest point, mean over frames"""
    pen_frames: float = 25.0
    """% of frames deeper than 2 cm"""
    floating: float = 10.0
    """% of frames in the air that do not fall"""
    foot_skate: float = 40.0
    """% of contact frames that slide"""
    hjf_paper: float = 15.0
    """% of frames with a body over the jerk limit"""
    tracking_error: float = 0.15
    """m, mean distance from the reference, where a clip was recorded"""


@dataclass(frozen=True)
class GuardSettings:
    quality: QualityLimits | None = field(default_factory=QualityLimits)
    """None: any quality will do"""
    shortest: float = 1.0
    """s"""
    nearest: float = 0.04
    """m, least distance d from every other clip; 0: copies are welcome"""
    length_ratio: float = 0.1
    """clips whose lengths differ by more than this share are no copies of each other"""
    least_diversity: float = 0.5
    """share of the starting set's, below which new clips count as collapsed"""

    def __post_init__(self) -> None:
        if self.nearest < 0 or self.shortest < 0 or not 0 <= self.length_ratio < 1:
            raise SettingsError(
                f"nearest is {self.nearest} m, shortest {self.shortest} s, length_ratio {self.length_ratio}; expected >= 0 (< 1)"
            )


@dataclass(frozen=True)
class Verdict:
    clip: str
    reasons: tuple[str, ...]
    """why it may not join; empty: it may"""
    metrics: dict[str, float]

    @property
    def joins(self) -> bool:
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
    faults = []
    if metrics["seconds"] < settings.shortest - 1e-6:
        faults.append(f"lasts {metrics['seconds']:.2f} s, {settings.shortest:g} s are the least")
    if settings.quality is None:
        return faults
    values = metrics | {"tracking_error": clip.provenance.losses.get("tracking_error", 0.0)}
    for name in QualityLimits.__dataclass_fields__:
        limit = getattr(settings.quality, name)
        if values[name] > limit:  # False for a metric that has no meaning here (NaN)
            faults.append(f"{name} is {values[name]:.3g}, {limit:g} is the limit")
    return faults


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


def features_of(clips: Sequence[Clip], character: Character, device: torch.device | str = "cpu") -> Tensor | None:
    """Features [M, F] of all half-second windows; None if no clip is that long."""
    parts = []
    for start in range(0, len(clips), _AT_ONCE):
        with_window = [clip for clip in clips[start : start + _AT_ONCE] if abs(clip.motion.fps - 30.0) < 1e-6]
        try:
            parts.append(window_features(ClipBatch.stack(with_window, character, device)))
        except MotionError:
            continue
    return torch.cat(parts) if parts else None


@dataclass(frozen=True)
class Diversity:
    start: float
    """of the starting set"""
    new: float
    """of what this iteration adds; NaN if that is nothing"""
    all: float
    """of the set with it"""
    least: float
    """share of `start` below which `new` has collapsed"""

    @property
    def warning(self) -> str | None:
        if not self.new < self.least * self.start:
            return None
        return (
            f"the new clips are only {100 * self.new / self.start:.0f} % as diverse as the starting set "
            f"({100 * self.least:g} % is the least); more kinds of terrain or a higher share of old data may help"
        )


def measure_diversity(
    start: Sequence[Clip],
    new: Sequence[Clip],
    everything: Sequence[Clip],
    character: Character,
    settings: GuardSettings = GuardSettings(),
    device: torch.device | str = "cpu",
) -> Diversity:
    ground = features_of(start, character, device)

    def of(clips: Sequence[Clip]) -> float:
        features = features_of(clips, character, device)
        return float("nan") if ground is None or features is None else diversity(features, against=ground)

    return Diversity(of(start), of(new), of(everything), settings.least_diversity)
