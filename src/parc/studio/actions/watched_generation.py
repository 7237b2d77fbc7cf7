"""Motions along a path, window by window, so that their growth can be watched and stopped."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch

from parc.correct.select_candidates import select
from parc.dataset.clip import Clip, Provenance
from parc.errors import SettingsError
from parc.generate.model.blended_denoising import Blend
from parc.generate.model.motion_generator import Generator
from parc.generate.rollout.path_rollout import PathRunner, RolloutSettings
from parc.generate.rollout.rollout_batch import RolloutBatch
from parc.metrics.clip_batch import ClipBatch
from parc.path.path_batch import PathBatch
from parc.path.terrain_path import TerrainPath
from parc.terrain.terrain import Terrain, TerrainBatch

Watch = Callable[[float, str], bool]
"""share done, what is going on -> whether to go on"""
MOST = 256
"""candidates at once"""


@dataclass(frozen=True)
class GenerateSettings:
    """How candidates for the path are generated."""

    batch: int = 4
    """candidates"""
    steps: int | None = None
    """sampler steps; None: as trained"""
    blend: float | None = None
    """constant blending coefficient s; None: annealed from 1 to 0 on uneven ground, 0 on level"""
    seconds: float = 20.0
    """s, time limit of a motion"""
    choices: int = 4
    """samples of each window, the best of which is kept"""
    seed: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.batch <= MOST:
            raise SettingsError(f"{self.batch} candidates were asked for, expected 1 to {MOST}")
        if self.steps is not None and not 1 <= self.steps <= 1000:
            raise SettingsError(f"{self.steps} sampler steps were asked for, expected 1 to 1000")
        if self.blend is not None and not 0 <= self.blend <= 1:
            raise SettingsError(f"the blending coefficient is {self.blend}, expected 0 to 1")
        if not 0.5 <= self.seconds <= 120:
            raise SettingsError(f"motions of {self.seconds} s were asked for, expected 0.5 to 120 s")

    @property
    def rollout(self) -> RolloutSettings:
        blend = Blend() if self.blend is None else Blend.constant(self.blend)
        return RolloutSettings(blend=blend, steps=self.steps, seconds=self.seconds, choices=self.choices)


def generate_watched(
    generator: Generator, terrain: Terrain, path: TerrainPath, settings: GenerateSettings, watch: Watch
) -> list[Clip]:
    """Candidates along a path, best first; where `watch` ends it early, as far as they had come."""
    if len(path) < 2 or path.length < 0.5:
        raise SettingsError(f"a path of {path.length:.2f} m is too short to move along, expected at least 0.5 m")
    runner = PathRunner(
        generator, TerrainBatch.stack([terrain]), PathBatch.stack([path]), settings.batch, settings.rollout, use_graph=False
    )

    def go_on(done: int) -> bool:
        arrived = int(runner.reached.sum())
        return watch(done / runner.windows, f"{done * settings.rollout.keep / 30:.1f} s, {arrived} of {settings.batch} arrived")

    return _ranked(runner.run(settings.seed, go_on=go_on), terrain, path, generator, settings)


def _ranked(
    rollouts: RolloutBatch, terrain: Terrain, path: TerrainPath, generator: Generator, settings: GenerateSettings
) -> list[Clip]:
    provenance = Provenance(source="studio", seed=settings.seed, skill="generated")
    clips = rollouts.clips([terrain], [path], "generated", provenance, generator.character)
    character = generator.character
    chosen = select(ClipBatch.stack(clips, character, generator.device), rollouts.reached)
    order = chosen.best(torch.zeros(len(clips), dtype=torch.long), len(clips))[0]
    ranked = []
    for place, row in enumerate(order, 1):
        losses = {"reached": float(rollouts.reached[row]), "selection": float(chosen.score[row])}
        named = replace(clips[row], name=f"generated_s{settings.seed}_{place}", provenance=replace(provenance, losses=losses))
        ranked.append(named)
    return ranked
