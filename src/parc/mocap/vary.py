"""Spatial variations of a clip: the same motion over higher boxes, wider gaps, longer treads.

Contacts are carried along with the ground they stand on (`parc.mocap.warp`) and the motion is fitted anew, so contacts stay
contacts. Heights are scaled above the lowest level, or put where the caller says; the plane is stretched about the motion's start
along the axes of the grid. In flight the trunk's shift grows at a constant rate, so what fell freely still does, from another
take-off velocity.

It starts from a clip alone: any clip with contact labels will do, also one recorded in simulation.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import ndimage

from parc.character import rotation
from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.errors import SettingsError
from parc.mocap.anatomy import Anatomy
from parc.mocap.calibrate import Fitted
from parc.mocap.contact import Contacts, Event
from parc.mocap.fit import FitSettings
from parc.mocap.footing import FootingSettings, settle
from parc.mocap.landmark import landmarks_of_motion
from parc.mocap.level import Held, Supports
from parc.mocap.naming import SIDES
from parc.mocap.quality import Quality, measure_quality
from parc.mocap.refine import RefineSettings, refine
from parc.mocap.retarget import retarget
from parc.mocap.touch import label_touching
from parc.mocap.warp import warp
from parc.terrain.terrain import Terrain

Array = NDArray[np.float64]
_TOUCH = 0.02
"""m: a part of a labelled foot this near to the ground stands on it"""


@dataclass(frozen=True)
class Variation:
    rise: float = 1.0
    """factor of heights above the lowest level"""
    levels: Mapping[float, float] | None = None
    """m: heights and what they become instead, those between by interpolation"""
    stretch: tuple[float, float] = (1.0, 1.0)
    """factors along the grid's x and y"""

    def __post_init__(self) -> None:
        if not 0 <= self.rise <= 5 or not all(0.5 <= s <= 3 for s in self.stretch):
            raise SettingsError(f"a variation by rise {self.rise} and stretch {self.stretch} is not between 0..5 and 0.5..3")

    def height(self, z: Array, ground: float) -> Array:
        """What heights become, m."""
        if self.levels is not None:
            old = sorted(self.levels)
            return z + np.interp(z, old, [self.levels[k] - k for k in old])
        return ground + self.rise * (z - ground)

    def __str__(self) -> str:
        heights = " ".join(f"{a:g}->{b:g}" for a, b in self.levels.items()) if self.levels else f"x{self.rise:.3f}"
        return f"heights {heights}, stretch {self.stretch[0]:.3f} {self.stretch[1]:.3f}"


@dataclass(frozen=True)
class VarySettings:
    retarget: FitSettings = field(default_factory=FitSettings)
    refine: RefineSettings = field(default_factory=RefineSettings)
    footing: FootingSettings = field(default_factory=FootingSettings)
    rise: tuple[float, float] = (0.6, 1.4)
    """least and greatest factor of random variations"""
    stretch: tuple[float, float] = (0.85, 1.25)
    """the same along the plane"""


def random_variation(generator: np.random.Generator, settings: VarySettings = VarySettings()) -> Variation:
    return Variation(
        rise=float(generator.uniform(*settings.rise)),
        stretch=(float(generator.uniform(*settings.stretch)), float(generator.uniform(*settings.stretch))),
    )


