"""What is written down about each clip of a data set beside its arrays; checks itself when read."""

from dataclasses import dataclass

from parc.dataset.clip import Clip, Provenance
from parc.errors import DatasetError
from parc.motion.motion import MOST_FPS
from parc.terrain.terrain import LEAST_CELL, MOST_CELL


@dataclass(frozen=True)
class ClipEntry:
    """What an index or a shard's header says of a clip."""

    name: str
    frames: int
    bodies: int
    fps: float
    loops: bool
    size: tuple[int, int]
    """cells of the terrain"""
    cell: float
    """m"""
    has_bounds: bool
    path_nodes: int
    """0: the clip has no path"""
    character: str
    provenance: Provenance

    def __post_init__(self) -> None:
        if not self.name:
            raise DatasetError(f"a clip's name is {self.name!r}, expected text")
        for field, least in (("frames", 1), ("bodies", 1), ("path_nodes", 0)):
            if (value := getattr(self, field)) < least:
                raise DatasetError(f"clip '{self.name}': {field} is {value!r}, expected a whole number of at least {least}")
        if min(self.size) < 1:
            raise DatasetError(f"clip '{self.name}': the terrain's size is {self.size!r}, expected two positive whole numbers")
        for field, smallest, largest in (("fps", 1e-9, MOST_FPS), ("cell", LEAST_CELL, MOST_CELL)):
            if not smallest <= (value := getattr(self, field)) <= largest:
                expected = f"a number from {smallest:g} to {largest:g}"
                raise DatasetError(f"clip '{self.name}': {field} is {str(value)[:20]}, expected {expected}")

    @classmethod
    def of(cls, clip: Clip) -> "ClipEntry":
        """The entry of a clip."""
        return cls(
            name=clip.name,
            frames=len(clip.motion),
            bodies=clip.motion.num_bodies,
            fps=float(clip.motion.fps),
            loops=bool(clip.motion.loops),
            size=clip.terrain.size,
            cell=float(clip.terrain.cell),
            has_bounds=clip.terrain.bounds is not None,
            path_nodes=0 if clip.path is None else len(clip.path),
            character=clip.character,
            provenance=clip.provenance,
        )

    @property
    def skill(self) -> str:
        """What the motion is said to be, empty if nothing is said."""
        return self.provenance.skill

    @property
    def seconds(self) -> float:
        """How long the motion lasts, s."""
        return self.frames / self.fps

    @property
    def cells(self) -> int:
        """Cells of the terrain."""
        return self.size[0] * self.size[1]
