"""Physics-corrected clips: what the simulated body did while it tracked a clip becomes new data."""

from parc.quality.limit_profiles import RecordingLimits
from parc.record.accept_recording import Judgement, judge
from parc.record.choose_segments import RecordedStretch, choose_stretches
from parc.record.record_clips import RecordSettings, record_dataset
from parc.record.record_report import ClipOutcome, RecordReport
from parc.record.tracking_attempts import Attempt, AttemptSettings, attempt_clips
from parc.track.follow.runner import Runner

__all__ = [
    "Attempt",
    "AttemptSettings",
    "ClipOutcome",
    "Judgement",
    "RecordReport",
    "RecordSettings",
    "RecordedStretch",
    "RecordingLimits",
    "Runner",
    "attempt_clips",
    "choose_stretches",
    "judge",
    "record_dataset",
]  # fmt: skip
