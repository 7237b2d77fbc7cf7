"""What an authored clip must keep to before it is worth training on.

depth        deepest point in the terrain, mm
gap          farthest that a body labelled in contact is from the terrain, mm
slide        fastest that a hand or foot in contact moves over the ground, mean over frames, cm/s
flight       largest |a_z + 9.81| of the centre of mass in the air, m/s2; 0 without flight
wall         the same while nothing but a wall is touched
limits       largest excess of a joint coordinate over its limits, rad
joint_speed  of any joint about any axis, rad/s
jerk         largest of any body, m/s3
push         part of the body's weight that contacts would have to give and cannot, root mean square over frames
torque       largest of any motor in any frame, in the character's limits
self_frames  share of frames with two bodies more than 1 cm inside each other, %
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from parc.character import rotation
from parc.character.character import Character
from parc.character.joint_coordinates import beyond_limits
from parc.dataset.clip import Clip
from parc.fit.contact_mechanics import TORQUE_SCALE, Effort
from parc.metrics.body_fit import self_penetration_frames
from parc.metrics.clip_batch import ClipBatch
from parc.metrics.foot_skate import skate
from parc.metrics.free_flight import GRAVITY, flight_error
from parc.metrics.jerk import LIMIT, max_jerk


@dataclass(frozen=True)
class AuthoredLimits:
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
    torque: float = TORQUE_SCALE
    """times the character's limits: all that the simulated body has"""
    self_frames: float = 2.0
    """%"""


@dataclass(frozen=True)
class AuthoredQuality:
    depth: float
    gap: float
    slide: float
    flight: float
    wall: float
    limits: float
    joint_speed: float
    jerk: float
    push: float
    torque: float
    self_frames: float

    def faults(self, limits: AuthoredLimits = AuthoredLimits()) -> tuple[str, ...]:
        """Why not to keep the clip; empty if there is no reason."""
        values = asdict(self)
        return tuple(f"{k} {values[k]:.3g} is over {limit:g}" for k, limit in asdict(limits).items() if not values[k] <= limit)

    def as_losses(self) -> dict[str, float]:
        """For a clip's provenance."""
        return {f"author_{key}": float(value) for key, value in asdict(self).items()}


def measure_authored(clips: Sequence[Clip], efforts: Sequence[Effort], character: Character) -> list[AuthoredQuality]:
    """Of each clip; `efforts` as the fit left them."""
    return [_measure(clip, effort, character) for clip, effort in zip(clips, efforts, strict=True)]


def _measure(clip: Clip, effort: Effort, character: Character) -> AuthoredQuality:
    batch = ClipBatch.stack([clip], character)
    error, judged = (x[0] for x in flight_error(batch))
    held = batch.contacts[0].amax(-1) > 0.5
    gaps = batch.body_clearance[0][batch.contacts[0] > 0.5]
    turns = rotation.difference(clip.motion.joint_rot[:-1], clip.motion.joint_rot[1:])
    over = beyond_limits(character, clip.motion.joint_rot)
    return AuthoredQuality(
        depth=1000 * float(batch.depth.max()),
        gap=1000 * float(gaps.max()) if len(gaps) else 0.0,
        slide=100 * float(skate(batch, character.key_bodies)[1].nan_to_num(0.0)),
        flight=float((error * (judged & ~held)).nan_to_num(0.0).max()),
        wall=float((error * (judged & held)).nan_to_num(0.0).max()),
        limits=max(float(over.max()), 0.0),
        joint_speed=float(rotation.to_exp(turns).abs().max()) * clip.motion.fps,
        jerk=float(max_jerk(batch)),
        push=effort.push,
        torque=effort.torque,
        self_frames=float(self_penetration_frames(batch)),
    )
