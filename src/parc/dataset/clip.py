"""A clip: a motion, the terrain it is on, the path it follows, and where it came from."""

from dataclasses import dataclass, field, replace

import torch

from parc.character.character import Character
from parc.errors import CharacterError
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


@dataclass(frozen=True, eq=False)
class Clip:
    """A motion on its terrain, with its path and where it came from."""

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
        """An error in one sentence if the motion is not of this character."""
        self.motion.check_fits(character)

    def check_made_for(self, character: Character) -> None:
        """Of the same bodies, and made for this character, not for another one of as many."""
        self.check_fits(character)
        if self.character not in (character.name, character.fingerprint):
            raise CharacterError(f"'{self.name}' is for character '{self.character}', not for '{character.name}'")

    def to(self, device: torch.device | str) -> "Clip":
        """The same clip with its tensors on a device."""
        path = None if self.path is None else TerrainPath(self.path.nodes.to(device))
        return replace(self, motion=self.motion.to(device), terrain=self.terrain.to(device), path=path)
