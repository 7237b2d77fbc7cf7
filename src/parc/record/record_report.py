"""What became of each clip, and of all together. Stored with every unit, so a resumed job reports like an unbroken one."""

from dataclasses import dataclass
from typing import Any, Literal

Fate = Literal["whole", "late", "salvaged", "lost", "unfit"]
"""whole: tracked from its first frame to its end; late: from a later start to its end; salvaged: only stretches of it;
lost: nothing usable; unfit: could not be tried"""


@dataclass(frozen=True)
class ClipOutcome:
    """What became of one clip."""

    clip: str
    fate: Fate
    seconds: float
    """of the reference"""
    recorded: tuple[str, ...] = ()
    """names of the clips made of it, mirrored copies not counted"""
    recorded_seconds: float = 0.0
    """of those clips"""
    reasons: tuple[str, ...] = ()
    """why stretches were refused, or the clip not tried"""
    tpl: tuple[float, float] = (0.0, 0.0)
    """m, of the reference and of the recording over the same frames, summed over its stretches"""
    tcl: tuple[float, float] = (0.0, 0.0)
    """m, likewise"""
    self_pen_frames: tuple[float, float] = (0.0, 0.0)
    """%, frames with bodies in each other, of all frames of its stretches"""


@dataclass(frozen=True)
class RecordReport:
    """What became of all clips."""

    outcomes: tuple[ClipOutcome, ...]

    def share(self, *fates: Fate) -> float:
        """Share of the clips with one of these fates."""
        return sum(o.fate in fates for o in self.outcomes) / max(len(self.outcomes), 1)

    @property
    def success(self) -> float:
        """Share of clips tracked to their end from any start: the paper's recordings."""
        return self.share("whole", "late")

    @property
    def minutes(self) -> float:
        """Gained, without mirrored copies."""
        return sum(o.recorded_seconds for o in self.outcomes) / 60.0

    @property
    def seconds_share(self) -> float:
        """Recorded of what was to be recorded."""
        return 60.0 * self.minutes / max(sum(o.seconds for o in self.outcomes), 1e-9)

    @property
    def failures(self) -> dict[str, str]:
        """Clips that gave nothing, and why."""
        return {o.clip: "; ".join(o.reasons) for o in self.outcomes if not o.recorded}

    def mean(self, loss: Literal["tpl", "tcl", "self_pen_frames"], after: bool) -> float:
        """A metric before or after, mean over clips that gave something; NaN if none did."""
        values = [getattr(o, loss)[after] for o in self.outcomes if o.recorded]
        return sum(values) / len(values) if values else float("nan")

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "clips": len(self.outcomes),
            "recorded_whole": self.share("whole"),
            "recorded_to_end": self.success,
            "salvaged": self.share("salvaged"),
            "seconds_share": self.seconds_share,
            "minutes": self.minutes,
            "tpl_before": self.mean("tpl", False),
            "tpl_after": self.mean("tpl", True),
            "tcl_before": self.mean("tcl", False),
            "tcl_after": self.mean("tcl", True),
            "self_pen_frames_before": self.mean("self_pen_frames", False),
            "self_pen_frames_after": self.mean("self_pen_frames", True),
            "failures": self.failures,
        }
