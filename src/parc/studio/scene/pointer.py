"""What the mouse does in the scene, by the tool that is chosen: paint the ground, set waypoints, mark contacts."""

import itertools
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from parc.errors import MotionError
from parc.path.navigation_graph import Cell
from parc.render import palette
from parc.studio.scene.ray_pick import Hit, pick_cell

if TYPE_CHECKING:
    from parc.studio.studio_page import Page

Tool = Literal[
    "look around",
    "raise ground",
    "lower ground",
    "set height",
    "flatten",
    "add path point",
    "path start",
    "path goal",
    "mark contact",
    "send character",
]
TOOLS: tuple[Tool, ...] = (
    "look around", "raise ground", "lower ground", "set height", "flatten", "add path point", "path start", "path goal",
    "mark contact", "send character",
)  # fmt: skip
TAB_TOOLS: dict[str, tuple[Tool, ...]] = {
    "Clips": ("look around",),
    "Terrain": ("raise ground", "lower ground", "set height", "flatten"),
    "Path": ("path goal", "path start", "add path point"),
    "Cross": ("path goal", "path start"),
    "Edit": ("mark contact", "look around"),
    "Measure": ("look around",),
    "Make": ("look around",),
    "Physics": ("look around",),
    "Live": ("send character",),
    "Save": ("look around",),
}
"""what a click may do in each tab; the first is what it does when the tab is shown for the first time"""
HINTS: dict[Tool, str] = {
    "look around": "Drag turns the view, right drag moves it, the wheel zooms.",
    "raise ground": "Click a cell to raise it, or hold shift and drag over cells.",
    "lower ground": "Click a cell to lower it, or hold shift and drag over cells.",
    "set height": "Click a cell to give it the height in the tab Terrain, or hold shift and drag.",
    "flatten": "Click a cell: it and its neighbours take their mean height. Choose a radius of 1 or more.",
    "add path point": "Click places to walk through, or hold shift and drag to draw the whole path.",
    "path start": "Click the cell where the path starts.",
    "path goal": "Click the cell where the path ends. If a start is set, the path is planned at once.",
    "mark contact": "Click a body part to mark, or unmark, that it touches the ground in the chosen frames.",
    "send character": "Click where the character goes, or hold shift and drag to draw its way. Keys: W A S D or arrows.",
}


class Pointer:
    """What clicks and strokes in the scene do, by the tool that is chosen."""

    def __init__(self, page: "Page") -> None:
        self._page = page
        self._strokes = itertools.count()
        self._stroke = ""
        self._last: Cell | None = None
        self._line: list[tuple[float, float]] = []
        self.start: Cell | None = None
        self.goal: Cell | None = None
        self._shape: tuple[object, ...] = ()
        """of the ground that start and goal lie on"""

        async def on_click(event: Any) -> None:
            origin, direction = np.array(event.ray_origin), np.array(event.ray_direction)
            page.later(lambda: self.click(origin, direction))

        async def on_drag(event: Any) -> None:
            eye, place, phase = np.array(page.client.camera.position), np.array(event.end_position), event.phase
            page.later(lambda: self.drag(eye, place - eye, phase))

        page.stage.catch_clicks(on_click)
        page.stage.catch_drags(on_drag)

    def click(self, origin: np.ndarray, direction: np.ndarray) -> None:
        tool = self._page.top.tool
        if tool == "look around":
            return
        if tool == "mark contact":
            self._mark_contact(origin, direction)
            return
        hit = pick_cell(self._page.session.document.terrain, origin, direction)
        if hit is None:
            return
        if tool == "send character":
            self._page.session.drive.go_to(float(hit.point[0]), float(hit.point[1]))
        elif tool == "add path point":
            self._page.session.route.add_waypoint(hit.point[0], hit.point[1])
        elif tool in ("path start", "path goal"):
            self.set_end("start" if tool == "path start" else "goal", hit.cell)
            if self.start is not None and self.goal is not None:
                self._page.path.plan()
        else:
            self._page.session.ground.paint(hit.cell, self._page.terrain.brush(tool))

    def drag(self, origin: np.ndarray, direction: np.ndarray, phase: str) -> None:
        """Shift held: paint cell after cell, or draw the path."""
        tool, session = self._page.top.tool, self._page.session
        if phase == "start":
            self._stroke, self._last, self._line = f"drag {next(self._strokes)}", None, []
        hit = pick_cell(session.document.terrain, origin, direction)
        if tool == "send character":
            self._lead(hit, phase)
        elif tool in ("add path point", "path start", "path goal"):
            self._draw(hit, phase)
        elif tool in ("raise ground", "lower ground", "set height", "flatten") and hit is not None and hit.cell != self._last:
            self._last = hit.cell
            session.ground.paint(hit.cell, self._page.terrain.brush(tool), self._stroke)

    def set_end(self, which: Literal["start", "goal"], cell: Cell | None) -> None:
        """Where a plan starts or ends, and a dot there."""
        setattr(self, which, cell)
        self.refresh_marks()
        self._page.path.show_ends()
        if self._page.cross is not None:
            self._page.cross.refresh(self._page.session.document)

    def refresh_marks(self) -> None:
        """Put the dots on the ground as it is now; on ground of another shape they are forgotten."""
        terrain = self._page.session.document.terrain
        shape = (terrain.size, terrain.cell, *terrain.min_point.tolist())
        if shape != self._shape:
            self._shape, self.start, self.goal = shape, None, None
        for which, colour in (("start", palette.PATH), ("goal", palette.GOAL)):
            cell: Cell | None = getattr(self, which)
            place = None
            if cell is not None:
                xy = terrain.min_point.double().numpy() + terrain.cell * np.array(cell)
                place = np.append(xy, float(terrain.heights[cell]))
            self._page.stage.mark(which, place, colour)

    def _draw(self, hit: Hit | None, phase: str) -> None:
        if hit is not None:
            place = hit.point[:2]
            if not self._line or np.hypot(place[0] - self._line[-1][0], place[1] - self._line[-1][1]) > 0.1:
                self._line.append(place)
                if len(self._line) > 1:
                    self._page.session.route.draw(self._line, self._stroke)

    def _lead(self, hit: Hit | None, phase: str) -> None:
        """A line for the driven character, which takes it when it is drawn to its end."""
        if hit is not None:
            self._line.append((float(hit.point[0]), float(hit.point[1])))
        if phase == "end" and self._line:
            self._page.session.drive.go_along(self._line)

    def _mark_contact(self, origin: np.ndarray, direction: np.ndarray) -> None:
        page = self._page
        hit = page.stage.body_under(origin, direction)
        if hit is None:
            return
        role, body, _ = hit
        if not role.is_active:
            raise MotionError(f"'{role.clip.name}' is not the clip that is worked on; choose it in the list of open clips first")
        start, stop = page.edit.contact_range()
        touching = page.session.edit.toggle_contact(body, start, stop)
        page.tell("Contact", f"{body} {'touches' if touching else 'does not touch'} in frames {start} to {stop - 1}")
