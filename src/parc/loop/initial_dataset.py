"""The starting set D_0: a data set as it is, a folder of motion files imported, or walks made by rule."""

from pathlib import Path
from typing import Any

import numpy as np

from parc.author.procedural_walk import StrollSettings, stroll
from parc.character.character import Character
from parc.character.named_character import HUMANOID, find_character
from parc.dataset.clip import Clip
from parc.dataset.convert.clip_files import READABLE, load_clip
from parc.dataset.dataset_store import INDEX, Dataset, DatasetWriter
from parc.dataset.folder_import import import_folder
from parc.errors import CharacterError, DatasetError, ParcError, PathError
from parc.generate.data.frame_table import FPS
from parc.loop.loop_plan import StartSettings
from parc.metrics.clip_measures import measure_clips
from parc.path.path_planning import PlanSettings, plan_random_path
from parc.run.hashing import hash_file, hash_text
from parc.terrain.procedural_terrain import random_boxes

_DEEPEST = 5.0
"""mm, mean over frames: a walk made by rule that sinks deeper is drawn again"""
_TRIES = 20
"""for each walk"""


def is_dataset(source: Path) -> bool:
    """Whether a folder is a data set."""
    return (source / INDEX).is_file()


def check_start(source: Path, character: Character, window: int) -> None:
    """Refuse what no run could start from; `window`: frames that training needs of a clip.

    Of a folder of motion files the first readable one is looked at.
    """
    if is_dataset(source):
        clips = [(e.name, e.frames, e.fps) for e in Dataset.open(source, character).entries]
        if not clips:
            raise DatasetError(f"the data set {source} has no clips to start from")
    else:
        clip = _first_readable(source, character)
        clips = [(clip.name, len(clip.motion), clip.motion.fps)]
    for name, _, fps in clips:
        if abs(fps - FPS) > 1e-6:
            raise DatasetError(f"clip '{name}' of {source} has {fps:g} frames a second, expected {FPS:g}: resample it")
    if all(frames < window for _, frames, _ in clips):
        raise DatasetError(f"no clip of {source} has the {window} frames that training needs")


def _first_readable(source: Path, character: Character) -> Clip:
    first = ""
    for file in _motion_files(source):
        try:
            return load_clip(file, character)
        except ParcError as error:
            first = first or str(error)
    if first:
        raise DatasetError(f"none of the files in {source} could be read; the first: {first}")
    raise DatasetError(f"{source} has no files ending in {', '.join(READABLE)}, and is no data set either")


def _motion_files(source: Path) -> list[Path]:
    if not source.is_dir():
        raise DatasetError(f"{source} is neither a data set nor a folder of motion files")
    return sorted(f for f in source.rglob("*") if f.suffix.lower() in READABLE and f.is_file())


def hash_of_folder(source: Path) -> str:
    """Of all motion files below a folder, names and content."""
    return hash_text("\n".join(f"{f.relative_to(source)} {hash_file(f)}" for f in _motion_files(source)))


def import_start(source: Path, out: Path, character: Character) -> dict[str, Any]:
    """A folder of motion files as the starting set."""
    report = import_folder(source, out, character)
    return {"clips": len(Dataset.open(out, character)), "not_readable": report.failed}


def stroll_start(settings: StartSettings, seed: int, out: Path, character: Character) -> dict[str, Any]:
    """Walks made by rule as the starting set."""
    with DatasetWriter(out, character) as writer:
        if not len(writer):
            writer.append(walks(settings, seed, character))
        return {"clips": len(writer)}


def check_can_walk(character: Character) -> None:
    """Refuse a body that walks made by rule are not written for."""
    if character.fingerprint != find_character(HUMANOID).fingerprint:
        raise CharacterError(
            f"walks made by rule are the humanoid's: for '{character.name}' give motions to start from (--dataset FOLDER)"
        )


def walks(settings: StartSettings, seed: int, character: Character) -> list[Clip]:
    """Try k draws its ground, path and speed from SeedSequence([seed, 0, k]); what cannot be walked is passed over."""
    check_can_walk(character)
    clips: list[Clip] = []
    plan = PlanSettings(endpoint=settings.endpoint)
    for k in range(_TRIES * settings.clips):
        rng = np.random.default_rng(np.random.SeedSequence([seed, 0, k]))
        ground = random_boxes(settings.boxes, rng)
        try:
            path = plan_random_path(ground, rng, plan)
            clip = stroll(ground, path, StrollSettings(speed=float(rng.uniform(*settings.speed))), f"walk_{len(clips):03d}")
        except PathError:
            continue
        if measure_clips([clip], character)[0]["pen_mm"] <= _DEEPEST:
            clips.append(clip)
        if len(clips) == settings.clips:
            return clips
    raise DatasetError(f"only {len(clips)} of {settings.clips} walks could be made on such ground; use lower boxes")