def vary(
    clip: Clip,
    variation: Variation,
    character: Character,
    name: str,
    settings: VarySettings = VarySettings(),
    device: torch.device | str = "cpu",
) -> tuple[Clip, Quality]:
    """A variation of a clip, and how well it was reached (its feet and hands against the carried-along ones)."""
    anatomy = Anatomy.of(character)
    marks = landmarks_of_motion(character, clip.motion, clip.name)
    pitch = float(np.arctan2(-anatomy.toe[2], anatomy.toe[0]))
    supports = supports_of_clip(clip, character)
    ground = min(supports.levels, default=0.0)
    origin = clip.motion.root_pos[0, :2].double().numpy()
    shifts, levels = [], []
    for held in supports.held:
        along = (np.array(variation.stretch) - 1) * (held.event.centre[:2] - origin)
        new = float(variation.height(np.array(held.level), ground))
        shifts.append(np.array([*along, new - held.level]))
        levels.append(new)
    goals, supports = warp(marks, supports, shifts, levels)
    terrain = varied_terrain(clip.terrain, variation, origin, ground)
    goals, supports = warp(goals, supports, settle(supports, terrain, settings.footing))
    fitted = Fitted(goals, pitch, 1.0)
    (motion,) = retarget([fitted], character, settings.retarget, device)
    (motion,) = refine([motion], [fitted], [supports], [terrain], character, settings.refine, device)
    varied = clip.derived(name, f"vary: {variation}", motion=motion, terrain=terrain, path=None)
    varied = label_touching(varied, character)
    quality = measure_quality(varied, fitted, character)
    losses = {**varied.provenance.losses, **quality.as_losses()}
    return replace(varied, provenance=replace(varied.provenance, losses=losses)), quality


def varied_terrain(terrain: Terrain, variation: Variation, origin: Array, ground: float) -> Terrain:
    """The same cell size on a stretched plane; cells take the height of where their centre was."""
    low, high = (corner.double().numpy() for corner in terrain.extent)
    stretch = np.array(variation.stretch)
    low, high = origin + stretch * (low - origin), origin + stretch * (high - origin)
    size = np.maximum(np.round((high - low) / terrain.cell).astype(int), 1)
    min_point = low + 0.5 * terrain.cell
    grid = np.stack(np.meshgrid(*(np.arange(n) for n in size), indexing="ij"), -1)
    before = origin + (min_point + terrain.cell * grid - origin) / stretch
    heights = terrain.height_at(torch.as_tensor(before).float()).double().numpy()
    return Terrain(torch.as_tensor(variation.height(heights, ground)).float(), torch.as_tensor(min_point).float(), terrain.cell)


def supports_of_clip(clip: Clip, character: Character) -> Supports:
    """Contact events of a clip from its labels; of a labelled foot those parts stand that are near the ground."""
    anatomy = Anatomy.of(character)
    pose = clip.motion.body_poses(character)
    turns = rotation.to_matrix(pose.rot).double().numpy()
    pos = pose.pos.double().numpy()
    held: list[Held] = []
    for side in SIDES:
        foot, hand = anatomy.body[f"{side}_ankle"], anatomy.body[f"{side}_wrist"]
        corners = pos[:, foot, None] + np.einsum("tij,cj->tci", turns[:, foot], anatomy.sole)
        below = clip.terrain.height_at(torch.as_tensor(corners[..., :2]).float()).double().numpy()
        near = corners[..., 2] - below < _TOUCH
        label = clip.motion.contacts[:, foot].numpy() > 0.5
        for part, rows in (("heel", slice(0, 2)), ("toe", slice(2, 4))):
            held += _held(clip, side, part, label & near[:, rows].any(1), corners[:, rows])
        palm = pos[:, hand, None] - np.array([0.0, 0.0, anatomy.palm_drop])
        held += _held(clip, side, "hand", clip.motion.contacts[:, hand].numpy() > 0.5, palm)
    held.sort(key=lambda h: h.event.start)
    events = tuple(h.event for h in held)
    return Supports(Contacts(len(clip.motion), events), tuple(held), tuple(sorted({h.level for h in held})))


def _held(clip: Clip, side: str, part, mask: NDArray[np.bool_], points: Array) -> list[Held]:
    found = []
    for (span,) in ndimage.find_objects(ndimage.label(mask)[0]):
        event = Event(side, part, span.start, span.stop, points[span])
        level = float(clip.terrain.height_at(torch.as_tensor(event.centre[:2]).float()))
        found.append(Held(event, level if abs(level - event.height) < 0.08 else event.height))
    return found
