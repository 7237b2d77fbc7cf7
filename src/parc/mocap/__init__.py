"""From raw motion capture to clips on terrain."""

from parc.mocap.contact.label_check import LabelScore, check_labels
from parc.mocap.make.build_dataset import BuildSettings, build_dataset
from parc.mocap.make.build_report import BuildReport, RowResult
from parc.mocap.make.make_clip import Made, MocapSettings, make_clip
from parc.mocap.make.mocap_quality import measure_quality
from parc.mocap.make.take_shortlist import ShortlistRow, read_shortlist
from parc.mocap.read.joint_naming import find_places, load_naming
from parc.mocap.read.read_take import ReadSettings, Take, read_source, read_take
from parc.mocap.read.source_motion import SourceMotion
from parc.mocap.subject.body_landmarks import Landmarks, landmarks_of, landmarks_of_motion
from parc.mocap.subject.calibrate_subject import Calibration, Fitted, calibrate, fit_take
from parc.quality.limit_profiles import MocapLimits

__all__ = [
    "BuildReport", "BuildSettings", "Calibration", "Fitted", "LabelScore", "Landmarks", "Made", "MocapLimits", "MocapSettings",
    "ReadSettings", "RowResult", "ShortlistRow", "SourceMotion", "Take", "build_dataset", "calibrate", "check_labels",
    "find_places", "fit_take", "landmarks_of", "landmarks_of_motion", "load_naming", "make_clip", "measure_quality",
    "read_shortlist", "read_source", "read_take",
]  # fmt: skip
