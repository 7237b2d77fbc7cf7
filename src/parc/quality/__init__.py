"""What makes a clip good enough: one table of measures, one comparison with limits, and a profile for each place that judges."""

from parc.quality.limit_check import ClipQuality, Limits, fault
from parc.quality.limit_profiles import (
    PROFILES,
    AdmissionLimits,
    AuthoredLimits,
    MocapLimits,
    RecordingLimits,
    TrackerInputLimits,
    VariationLimits,
)
from parc.quality.measure_table import MEASURES, Measure

__all__ = [
    "MEASURES", "PROFILES", "AdmissionLimits", "AuthoredLimits", "ClipQuality", "Limits", "Measure", "MocapLimits",
    "RecordingLimits", "TrackerInputLimits", "VariationLimits", "fault",
]  # fmt: skip
