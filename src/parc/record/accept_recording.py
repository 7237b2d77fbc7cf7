"""Is a recorded stretch good data? Length, distance from the reference, on the map, and the right bodies on the terrain.

A policy can pass every termination and still move badly: drag a shin over an edge, lean its chest on a box, catch itself with
its head. How contacts are compared with the reference's labels: `parc.quality.measure_tracking`. A reference without any label
says nothing about contacts and is not judged by them.
"""

import math
from dataclasses import dataclass, replace

from torch import Tensor

from parc.character import rotation
from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.quality.limit_check import fault
from parc.quality.limit_profiles import RecordingLimits
from parc.quality.measure_tracking import contact_quality
from parc.record.choose_segments import RecordedStretch
from parc.record.tracking_attempts import Attempt


@dataclass(frozen=True)
class Judgement:
    """What is said of a recording."""

    reasons: tuple[str, ...]
    """why the stretch is refused, one sentence part each"""
    losses: dict[str, float]
    """for the clip's provenance"""

    @property
    def accepted(self) -> bool:
        """Whether nothing speaks against it."""
        return not self.reasons


def trusted(reference: Clip, attempt: Attempt, settings: RecordingLimits = RecordingLimits()) -> Attempt:
    """The attempt as far as it keeps within the limits for single frames, as if the pose had been lost there.

    Training ends an episode late, so that recovering can be learned; a recording must not show the fall.
    """
    bad = (attempt.errors > settings.worst_error) | (lean(reference, attempt) > settings.worst_lean)
    bad[0] = False
    if not bool(bad.any()):
        return attempt
    stop = int(bad.nonzero()[0])
    return replace(attempt, motion=attempt.motion.slice(0, stop), errors=attempt.errors[:stop], reached_end=False)


def lean(reference: Clip, attempt: Attempt) -> Tensor:
    """[T] rad, the angle between the roots of simulation and reference."""
    meant = reference.motion.root_rot[attempt.start : attempt.stop]
    return rotation.angle(rotation.difference(attempt.motion.root_rot, meant)).abs()


def judge(
    character: Character,
    reference: Clip,
    stretch: RecordedStretch,
    settings: RecordingLimits = RecordingLimits(),
    near: Tensor | None = None,
) -> Judgement:
    """A stretch of an attempt at `reference`; near [T, B]: its bodies are near the ground (`parc.track.env.terrain_nearness`)."""
    attempt, fps = stretch.attempt, reference.motion.fps
    first, last = stretch.begin - attempt.start, stretch.stop - attempt.start
    error, root = attempt.errors[first:last], attempt.motion.root_pos[first:last]
    losses = {
        "tracking_error": float(error.mean()),
        "tracking_error_max": float(error.max()),
        "root_lean_max": float(lean(reference, attempt)[first:last].max()),
        "root_error": float((root - reference.motion.root_pos[stretch.begin : stretch.stop]).norm(dim=-1).mean()),
        "recorded_share": len(stretch) / len(reference.motion),
        "start_seconds": stretch.begin / fps,
    }
    reasons: list[str | None] = []
    if attempt.diverged:
        reasons.append(f"the simulation broke at frame {attempt.stop}")
    reasons.append(fault("seconds", len(stretch) / fps, round(settings.shortest * fps) / fps))
    off = (~reference.terrain.contains(root[:, :2])).nonzero()
    if len(off) and settings.on_terrain:
        reasons.append(f"leaves the terrain at frame {stretch.begin + int(off[0])}")
    labels = reference.motion.contacts > 0.5
    if bool(labels.any()):
        simulated = attempt.motion.contacts[first:last] > 0.5
        losses |= contact_quality(character, labels, simulated, stretch.begin, settings.slack, near)
    values = dict.fromkeys(settings.measures.values(), math.nan) | losses
    reasons += settings.faults(values)
    return Judgement(tuple(reason for reason in reasons if reason), losses)
