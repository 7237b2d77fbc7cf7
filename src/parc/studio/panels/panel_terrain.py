"""Ground: the brush, new grounds, changes of the whole, files."""

from typing import TYPE_CHECKING

from viser import Icon

from parc.studio.actions.terrain_brush import Brush, BrushKind
from parc.studio.document import Document
from parc.studio.panels.controls import QUIET, put
from parc.studio.scene.pointer import Tool
from parc.terrain.height_image import ImageHeights
from parc.terrain.procedural_terrain import RandomBoxes, RandomWalks
from parc.terrain.stair_flights import Stairs
from parc.terrain.triangle_mesh import MeshSampling

if TYPE_CHECKING:
    from parc.studio.studio_page import Page

_KINDS = ("random boxes", "random walks", "stairs", "flat", "parkour park")
_BRUSHES: dict[Tool, BrushKind] = {"raise ground": "raise", "lower ground": "lower", "set height": "set", "flatten": "flatten"}


class TerrainPanel:
    """The tab of the terrain."""

    def __init__(self, page: "Page") -> None:
        self._page = page
        with page.gui.add_folder("Brush"):
            self._build_brush()
        with page.gui.add_folder("New ground"):
            self._build_new()
        with page.gui.add_folder("Change the whole", expand_by_default=False):
            self._build_whole()
        with page.gui.add_folder("Files", expand_by_default=False):
            self._build_files()

    def _build_brush(self) -> None:
        gui = self._page.gui
        self._amount = gui.add_number("Amount, m", 0.2, min=0.01, max=5.0, step=0.05)
        self._height = gui.add_number("Height, m", 0.0, min=-10.0, max=10.0, step=0.1)
        self._radius = gui.add_slider("Radius, cells", 0, 8, 1, 0)

    def _build_new(self) -> None:
        page, gui, ground = self._page, self._page.gui, self._page.session.ground
        self._kind = gui.add_dropdown("Kind", _KINDS)
        self._seed = gui.add_number("Seed", 0, min=0, step=1)
        self._rows = gui.add_number("Cells along x", 16, min=1, max=250, step=1)
        self._columns = gui.add_number("Cells along y", 16, min=1, max=250, step=1)
        self._count = gui.add_number("How many", 10, min=0, max=500, step=1)
        self._low = gui.add_number("Lowest, m", -2.0, step=0.1)
        self._high = gui.add_number("Highest, m", 2.0, step=0.1)
        self._rise = gui.add_number("Rise, m", 0.2, step=0.05)
        make = gui.add_button("Make", icon=Icon.SPARKLES)
        self._another = gui.add_button("Next seed", icon=Icon.DICE_5, color=QUIET)

        def made() -> None:
            size, heights = (self._rows.value, self._columns.value), (self._low.value, self._high.value)
            kind, seed, count = self._kind.value, self._seed.value, self._count.value
            if kind == "random boxes":
                ground.boxes(RandomBoxes(size=size, boxes=count, height=heights), seed)
            elif kind == "random walks":
                ground.walks(RandomWalks(size=size, walks=count, height=heights), seed)
            elif kind == "stairs":
                ground.stairs(Stairs(steps=count, rise=self._rise.value, width=self._columns.value))
            elif kind == "flat":
                ground.flat(size, self._low.value if self._low.value > 0 else 0.0)
            else:
                ground.park()
            page.later(lambda: page.stage.look_at(page.cast))

        def next_seed() -> None:
            put(self._seed, self._seed.value + 1)
            made()

        make.on_click(page.act(made))
        self._another.on_click(page.act(next_seed))
        self._kind.on_update(page.act(self._show_fields))
        self._show_fields()

    def _build_whole(self) -> None:
        page, gui, ground = self._page, self._page.gui, self._page.session.ground
        cells = gui.add_number("Cells", 2, min=0, max=50, step=1)
        pad = gui.add_button("Add a border", icon=Icon.ARROWS_MAXIMIZE, color=QUIET)
        pool = gui.add_button("Close narrow gaps", icon=Icon.STACK_2, color=QUIET)
        start = gui.add_vector2("From cell", (0, 0), step=1)
        stop = gui.add_vector2("To cell", (8, 8), step=1)
        box = gui.add_button("Box on these cells", icon=Icon.BOX, color=QUIET)
        crop = gui.add_button("Crop to these cells", icon=Icon.CROP, color=QUIET)
        slice_of = gui.add_button("Random piece of that size", icon=Icon.CUT, color=QUIET)
        fit = gui.add_button("Fit to the motion's contacts", icon=Icon.SHOE, color=QUIET)

        def corner(value: tuple[float, float]) -> tuple[int, int]:
            return int(value[0]), int(value[1])

        def size() -> tuple[int, int]:
            a, b = corner(start.value), corner(stop.value)
            return b[0] - a[0], b[1] - a[1]

        pad.on_click(page.act(lambda: ground.pad(cells.value)))
        pool.on_click(page.act(lambda: ground.max_pool(cells.value)))
        box.on_click(page.act(lambda: ground.box(corner(start.value), corner(stop.value), self._height.value)))
        crop.on_click(page.act(lambda: ground.crop(corner(start.value), corner(stop.value))))
        slice_of.on_click(page.act(lambda: ground.slice(size(), self._seed.value)))
        fit.on_click(page.act(ground.fit_to_motion))

    def _build_files(self) -> None:
        page, gui, ground = self._page, self._page.gui, self._page.session.ground
        cell = gui.add_number("Cell, m", 0.4, min=0.05, max=5.0, step=0.05)
        black = gui.add_number("Black is, m", -2.0, step=0.1)
        white = gui.add_number("White is, m", 2.0, step=0.1)
        upload = gui.add_upload_button("Load .terrain, image or mesh", icon=Icon.UPLOAD)
        kind = gui.add_dropdown("Save as", (".terrain", ".png", ".obj", ".stl", ".ply", ".glb"))
        save = gui.add_button("Download the ground", icon=Icon.DOWNLOAD, color=QUIET)

        def load() -> None:
            image = ImageHeights((black.value, white.value), cell.value)
            ground.load_bytes(upload.value.name, upload.value.content, image, MeshSampling(cell=cell.value))
            page.later(lambda: page.stage.look_at(page.cast))

        upload.on_upload(page.act(load))
        save.on_click(page.act(lambda: page.client.send_file_download(*ground.export(kind.value), save_immediately=True)))

    def brush(self, tool: Tool) -> Brush:
        return Brush(_BRUSHES[tool], self._amount.value, self._height.value, self._radius.value)

    def refresh(self, document: Document) -> None:
        self._page.pointer.refresh_marks()

    def _show_fields(self) -> None:
        """Only the fields that the kind of ground has."""
        kind = self._kind.value
        self._seed.visible = self._another.visible = kind.startswith("random")
        self._rows.visible = kind in ("random boxes", "random walks", "flat")
        self._columns.visible = kind != "parkour park"
        self._count.visible = kind in ("random boxes", "random walks", "stairs")
        self._low.visible = self._high.visible = kind.startswith("random")
        self._rise.visible = kind == "stairs"
