"""Which character is meant: `humanoid`, `g1`, or the path of an MJCF file. This is the one place that knows.

Model files of others are not part of this package: `g1` is read from the installed package that brings it.

Models, data sets and motion files name their character and its fingerprint. Of a character that has no name here they hold all
of it (`character_in_file`), so that they can be used without the MJCF file, which may have been moved or changed since: joints,
shapes, masses and motors are then those that the models were trained with. A character with a name here is not written into
files: they stay small, and hold nothing of a model file of others.
"""

from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from parc.character.character import Character
from parc.character.humanoid import humanoid
from parc.errors import CharacterError
from parc.run.dataclass_json import from_json, to_json

HUMANOID = "humanoid"
"""the character of every command and function that is not told another"""
_G1_FILES = {
    "mjlab": "mjlab/asset_zoo/robots/unitree_g1/xmls/g1.xml",
    "wbc-mjlab": "wbc_mjlab/robots/g1/xmls/g1.xml",
}
"""the model in packages that bring it: only their files are read, nothing of them is imported or needs to run"""
_G1_INSTALL = "pip install --no-deps mjlab"
"""not an extra of ours: what these packages need beside contradicts what we need (an older MuJoCo over ours)"""


def _g1_file() -> Path:
    """Where the model of the Unitree G1 is installed."""
    for package, file in _G1_FILES.items():
        try:
            place = Path(str(distribution(package).locate_file(file)))
        except PackageNotFoundError:
            continue
        if place.is_file():
            return place
    raise CharacterError(f"the model of g1 is not installed; get it with `{_G1_INSTALL}`, or give the path of its MJCF file")


@cache
def _g1() -> Character:
    """The Unitree G1 of an installed package that brings its model, with our description of it."""
    from parc.character.mjcf import character_from_mjcf

    return character_from_mjcf(_g1_file(), "g1")


def told_of(name: str | Path) -> tuple[Character, tuple[str, ...], tuple[str, ...]]:
    """A character as `find_character` finds it; what of its file was approximated, and what was guessed."""
    from parc.character.mjcf import read_mjcf

    if name == HUMANOID:
        return humanoid(), (), ()
    read = read_mjcf(_g1_file(), "g1") if name == "g1" else read_mjcf(name)
    return read.character, read.notes, read.guesses


_LARGEST = 1e9
"""of the numbers of a character in a file"""
NAMED = {HUMANOID: humanoid, "g1": _g1}
"""characters that have a name here, and what makes each"""


def find_character(name: str | Path) -> Character:
    """The character of a name, or of an MJCF file; a name that is neither is refused."""
    if isinstance(name, str) and name in NAMED:
        return NAMED[name]()
    path = Path(name)
    if path.suffix.lower() not in (".xml", ".mjcf") and not path.is_file():
        raise CharacterError(f"there is no character '{name}'; give {', '.join(NAMED)} or the path of an MJCF file")
    from parc.character.mjcf import character_from_mjcf

    return character_from_mjcf(path)


def character_in_file(character: Character) -> dict[str, Any] | None:
    """What a file holds of its character beside name and fingerprint: all of it, or nothing if it has a name here."""
    return None if _has_name(character) else to_json(character)


def said_of(character: Character) -> dict[str, Any]:
    """What a file says of its character: name, fingerprint, and what it holds of it."""
    held = character_in_file(character)
    return {"character": character.name, "fingerprint": character.fingerprint} | ({} if held is None else {"held": held})


def character_of_file(name: str, fingerprint: str, held: Any, where: str) -> Character:
    """The character that a file was made for, by what the file says of it; `where` names the file in messages."""
    if held is not None:
        if not all(abs(number) < _LARGEST for number in _numbers(held)):
            raise CharacterError(f"the character in {where} is damaged: it has numbers that no body has")
        try:
            character = from_json(Character, held, CharacterError)
        except CharacterError as error:
            raise CharacterError(f"the character in {where} is damaged: {error}") from None
        if character.fingerprint != fingerprint:
            raise CharacterError(f"the character in {where} is damaged: it is not the one that the file names")
        return character
    found = next((character for character in _installed() if fingerprint in (character.fingerprint, character.name)), None)
    if found is None and name in NAMED:
        find_character(name)  # says what is not installed
        raise CharacterError(f"{where} is for another '{name}' than the one here ({fingerprint}); give the MJCF file of its own")
    if found is None:
        raise CharacterError(f"{where} is for character '{name}' ({fingerprint}) and does not hold it; give its MJCF file")
    return found


def _has_name(character: Character) -> bool:
    return character.fingerprint == humanoid().fingerprint or (
        character.name in NAMED and any(known.fingerprint == character.fingerprint for known in _installed())
    )


def _installed() -> Iterator[Character]:
    """Characters with a name whose model is there."""
    for make in NAMED.values():
        try:
            yield make()
        except CharacterError:
            continue


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for part in value:
            yield from _numbers(part)
    elif isinstance(value, int | float):
        yield value
