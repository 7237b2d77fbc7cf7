"""Which character is meant: `humanoid`, `g1`, or the path of an MJCF file. This is the one place that knows.

Model files of others are not part of this package: `g1` is read from the installed package that brings it.
"""

from functools import cache
from importlib.util import find_spec
from pathlib import Path

from parc.character.character import Character
from parc.character.humanoid import humanoid
from parc.errors import CharacterError

HUMANOID = "humanoid"
"""the character of every command and function that is not told another"""
_G1_PACKAGE, _G1_FILE = "mjlab", "asset_zoo/robots/unitree_g1/xmls/g1.xml"


@cache
def _g1() -> Character:
    """The Unitree G1 of the installed package that brings its model."""
    from parc.character.mjcf import character_from_mjcf

    found = find_spec(_G1_PACKAGE)
    places = [Path(place) / _G1_FILE for place in (found.submodule_search_locations or ())] if found is not None else []
    file = next((place for place in places if place.is_file()), None)
    if file is None:
        raise CharacterError("the model of g1 is not installed; get it with `pip install parc-motion[g1]`")
    return character_from_mjcf(file, "g1")


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
