"""`parc.generate` and `parc.correct`: motion along a path, and its kinematic correction."""

from pathlib import Path
from typing import Any, Literal

import numpy as np

from parc.api.arguments import AnyClip, AnyTerrain, File, changed, clip_of, generator_of, path_of, terrain_of
from parc.api.cross_terrain import Device
from parc.api.whose_files import AnyCharacter, character_of
from parc.correct.correct_motions import OptimiseSettings, optimise
from parc.correct.generate_clip import GenerateClipSettings, GeneratedClip, generate_clip
from parc.dataset import Clip
from parc.errors import SettingsError
from parc.generate.model.motion_generator import Generator
from parc.models import shipped_generator
from parc.path import TerrainPath, plan_random_path
from parc.run.choose_device import choose_device
from parc.run.on_progress import OnProgress

PaperPreset = Literal["default", "paper"]


def generate(
    terrain: AnyTerrain,
    *,
    path: TerrainPath | File | None = None,
    generator: Generator | File | None = None,
    character: AnyCharacter | None = None,
    preset: PaperPreset = "default",
    settings: GenerateClipSettings | None = None,
    seed: int = 0,
    device: Device = "auto",
    name: str = "generated",
    on_progress: OnProgress | None = None,
    **changes: Any,
) -> GeneratedClip:
    """Motion along a path over a terrain, not simulated: several are sampled, the best is kept.

        made = parc.generate("boxes", candidates=4, seed=1)
        made.clip, made.reached

    character: a `Character`, a name or an MJCF file; that of the generator if not given. path: where to go; without it one is
    planned between random points near the edges. preset paper: the paper's sampler and
    heuristic. Other arguments are fields of `GenerateClipSettings`: `candidates`, `rollout`, `select`. `on_progress` counts
    windows of the most there may be; motions that arrive end sooner.
    """
    settings = changed(settings or _of_preset(GenerateClipSettings, preset), changes)
    model = generator_of(generator, character_of(character, generator), choose_device(device))
    ground = terrain_of(terrain, seed)
    way = path_of(path) if path is not None else plan_random_path(ground, np.random.default_rng(seed))
    return generate_clip(model, ground, way, name, settings, seed, _name_of(generator, model), on_progress)


def correct(
    clip: AnyClip,
    *,
    character: AnyCharacter | None = None,
    preset: PaperPreset = "default",
    settings: OptimiseSettings | None = None,
    device: Device = "auto",
    on_progress: OnProgress | None = None,
    **changes: Any,
) -> Clip:
    """Pull a motion out of the ground and onto its contacts, and smooth it (kinematic optimisation, the paper's section 6).

        better = parc.correct("walk.motion", iterations=300)

    preset paper: its four terms alone. Other arguments are fields of `OptimiseSettings`: `iterations`, the weights of the terms.
    The clip's provenance says each term before and after.
    """
    settings = changed(settings or _of_preset(OptimiseSettings, preset), changes)
    body, iterations = character_of(character, clip), settings.iterations

    def tell(done: int, loss: float) -> None:
        if on_progress is not None:
            on_progress(done, iterations, f"loss {loss:.3g}")

    (corrected,) = optimise([clip_of(clip, body)], body, settings, choose_device(device), tell)
    if on_progress is not None:
        on_progress(iterations, iterations)
    return corrected


def _of_preset(kind: type, preset: PaperPreset) -> Any:
    if preset not in ("default", "paper"):
        raise SettingsError(f"the preset is '{preset}', expected default or paper")
    return kind.paper() if preset == "paper" else kind()  # type: ignore[attr-defined]


def _name_of(generator: Generator | File | None, model: Generator) -> str:
    """For a clip's provenance."""
    named = generator or shipped_generator(body=model.character.name)
    return "generator" if isinstance(named, Generator) else Path(named).name
