"""The path: planned by A* with its settings in sight, drawn, or clicked point by point."""

from typing import TYPE_CHECKING

from viser import Icon

from parc.errors import PathError
from parc.path.edge_cost import CostSettings
from parc.path.navigation_graph import GraphSettings
from parc.path.path_endpoints import EndpointSettings
from parc.path.path_planning import PlanSettings
from parc.studio.document import Document
from parc.studio.panels.controls import QUIET, put
from parc.studio.panels.marked_text import add_markdown, marked, show

if TYPE_CHECKING:
    from parc.studio.studio_page import Page

_GRAPH = {
    "max_step": "Step up to, m",
    "jump_distance": "Jump up to, m",
    "jump_up": "Jump rises up to, m",
    "jump_down": "Jump falls up to, m",
    "jump_clearance": "Jump clears, m",
    "cliff_drop": "Cliff from, m",
    "corner_step": "Corners to, m",
}
_COST = {"w_xy": "Distance costs", "w_z": "Height costs", "c_min": "Random from", "c_max": "Random to"}


class PathPanel:
    """The tab of the path."""

    def __init__(self, page: "Page") -> None:
        self._page, gui = page, page.gui
        session = page.session
        add_markdown(
            gui,
            marked(
                "Click the goal in the view; **Click does: path start** sets where it begins. Or draw it: **add path point**."
            ),
        )
        self._ends = add_markdown(gui, marked(""))
        self._seed = gui.add_number("Seed", 0, min=0, step=1)
        plan = gui.add_button("Plan from start to goal", icon=Icon.ROUTE)
        random = gui.add_button("Random path across", icon=Icon.DICE_5)
        clear = gui.add_button("Clear", icon=Icon.TRASH, color=QUIET)
        give = gui.add_button("Make it the clip's path", icon=Icon.LINK, color=QUIET)
        with gui.add_folder("How the way is found (A*)", expand_by_default=False):
            graph, cost = GraphSettings(), CostSettings()
            self._graph = {n: gui.add_number(label, getattr(graph, n), min=0.0, step=0.05) for n, label in _GRAPH.items()}
            self._cost = {n: gui.add_number(label, getattr(cost, n), min=0.0, step=0.05) for n, label in _COST.items()}
            self._apart = gui.add_number("Ends apart, m", EndpointSettings().min_distance, min=0.1, step=0.5)
        with gui.add_folder("Files", expand_by_default=False):
            upload = gui.add_upload_button("Load a path (.json)", icon=Icon.UPLOAD)
            save = gui.add_button("Download the path", icon=Icon.DOWNLOAD, color=QUIET)
        plan.on_click(page.act(self.plan))
        random.on_click(page.act(self._plan_random))
        clear.on_click(page.act(self._clear))
        give.on_click(page.act(session.route.attach))
        upload.on_upload(page.act(lambda: session.route.load_bytes(upload.value.name, upload.value.content)))
        save.on_click(page.act(lambda: page.client.send_file_download(*session.route.export(), save_immediately=True)))

    def settings(self) -> PlanSettings:
        return PlanSettings(
            graph=GraphSettings(**{name: field.value for name, field in self._graph.items()}),
            cost=CostSettings(**{name: field.value for name, field in self._cost.items()}),
            endpoint=EndpointSettings(self._apart.value),
        )

    def plan(self) -> None:
        start, goal = self._page.pointer.start, self._page.pointer.goal
        if start is None or goal is None:
            raise PathError("set 'Click does' to 'path start' and then to 'path goal', and click the two cells first")
        self._page.session.route.plan(start, goal, self.settings(), self._seed.value)

    def show_ends(self) -> None:
        pointer = self._page.pointer
        show(self._ends, marked("start {}, goal {}", _cell(pointer.start), _cell(pointer.goal)))

    def refresh(self, document: Document) -> None:
        self.show_ends()

    def _plan_random(self) -> None:
        self._page.session.route.plan_random(self.settings(), self._seed.value)
        put(self._seed, self._seed.value + 1)

    def _clear(self) -> None:
        self._page.session.route.clear()
        self._page.pointer.set_end("start", None)
        self._page.pointer.set_end("goal", None)


def _cell(cell: tuple[int, int] | None) -> str:
    return "not set" if cell is None else f"{cell[0]}, {cell[1]}"
