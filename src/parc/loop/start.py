"""The starting set D_0: a data set as it is, a folder of motion files imported, or walks made by rule."""

from pathlib import Path
from typing import Any

import numpy as np

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.dataset.convert.load import READABLE
from parc.dataset.folder import import_folder
from parc.dataset.store import INDEX, Dataset, DatasetWriter
from parc.dataset.stroll import StrollSettings, stroll
from parc.errors import DatasetError, PathError
from parc.loop.ledger import hash_file, hash_text
from parc.loop.plan import StartSettings
from parc.metrics.measure import measure_clips
from parc.path.plan import PlanSettings, plan_random_path
from parc.terrain.procedural import random_boxes

_DEEPEST = 5.0
"""mm, mean over frames: a walk made by rule that sinks deeper is drawn again"""
_TRIES = 20
"""for each walk"""


def is_dataset(source: Path) -> bool:
    return (source / INDEX).is_file()


def hash_of_folder(source: Path) -> str:
    """Of all motion files below a folder, names and content."""
    if not source.is_dir():
        raise DatasetError(f"{source} is neither a data set nor a folder of motion files")
    files = sorted(f for f in source.rglob("*") if f.suffix.lower() in READABLE and f.is_file())
    return hash_text("\n".join(f"{f.relative_to(source)} {hash_file(f)}" for f in files))


def import_start(source: Path, out: Path, character: Character) -> dict[str, Any]:
    report = import_folder(source, out, character)
    clips = len(Dataset.open(out, character))
    if not clips:
        raise DatasetError(f"none of the files in {source} could be read; the first: {next(iter(report.failed.values()), '')}")
    return {"clips": clips, "not_readable": report.failed}


def stroll_start(settings: StartSettings, seed: int, out: Path, character: Character) -> dict[str, Any]:
    with DatasetWriter(out, character) as writer:
        if not len(writer):
            writer.append(walks(settings, seed, character))
        return {"clips": len(writer)}


def walks(settings: StartSettings, seed: int, character: Character) -> list[Clip]:
    """Try k draws its ground, path and speed from SeedSequence([seed, 0, k]); what cannot be walked is passed over."""
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
