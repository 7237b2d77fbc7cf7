"""A clip: a motion, the terrain it is on, the path it follows, and where it came from."""

from dataclasses import dataclass, field, fields, replace
from typing import Any

import torch

from parc.character.character import Character
from parc.errors import CharacterError, DatasetError
from parc.motion.motion import Motion
from parc.path.terrain_path import TerrainPath
from parc.terrain.terrain import Terrain


@dataclass(frozen=True)
class Provenance:
    """Where a clip came from; enough to make it again."""

    source: str = ""
    """file, take or command it was made from"""
    parent: str = ""
    """name of the clip it was derived from"""
    iteration: int = 0
    """PARC iteration that made it; 0 is the starting set"""
    seed: int = 0
    skill: str = ""
    """class label used for balanced sampling, e.g. climb"""
    edits: tuple[str, ...] = ()
    """what was done to the parent, in order"""
    losses: dict[str, float] = field(default_factory=dict)
    """measured quality: selection losses, tracking error, ..."""
    models: dict[str, str] = field(default_factory=dict)
    """content hashes of the generator and tracker that made it"""

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Provenance":
        """From what `dataclasses.asdict` made, also after a trip through JSON; unknown and mistyped fields are refused."""
        if not isinstance(values, dict):
            raise DatasetError(f"provenance is a {type(values).__name__}, expected an object of fields")
        for key, value in values.items():
            if key not in _PROVENANCE_TYPES:
                raise DatasetError(f"provenance has an unknown field '{key}'; known are {', '.join(_PROVENANCE_TYPES)}")
            if not isinstance(value, _PROVENANCE_TYPES[key]):
                raise DatasetError(f"provenance field '{key}' is {value!r}, which is of the wrong type")
        return cls(**(values | {"edits": tuple(values.get("edits", ()))}))


_PROVENANCE_TYPES: dict[str, type | tuple[type, ...]] = {
    "source": str, "parent": str, "iteration": int, "seed": int, "skill": str,
    "edits": (list, tuple), "losses": dict, "models": dict,
}  # fmt: skip
assert set(_PROVENANCE_TYPES) == {f.name for f in fields(Provenance)}


@dataclass(frozen=True, eq=False)
class Clip:
    name: str
    motion: Motion
    terrain: Terrain
    path: TerrainPath | None = None
    character: str = "humanoid"
    """fingerprint or name of the character the motion is for"""
    provenance: Provenance = Provenance()

    def derived(self, name: str, edit: str, **changes) -> "Clip":
        """A copy with changes, its provenance saying so."""
        provenance = replace(self.provenance, parent=self.name, edits=(*self.provenance.edits, edit))
        return replace(self, name=name, provenance=provenance, **changes)

    def check_fits(self, character: Character) -> None:
        self.motion.check_fits(character)

    def check_made_for(self, character: Character) -> None:
        """Of the same bodies, and made for this character, not for another one of as many."""
        self.check_fits(character)
        if self.character not in (character.name, character.fingerprint):
            raise CharacterError(f"'{self.name}' is for character '{self.character}', not for '{character.name}'")

    def to(self, device: torch.device | str) -> "Clip":
        path = None if self.path is None else TerrainPath(self.path.nodes.to(device))
        return replace(self, motion=self.motion.to(device), terrain=self.terrain.to(device), path=path)
