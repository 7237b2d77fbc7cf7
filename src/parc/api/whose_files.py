"""The character of a command or function: the one that is named, else that of the files it is given, else the humanoid."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parc.character import Character, find_character, humanoid
from parc.character.named_character import character_of_file
from parc.dataset import Clip, Dataset
from parc.dataset.clip_shard import Shard
from parc.dataset.convert.clip_files import data_set_above
from parc.dataset.index_file import INDEX, Index
from parc.errors import CharacterError, ParcError
from parc.generate.model.motion_generator import Generator
from parc.generate.training.generator_training import GENERATOR_FILE
from parc.loop.ledger import RUN
from parc.plan import Models
from parc.run.checkpoint import read_description
from parc.run.dataclass_json import to_json
from parc.run.file_reading import read_json
from parc.track.learn.policy import TrainedActor
from parc.track.learn.tracker_training import ACTOR

AnyCharacter = Character | str | Path
"""a character, its name, or the path of its MJCF file"""


def character_of(named: AnyCharacter | None, *sources: Any) -> Character:
    """The one that is named; else that of all these files and objects, as far as they say; else the humanoid.

    Sources may be None and may be lists. Where a character is named, files of another are refused by who reads them.
    """
    if isinstance(named, Character):
        return named
    if named is not None:
        return find_character(named)
    said = [what for source in _flat(sources) if (what := _said_by(source)) is not None]
    known = {what.where: body for what in said if (body := what.character()) is not None}
    if not known:
        return said[0].character_or_sentence() if said else humanoid()
    where, body = next(iter(known.items()))
    for what in said:
        if what.fingerprint not in (body.fingerprint, body.name):
            raise CharacterError(f"{where} is for character '{body.name}', {what.where} is for '{what.name}'")
    return body


@dataclass(frozen=True)
class _Said:
    """What a file or an object says of its character."""

    name: str
    fingerprint: str
    held: Any
    """the whole character, or nothing"""
    where: str

    def character_or_sentence(self) -> Character:
        return character_of_file(self.name, self.fingerprint, self.held, self.where)

    def character(self) -> Character | None:
        """None: it has no name here, and the file does not hold it; another one may."""
        try:
            return self.character_or_sentence()
        except CharacterError:
            if self.held is not None:
                raise
            return None


def _said_by(source: Any) -> _Said | None:
    """None where nothing is said, or a file cannot be read: that is told by who reads it in earnest."""
    if isinstance(source, Models):
        source = source.tracker
    if isinstance(source, Generator | TrainedActor):
        source = source.character
    if isinstance(source, Character):
        return _Said(source.name, source.fingerprint, to_json(source), f"character '{source.name}'")
    if isinstance(source, Clip):
        return _Said(source.character, source.character, None, f"'{source.name}'")
    if isinstance(source, Dataset):
        source = source.folder
    try:
        facts = _facts(Path(source)) if isinstance(source, str | Path) else None
    except (ParcError, OSError):
        return None
    return None if facts is None else _Said(*facts, str(source))


def _facts(path: Path) -> tuple[str, str, Any] | None:
    """Name, fingerprint and, where it is there, the whole of a file's character."""
    folder = path if path.is_dir() else None if path.exists() else data_set_above(path)
    if folder is not None and (folder / INDEX).is_file():
        index = Index.read(folder)
        return index.character, index.fingerprint, index.held
    if folder is not None and (folder / RUN).is_file():
        run = read_json(folder / RUN)
        found = run.get("character") if isinstance(run, dict) else None
        return _named(found) if isinstance(found, dict) else None
    if folder is not None:
        models = [file for name in (ACTOR, GENERATOR_FILE) if (file := folder / name).is_file()]
        files = [*models, *sorted(folder.rglob("*.motion"))]
        return _facts(files[0]) if files else None
    if path.suffix.lower() == ".motion":
        shard = Shard(path)
        return shard.entries[0].character, shard.entries[0].character, shard.held
    return _named(read_description(path)) if path.suffix.lower() == ".safetensors" else None


def _named(said: dict[str, Any]) -> tuple[str, str, Any] | None:
    """Of a generator, whose `character` is a name, or of a tracker, whose `character` is a fingerprint."""
    fingerprint = said.get("fingerprint") or said.get("character")
    name = said.get("character_name") or said.get("character")
    return (name, fingerprint, said.get("held")) if isinstance(name, str) and isinstance(fingerprint, str) else None


def _flat(sources: Sequence[Any]) -> list[Any]:
    """Lists among them opened, nothing left out."""
    found: list[Any] = []
    for source in sources:
        if isinstance(source, list | tuple):
            found += _flat(source)
        elif source is not None:
            found.append(source)
    return found
