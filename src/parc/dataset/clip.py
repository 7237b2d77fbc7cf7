"""A clip: a motion, the terrain it is on, the path it follows, and where it came from."""

from dataclasses import dataclass, field, replace

from parc.character.character import Character
from parc.motion.motion import Motion
from parc.path.path import TerrainPath
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
