"""The profiles: how good a clip must be, at each place where clips are judged.

    mocap           made from a take of motion capture                     `parc.mocap.make`
    variation       carried to another terrain                             `parc.vary`
    authored        made by rule                                           `parc.author`
    tracker_input   to be tracked                                          `parc.track.env.reject_bad_references`
    recording       recorded in simulation, against its reference          `parc.record.accept_recording`
    admission       to join the data set of a loop                         `parc.loop.admission_rules`

Limits are the largest values allowed, of `seconds`, `frames` and `contact_agreement` the least.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from parc.metrics.free_flight import GRAVITY
from parc.metrics.jerk import LIMIT
from parc.quality.limit_check import Limits


@dataclass(frozen=True)
class MocapLimits(Limits):
    """A clip from a take: near its landmarks, on its terrain, and smooth."""

    seconds: float = 0.7
    """s, the shortest clip worth keeping"""
    feet: float = 6.0
    """cm"""
    hands: float = 10.0
    """cm"""
    gap: float = 10.0
    """mm"""
    penetration: float = 8.0
    """mm, deepest point, mean over frames"""
    deep: float = 10.0
    """% of frames deeper than 2 cm"""
    self_deep: float = 20.0
    """% of frames with bodies more than 1 cm in each other; fewer can be corrected"""
    slide: float = 15.0
    """cm/s"""
    jerk: float = 4000.0
    """m/s3"""
    floating: float = 10.0
    """% of frames in the air that do not fall"""
    conflict: float = 6.0
    """m, contacts that no cell could serve"""

    measures: ClassVar[Mapping[str, str]] = {
        "seconds": "seconds", "feet": "foot_error", "hands": "hand_error", "gap": "contact_gap", "penetration": "pen_mm",
        "deep": "pen_frames", "self_deep": "self_pen_frames", "slide": "contact_slide", "skate": "sole_speed", "jerk": "jerk_99",
        "ballistic": "ballistic", "floating": "floating", "conflict": "level_conflict",
    }  # fmt: skip
    prefix: ClassVar[str] = "mocap_"


@dataclass(frozen=True)
class VariationLimits(MocapLimits):
    """A variation of a clip: judged as a clip from a take, the carried-along motion being its take."""


@dataclass(frozen=True)
class AuthoredLimits(Limits):
    """A clip made by rule: nothing in it may be wrong in any frame, as nobody has ever moved like this."""

    depth: float = 20.0
    """mm"""
    gap: float = 10.0
    """mm"""
    slide: float = 10.0
    """cm/s"""
    flight: float = 1.5
    """m/s2"""
    wall: float = 0.7 * GRAVITY
    """m/s2: most of the weight is not for a wall to carry"""
    limits: float = 0.05
    """rad"""
    joint_speed: float = 30.0
    """rad/s"""
    jerk: float = LIMIT
    """m/s3"""
    push: float = 0.15
    """weights"""
    torque: float = 1.0
    """times the character's limits: all that the simulated body has"""
    self_frames: float = 2.0
    """% of frames with bodies more than 1 cm in each other"""

    measures: ClassVar[Mapping[str, str]] = {
        "depth": "max_depth", "gap": "max_contact_gap", "slide": "key_body_slide", "flight": "max_ballistic",
        "wall": "max_wall_lift", "limits": "limit_excess", "joint_speed": "axis_speed", "jerk": "max_jerk",
        "push": "missing_force", "torque": "torque_share", "self_frames": "self_pen_frames",
    }  # fmt: skip
    nan_passes: ClassVar[bool] = False
    prefix: ClassVar[str] = "author_"


@dataclass(frozen=True)
class TrackerInputLimits(Limits):
    """A clip to be tracked: one deep inside a box, or one that teleports, only wastes samples."""

    enabled: bool = True
    shortest: int = 10
    """frames"""
    deepest: float = 0.06
    """m a surface point of the body may be in the terrain"""
    self_depth: float = 0.1
    """m two bodies may be in each other. A body that collides can follow what is shallower a few centimetres beside it; where the
    axes of two shins meet, at 0.1 m, and deeper, one limb goes through another or lies in the trunk."""
    root_step: float = 0.35
    """m the root may move between two frames"""
    body_step: float = 0.8
    """m any body may move between two frames"""
    joint_speed: float = 40.0
    """rad/s of any joint coordinate"""

    measures: ClassVar[Mapping[str, str]] = {
        "shortest": "frames", "deepest": "terrain_depth", "self_depth": "self_depth", "root_step": "root_step",
        "body_step": "body_step", "joint_speed": "coordinate_speed",
    }  # fmt: skip
    nan_passes: ClassVar[bool] = False


@dataclass(frozen=True)
class RecordingLimits(Limits):
    """A recording: near its reference, on the map, and with the right bodies on the terrain."""

    shortest: float = 2.0
    """s"""
    mean_error: float = 0.15
    """m, mean over frames and bodies of the root-relative distance from the reference"""
    worst_error: float = 0.25
    """m, mean over bodies, in the worst frame"""
    worst_lean: float = 0.7
    """rad of the root from the reference's, in the worst frame"""
    contact_agreement: float = 0.65
    """least agreement of simulated with meant contacts of hands and feet"""
    trunk_contact: float = 0.03
    """share of frames in which the trunk may touch the terrain unmeant"""
    strange_contact: float = 0.2
    """share of frames in which another body than hands, feet and trunk may touch the terrain unmeant"""
    slack: int = 4
    """frames between a contact and its label"""
    near: float = 0.04
    """m between terrain and a body of the reference, other than hands and feet, within which touching is no fault"""
    on_terrain: bool = True
    """the root must stay above the map"""

    measures: ClassVar[Mapping[str, str]] = {
        "mean_error": "tracking_error", "worst_error": "tracking_error_max", "worst_lean": "root_lean_max",
        "contact_agreement": "contact_agreement", "trunk_contact": "trunk_contact", "strange_contact": "strange_contact",
    }  # fmt: skip

    @classmethod
    def anything(cls) -> "RecordingLimits":
        """No limits but the length."""
        free = math.inf
        return cls(
            mean_error=free,
            worst_error=free,
            worst_lean=free,
            contact_agreement=-free,
            trunk_contact=free,
            strange_contact=free,
            on_terrain=False,
        )


@dataclass(frozen=True)
class AdmissionLimits(Limits):
    """A clip that may join the data set of a loop."""

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

    measures: ClassVar[Mapping[str, str]] = {
        name: name for name in ("pen_mm", "pen_frames", "floating", "foot_skate", "hjf_paper", "tracking_error")
    }

    @classmethod
    def recorded(cls) -> "AdmissionLimits":
        """What sets the worst recordings of the tracker in the box apart."""
        return cls(pen_mm=5.0, pen_frames=10.0, foot_skate=20.0)


PROFILES: dict[str, Limits] = {
    "mocap": MocapLimits(),
    "variation": VariationLimits(),
    "authored": AuthoredLimits(),
    "tracker_input": TrackerInputLimits(),
    "recording": RecordingLimits(),
    "admission": AdmissionLimits(),
    "admission_recorded": AdmissionLimits.recorded(),
}
"""by name"""
