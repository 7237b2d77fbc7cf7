"""Actions on the ground: paint, make, cut, pad, load and save."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from parc.errors import TerrainError
from parc.path.navigation_graph import Cell
from parc.run.file_names import upload_name
from parc.studio.actions.terrain_brush import Brush, paint
from parc.studio.actions.terrain_for_clip import fit_terrain
from parc.terrain import terrain_edits
from parc.terrain.height_image import DEFAULT_IMAGE, ImageHeights
from parc.terrain.parkour_course import parkour_park
from parc.terrain.procedural_terrain import RandomBoxes, RandomWalks, random_boxes, random_slice, random_walks
from parc.terrain.stair_flights import Stairs, stairs
from parc.terrain.terrain import Terrain
from parc.terrain.terrain_file import load_terrain, save_terrain
from parc.terrain.triangle_mesh import DEFAULT_MESH, MeshSampling

if TYPE_CHECKING:
    from parc.studio.studio_session import Session

MOST_CELLS = 62_500
"""that a browser draws well; 250 x 250"""


class GroundEdits:
    """Edits of the terrain; each can be undone."""

    def __init__(self, session: "Session") -> None:
        self._session = session

    def checked(self, terrain: Terrain) -> Terrain:
        """Refused if it is too large to be shown."""
        rows, columns = terrain.size
        if rows * columns > MOST_CELLS:
            raise TerrainError(
                f"the terrain has {rows} x {columns} = {rows * columns} cells, the studio shows {MOST_CELLS} at most;"
                " cut it with `parc terrain make slice`, or choose larger cells"
            )
        return terrain

    def paint(self, cell: Cell, brush: Brush, stroke: str | None = None) -> Terrain:
        """One dab of the brush; dabs of one `stroke` are undone together."""
        change = self._session.change(
            f"{brush.kind} {cell[0]}, {cell[1]}", lambda d: d.with_ground_edited(paint(d.terrain, cell, brush)), stroke
        )
        return change.terrain

    def put(self, terrain: Terrain, label: str = "new terrain") -> Terrain:
        """Another ground onto the stage; clips stay on theirs."""
        return self._session.change(label, lambda d: d.with_new_ground(self.checked(terrain))).terrain

    def flat(self, size: tuple[int, int], height: float = 0.0) -> Terrain:
        self._check_size(size)
        return self.put(Terrain.flat(size, height), "flat ground")

    def boxes(self, settings: RandomBoxes = RandomBoxes(), seed: int = 0) -> Terrain:
        self._check_size(settings.size)
        return self.put(random_boxes(settings, np.random.default_rng(seed)), f"random boxes, seed {seed}")

    def walks(self, settings: RandomWalks = RandomWalks(), seed: int = 0) -> Terrain:
        self._check_size(settings.size)
        return self.put(random_walks(settings, np.random.default_rng(seed)), f"random walks, seed {seed}")

    def stairs(self, settings: Stairs = Stairs()) -> Terrain:
        self._check_size((settings.steps * settings.run + 2 * settings.landing, settings.width))
        return self.put(stairs(settings), "stairs")

    def park(self) -> Terrain:
        return self.put(parkour_park(), "parkour park")

    def slice(self, size: tuple[int, int], seed: int = 0) -> Terrain:
        """A random piece of the ground on the stage becomes the ground."""
        return self.put(random_slice(self._session.document.terrain, size, np.random.default_rng(seed)), f"slice, seed {seed}")

    def pad(self, cells: int, height: float | None = None) -> Terrain:
        def padded(terrain: Terrain) -> Terrain:
            self._check_size((terrain.size[0] + 2 * cells, terrain.size[1] + 2 * cells))
            return terrain_edits.pad(terrain, cells, height)

        return self._session.change(f"pad {cells}", lambda d: d.with_ground_edited(padded(d.terrain))).terrain

    def box(self, start: Cell, stop: Cell, height: float) -> Terrain:
        """Cells start .. stop-1 at one height, m."""
        return self._session.change(
            f"box at {height:g} m", lambda d: d.with_ground_edited(terrain_edits.set_region(d.terrain, start, stop, height))
        ).terrain

    def crop(self, start: Cell, stop: Cell) -> Terrain:
        """Only cells start .. stop-1, where they are."""
        return self._session.change("crop", lambda d: d.with_ground_edited(terrain_edits.crop(d.terrain, start, stop))).terrain

    def max_pool(self, radius: int) -> Terrain:
        if radius > 50:
            raise TerrainError(f"the radius of a max-pool is {radius} cells, expected at most 50")
        return self._session.change("max-pool", lambda d: d.with_ground_edited(terrain_edits.max_pool(d.terrain, radius))).terrain

    def fit_to_motion(self) -> Terrain:
        """Ground made from the contacts of the clip that is worked on."""
        character = self._session.character
        return self._session.change_clip("fit terrain to motion", lambda clip: fit_terrain(clip, character)).terrain

    def load(self, path: Path | str, image: ImageHeights = DEFAULT_IMAGE, mesh: MeshSampling = DEFAULT_MESH) -> Terrain:
        """A .terrain file, a grey image or a mesh."""
        return self.put(load_terrain(path, image, mesh), f"load {Path(path).name}")

    def load_bytes(
        self, filename: str, content: bytes, image: ImageHeights = DEFAULT_IMAGE, mesh: MeshSampling = DEFAULT_MESH
    ) -> Terrain:
        with TemporaryDirectory() as folder:
            file = Path(folder) / upload_name(filename)
            file.write_bytes(content)
            return self.load(file, image, mesh)

    def export(self, suffix: str = ".terrain") -> tuple[str, bytes]:
        """The ground as a file: its name and content."""
        with TemporaryDirectory() as folder:
            file = Path(folder) / f"ground{suffix}"
            save_terrain(self._session.document.terrain, file)
            return file.name, file.read_bytes()

    def _check_size(self, size: tuple[int, int]) -> None:
        """Before it is made."""
        if min(size) < 1 or size[0] * size[1] > MOST_CELLS:
            raise TerrainError(
                f"a terrain of {size[0]} x {size[1]} cells was asked for, expected at least one and at most {MOST_CELLS}"
            )
