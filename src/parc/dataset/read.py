"""Clips from wherever they are: a data set, a folder of motion files, or one file."""

from pathlib import Path

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.dataset.convert.load import READABLE, load_clip
from parc.dataset.store import INDEX, Dataset
from parc.errors import DatasetError


def read_clips(source: Path | str, character: Character) -> list[Clip]:
    source = Path(source)
    if (source / INDEX).is_file():
        return list(Dataset.open(source, character))
    if not source.is_dir():
        return [load_clip(source, character)]
    files = sorted(p for p in source.rglob("*") if p.suffix.lower() in READABLE)
    if not files:
        raise DatasetError(f"{source} holds neither a data set nor files ending in {', '.join(READABLE)}")
    return [load_clip(file, character) for file in files]
