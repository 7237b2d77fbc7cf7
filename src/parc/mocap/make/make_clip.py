"""One take to one clip: fit, contacts, levels, ground, footing, refinement, quality; this is their order."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from parc.character.character import Character
from parc.dataset.clip import Clip, Provenance
from parc.mocap.contact.find_contacts import ContactSettings, find_contacts
from parc.mocap.contact.label_touching_bodies import label_touching
from parc.mocap.contact.support_levels import LevelSettings, Supports, find_levels, floor_slope
from parc.mocap.make.mocap_quality import measure_quality
from parc.mocap.subject.body_landmarks import Landmarks, yaw_matrix
from parc.mocap.subject.calibrate_subject import Calibration, Fitted, calibrate, fit_take, levelled
from parc.mocap.subject.human_anatomy import Anatomy
from parc.mocap.subject.landmark_fit import FitSettings, retarget
from parc.mocap.terrain.reconstruct_terrain import ReconstructedTerrain, ReconstructSettings, reconstruct, without_passed
from parc.mocap.terrain.refine_on_terrain import RefineSettings, refine
from parc.mocap.terrain.shift_contacts import warp
from parc.mocap.terrain.snap_footholds import FootingSettings, settle
from parc.quality.limit_check import ClipQuality


@dataclass(frozen=True)
class MocapSettings:
    """Of every step from a take to a clip."""

    fps: float = 30.0
    """of the clips made"""
    retarget: FitSettings = field(default_factory=FitSettings)
    contact: ContactSettings = field(default_factory=ContactSettings)
    level: LevelSettings = field(default_factory=LevelSettings)
    reconstruct: ReconstructSettings = field(default_factory=ReconstructSettings)
    footing: FootingSettings = field(default_factory=FootingSettings)
    refine: RefineSettings = field(default_factory=RefineSettings)


@dataclass(frozen=True, eq=False)
class Made:
    """A clip, and what it was made by way of."""

    clip: Clip
    fitted: Fitted
    """the take in the clip's frame and at its rate"""
    supports: Supports
    ground: ReconstructedTerrain
    quality: ClipQuality


def make_clip(
    take: Landmarks,
    character: Character,
    hands: bool = False,
    calibration: Calibration | None = None,
    provenance: Provenance = Provenance(),
    settings: MocapSettings = MocapSettings(),
    stretch: float = 1.0,
    device: torch.device | str = "cpu",
    on_part: Callable[[str, float], object] = lambda part, share: None,
) -> Made:
    """A clip with terrain and contacts from landmarks in metres; `hands` says whether hands touch anything.

    `stretch` draws the footholds apart in the plane by a factor (1.3 to 1.4 makes room for cells on treads that are narrower);
    errors are then taken against the stretched take. `on_part(what begins, share of the time that is usually over)` is called
    before each of the three long parts.
    """
    anatomy = Anatomy.of(character)
    fitted, supports = stand(take, calibration or calibrate([take]), anatomy, hands, settings)

    # landmarks at the clip's rate, their contacts put onto levels, as a motion
    slow = replace(fitted, landmarks=fitted.landmarks.resampled(settings.fps))
    if stretch != 1.0:
        marks, supports = warp(slow.landmarks, supports, _apart(supports, stretch))
        slow = replace(slow, landmarks=marks)
    marks, supports = warp(slow.landmarks, supports, _onto_levels(supports))
    on_part("fitting the body to the recording", 0.0)
    (motion,) = retarget([replace(slow, landmarks=marks)], character, settings.retarget, device)

    # the terrain under it, and footholds put onto its cells
    supports = without_passed(supports, motion, character, settings.reconstruct)
    ground = reconstruct(supports, motion, character, settings.reconstruct)
    supports = supports.changed(lambda points: points @ yaw_matrix(ground.yaw).T)
    motion = motion.moved(turn=torch.tensor(ground.yaw))
    marks, supports = warp(marks.turned(ground.yaw), supports, settle(supports, ground.terrain, settings.footing))
    slow = replace(slow, landmarks=slow.landmarks.turned(ground.yaw))

    # the motion on the terrain, labelled and measured
    goals = replace(slow, landmarks=marks)
    on_part("fitting the body to the terrain", 0.4)
    (motion,) = refine([motion], [goals], [supports], [ground.terrain], character, settings.refine, device)
    on_part("contacts and quality", 0.99)
    clip = label_touching(Clip(take.name, motion, ground.terrain, None, character.name, provenance), character, hands)
    quality = measure_quality(clip, slow, character, ground.cost)

    # what was done, for the provenance
    edits = (
        *provenance.edits,
        f"retarget: scale {fitted.scale:.4f}, leg {anatomy.leg / fitted.scale:.4f} m, foot pitch {fitted.foot_pitch:.3f} rad",
        *([f"stretch: footholds drawn apart by {stretch:g}"] if stretch != 1.0 else []),
        f"terrain: yaw {np.degrees(ground.yaw):.1f} deg, levels {' '.join(f'{level:.3f}' for level in ground.levels)} m",
    )
    clip = replace(clip, provenance=replace(provenance, edits=edits, losses={**provenance.losses, **quality.as_losses()}))
    return Made(clip, slow, supports, ground, quality)


def stand(
    take: Landmarks, calibration: Calibration, anatomy: Anatomy, hands: bool, settings: MocapSettings = MocapSettings()
) -> tuple[Fitted, Supports]:
    """The take in the character's size with its lowest level at 0 and the floor level, and what it stands on."""
    fitted = fit_take(take, calibration, anatomy)

    def supports_of(fitted: Fitted) -> Supports:
        return find_levels(
            find_contacts(fitted, anatomy, settings.fps, hands, settings=settings.contact), settings.fps, settings.level
        )

    supports = supports_of(fitted)
    slope = floor_slope(supports)
    if slope.any():
        fitted = replace(fitted, landmarks=levelled(fitted.landmarks, slope))
        supports = supports_of(fitted)
    lift = -supports.levels[0] if supports.levels else 0.0
    up = np.array([0.0, 0.0, lift])
    lifted = supports.shifted([up] * len(supports.held), [h.level + lift for h in supports.held])
    return replace(fitted, landmarks=fitted.landmarks.moved(lambda track: track + up)), lifted


def _onto_levels(supports: Supports) -> list[np.ndarray]:
    return [np.array([0.0, 0.0, h.level - h.event.height]) for h in supports.held]


def _apart(supports: Supports, stretch: float) -> list[np.ndarray]:
    return list((stretch - 1) * (supports.centres - supports.centres[:1]) * np.array([1.0, 1.0, 0.0]))
