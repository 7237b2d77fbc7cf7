"""Clips from wherever they are: a data set, a folder of motion files, or one file.

A file that says nothing of the skill it shows gets it from its name, as `import_folder` does: training weighs clips by skill.
"""

from dataclasses import replace
from pathlib import Path

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.dataset.convert.clip_files import READABLE, data_set_above, load_clip
from parc.dataset.dataset_store import INDEX, Dataset
from parc.dataset.folder_import import skill_of
from parc.errors import DatasetError


def read_clips(source: Path | str, character: Character) -> list[Clip]:
    """All clips of a data set, a folder of motion files, or one file."""
    source = Path(source)
    if not source.exists() and not source.suffix and data_set_above(source) is None:
        raise DatasetError(f"there is no data set, folder or file at {source}")
    if (source / INDEX).is_file():
        return list(Dataset.open(source, character))
    if not source.is_dir():
        return [_read(source, source.stem, character)]
    files = sorted(p for p in source.rglob("*") if p.suffix.lower() in READABLE and p.is_file())
    if not files:
        raise DatasetError(f"{source} holds neither a data set nor files ending in {', '.join(READABLE)}")
    return [_read(file, file.relative_to(source).with_suffix("").as_posix(), character) for file in files]


def _read(file: Path, name: str, character: Character) -> Clip:
    clip = load_clip(file, character)
    if clip.provenance.skill:
        return clip
    return replace(clip, provenance=replace(clip.provenance, skill=skill_of(name)))
