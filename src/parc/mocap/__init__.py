"""From raw motion capture to clips on terrain."""

from parc.mocap.build import BuildSettings, build_dataset
from parc.mocap.calibrate import Calibration, Fitted, calibrate, fit_take
from parc.mocap.label_check import LabelScore, check_labels
from parc.mocap.landmark import Landmarks, landmarks_of, landmarks_of_motion
from parc.mocap.naming import find_places, load_naming
from parc.mocap.pipeline import Made, MocapSettings, make_clip
from parc.mocap.quality import Quality, QualityLimits, measure_quality
from parc.mocap.read import ReadSettings, Take, read_source, read_take
from parc.mocap.report import BuildReport, RowResult
from parc.mocap.shortlist import ShortlistRow, read_shortlist
from parc.mocap.source import SourceMotion
from parc.mocap.variation import Variation, VariationRanges, random_variation
from parc.mocap.vary import VarySettings, vary, vary_many
from parc.mocap.vary_set import VarySetSettings, vary_dataset

__all__ = [
    "BuildReport", "BuildSettings", "Calibration", "Fitted", "LabelScore", "Landmarks", "Made", "MocapSettings", "Quality",
    "QualityLimits", "ReadSettings", "RowResult", "ShortlistRow", "SourceMotion", "Take", "Variation", "VariationRanges",
    "VarySetSettings", "VarySettings", "build_dataset", "calibrate", "check_labels", "find_places", "fit_take", "landmarks_of",
    "landmarks_of_motion", "load_naming", "make_clip", "measure_quality", "random_variation", "read_shortlist", "read_source",
    "read_take", "vary", "vary_dataset", "vary_many",
]  # fmt: skip
