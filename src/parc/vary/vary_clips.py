"""Spatial variations of clips: the same motion over higher boxes, wider gaps, longer treads, round a corner.

Each variation is first carried to its new ground (`parc.vary.transfer_to_terrain`), then fitted there: contacts stay contacts,
nothing is inside, flights fall. Variations of one length are fitted side by side on one device. One that does not suit its ground
- contacts without cells of their level - is asked for again, milder (`Variation.milder`); what was made in the end is in its
provenance.

It starts from clips alone: any clip with contact labels will do, also one recorded in simulation.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.metrics.clip_batch import ClipBatch
from parc.mocap.contact.clip_supports import Footing, footing_of_clip
from parc.mocap.contact.label_touching_bodies import touching_labels
from parc.mocap.make.mocap_quality import measure_qualities
from parc.mocap.subject.landmark_fit import FitSettings
from parc.mocap.terrain.refine_on_terrain import RefineSettings, refine
from parc.quality.limit_check import ClipQuality
from parc.terrain.random_augmentation import BoxAugmentation, add_random_boxes, height_bounds
from parc.terrain.terrain import Terrain
from parc.vary.transfer_to_terrain import Carried, CarrySettings, carry
from parc.vary.variation_ranges import Variation, VariationRanges


@dataclass(frozen=True)
class VarySettings:
    """Of the way from a clip to its variation."""

    carry: CarrySettings = CarrySettings()
    refine: RefineSettings = field(
        default_factory=lambda: RefineSettings(fit=FitSettings(iterations=80, foot_turn=0.02), near=0.1, renew=20)
    )
    ranges: VariationRanges = VariationRanges()
    boxes: BoxAugmentation = BoxAugmentation(boxes=(1, 5))
    conflict: float = 8.0
    """% of contact frames without ground of their level beyond which a variation is asked for again, milder"""
    milder: int = 4
    """times it is"""
    together: int = 0
    """frames fitted at once; 0 is 2000 on a CPU and 60000 on a GPU"""


def vary(
    clip: Clip,
    variation: Variation,
    character: Character,
    name: str,
    settings: VarySettings = VarySettings(),
    device: torch.device | str = "cpu",
) -> tuple[Clip, ClipQuality]:
    """A variation of a clip, and how well it was reached (its feet and hands against the carried-along ones)."""
    return vary_many([clip], [variation], character, [name], settings, device)[0]


def vary_many(
    clips: Sequence[Clip],
    variations: Sequence[Variation],
    character: Character,
    names: Sequence[str],
    settings: VarySettings = VarySettings(),
    device: torch.device | str = "cpu",
) -> list[tuple[Clip, ClipQuality]]:
    """Variation i of clip i for all i (a clip may come many times), fitted side by side."""
    footings: dict[int, Footing] = {}
    carried = []
    for clip, variation in zip(clips, variations, strict=True):
        if id(clip) not in footings:
            footings[id(clip)] = footing_of_clip(clip, character)
        carried.append(carry_well(clip, footings[id(clip)], variation, character, settings))
    return fit_carried(clips, carried, character, names, settings, device)


def carry_well(
    clip: Clip, footing: Footing, variation: Variation, character: Character, settings: VarySettings = VarySettings()
) -> Carried:
    """The variation, or the first milder one whose contacts find ground."""
    found: list[Carried] = []
    for times in range(settings.milder + 1):
        found.append(carry(clip, footing, variation.milder(times), character, settings.carry))
        if found[-1].conflict <= settings.conflict:
            break
    return min(found, key=lambda c: c.conflict)


def fit_carried(
    clips: Sequence[Clip],
    carried: Sequence[Carried],
    character: Character,
    names: Sequence[str],
    settings: VarySettings = VarySettings(),
    device: torch.device | str = "cpu",
) -> list[tuple[Clip, ClipQuality]]:
    """What was carried to new terrain (`carry_well`), fitted there side by side; clip i is the source of carried[i]."""
    most = settings.together or (2000 if torch.device(device).type == "cpu" else 60000)
    results: dict[int, tuple[Clip, ClipQuality]] = {}
    for rows in _groups([len(c.motion) for c in carried], most):
        group = [carried[i] for i in rows]
        motions = refine(
            [c.motion for c in group],
            [c.fitted for c in group],
            [c.supports for c in group],
            [c.terrain for c in group],
            character,
            settings.refine,
            device,
            [c.start for c in group],
            [c.flying for c in group],
        )
        varied = [
            clips[i].derived(names[i], f"vary: {c.variation}", motion=motion, terrain=c.terrain, path=None)
            for i, c, motion in zip(rows, group, motions, strict=True)
        ]
        results |= dict(zip(rows, _judged(varied, group, character, settings, device), strict=True))
    return [results[i] for i in range(len(carried))]


def _judged(
    clips: list[Clip], carried: list[Carried], character: Character, settings: VarySettings, device: torch.device | str
) -> Iterator[tuple[Clip, ClipQuality]]:
    batch = ClipBatch.stack(clips, character, device)
    used = torch.tensor([any(h.event.part == "hand" for h in c.supports.held) for c in carried])
    labels = touching_labels(batch, used).cpu()
    qualities = measure_qualities(batch, [c.fitted for c in carried], [0.0] * len(clips))
    for i, (clip, quality, c) in enumerate(zip(clips, qualities, carried, strict=True)):
        frames = len(clip.motion)
        terrain = clip.terrain
        if c.variation.boxes is not None:
            terrain = _with_boxes(terrain, batch.points[i, :frames], c.variation.boxes, settings.boxes)
        losses = {**clip.provenance.losses, **quality.as_losses()}
        yield (
            replace(
                clip,
                motion=replace(clip.motion, contacts=labels[i, :frames]),
                terrain=terrain,
                provenance=replace(clip.provenance, losses=losses),
            ),
            quality,
        )


def _with_boxes(terrain: Terrain, points: torch.Tensor, seed: int, settings: BoxAugmentation) -> Terrain:
    """Boxes where the body is not; the bounds they keep go with the terrain."""
    bounds = height_bounds(terrain.to(points.device), points).cpu()
    return add_random_boxes(terrain, bounds, torch.Generator().manual_seed(seed), settings)


def _groups(lengths: Sequence[int], most: int) -> Iterator[list[int]]:
    """Rows of similar length, so many that padded frames stay under `most`."""
    group: list[int] = []
    for row in np.argsort(lengths, kind="stable").tolist():
        if group and lengths[row] * (len(group) + 1) > most:
            yield group
            group = []
        group.append(row)
    if group:
        yield group
