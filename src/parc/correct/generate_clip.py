"""One motion along one path: several are made, as `synthesise` makes them, and the best is kept."""

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import torch

from parc.correct.select_candidates import SelectSettings, select
from parc.dataset.clip import Clip, Provenance
from parc.errors import PathError, SettingsError
from parc.generate.model.motion_generator import Generator
from parc.generate.rollout.path_rollout import PathRunner, RolloutSettings
from parc.metrics.clip_batch import ClipBatch
from parc.path.path_batch import PathBatch
from parc.path.terrain_path import TerrainPath
from parc.run.on_progress import OnProgress
from parc.terrain.terrain import Terrain, TerrainBatch


@dataclass(frozen=True)
class GenerateClipSettings:
    """How a motion along a path is made; as in synthesis, but with more time."""

    candidates: int = 16
    """motions sampled for the path, the best of which is kept"""
    rollout: RolloutSettings = field(default_factory=lambda: RolloutSettings(choices=4, seconds=20.0))
    select: SelectSettings = field(default_factory=SelectSettings)

    @classmethod
    def paper(cls) -> "GenerateClipSettings":
        """The paper's sampler, number of candidates and heuristic, with time for longer paths."""
        return cls(64, replace(RolloutSettings.paper(), seconds=20.0), SelectSettings.paper())

    def __post_init__(self) -> None:
        if self.candidates < 1:
            raise SettingsError(f"{self.candidates} candidates were asked for, expected at least 1")


class GeneratedClip(NamedTuple):
    """The best motion."""

    clip: Clip
    reached: bool
    """the end of the path"""
    share_reached: float
    """of all candidates"""
    sampler: str
    """how windows were sampled"""


def generate_clip(
    generator: Generator,
    terrain: Terrain,
    path: TerrainPath,
    name: str,
    settings: GenerateClipSettings = GenerateClipSettings(),
    seed: int = 0,
    source: str = "",
    on_progress: OnProgress | None = None,
) -> GeneratedClip:
    """The best of a batch of motions along a path; `on_progress` counts windows, which may be fewer than the most."""
    if not bool(terrain.contains(path.nodes[:, :2]).all()):
        raise PathError("the path leaves the terrain: it was planned on another map")
    character = generator.character
    stacked = TerrainBatch.stack([terrain]), PathBatch.stack([path])
    runner = PathRunner(generator, *stacked, settings.candidates, settings.rollout)

    def tell(window: int) -> bool:
        if on_progress is not None:
            on_progress(window, runner.windows)
        return True

    rollouts = runner.run(seed, go_on=tell if on_progress is not None else None)
    origin = Provenance(source=source, seed=seed, skill="generated")
    clips = [Clip(name, motion, terrain, path, character.fingerprint, origin) for motion in rollouts.motions()]
    chosen = select(ClipBatch.stack(clips, character, generator.device), rollouts.reached, settings.select)
    sampler = generator.schedule.describe(settings.rollout.steps)
    (best,) = chosen.best(torch.zeros(len(clips), dtype=torch.long))[0]
    return GeneratedClip(clips[best], bool(rollouts.reached[best]), float(rollouts.reached.float().mean()), sampler)
