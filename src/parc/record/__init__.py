"""Physics-corrected clips: what the simulated body did while it tracked a clip becomes new data."""

from parc.record.accept import AcceptSettings, Judgement, judge
from parc.record.attempt import Attempt, AttemptSettings, attempt_clips
from parc.record.record import RecordSettings, record_dataset
from parc.record.report import ClipOutcome, RecordReport
from parc.record.stretch import Stretch, choose_stretches
from parc.track.follow.runner import Runner

__all__ = [
    "AcceptSettings", "Attempt", "AttemptSettings", "ClipOutcome", "Judgement", "RecordReport", "RecordSettings", "Runner",
    "Stretch", "attempt_clips", "choose_stretches", "judge", "record_dataset",
]  # fmt: skip
