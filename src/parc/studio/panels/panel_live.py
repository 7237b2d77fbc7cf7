"""The controls of the driven character, and how it is doing."""

import math
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from viser import Icon

from parc.plan.online_pilot import PilotSettings
from parc.plan.online_planner import PlannerSettings
from parc.studio.actions.live_driving import LiveView
from parc.studio.document import Document
from parc.studio.panels.controls import QUIET
from parc.studio.panels.marked_text import Marked, add_html, add_markdown, joined, marked, show

if TYPE_CHECKING:
    from parc.studio.studio_page import Page

_ARROWS: dict[Literal["arrowup", "arrowdown", "arrowleft", "arrowright"], float] = {
    "arrowup": 0.0, "arrowdown": math.pi, "arrowleft": math.pi / 2, "arrowright": -math.pi / 2,
}  # fmt: skip
"""turn from the way the camera looks, rad"""
_EVERY = 10
"""steps between updates of the figures"""


class LivePanel:
    """The controls of the driven character."""

    def __init__(self, page: "Page") -> None:
        self._page, gui, drive = page, page.gui, page.session.drive
        what = marked(
            "A simulated character on the ground that is shown. The generator plans, the tracker moves; plans are tried out in "
            "simulation before they are followed, or, without rehearsal, not. **Click does: go there** sends it; shift and drag "
            "draws its line; arrow keys lead it, as the camera looks. Brush the ground while it runs."
        )
        add_markdown(gui, what)
        self._start = gui.add_button("Stand on the stage", icon=Icon.PLAYER_PLAY)
        self._stop = gui.add_button("Leave the stage", icon=Icon.PLAYER_STOP, color="red", visible=False)
        self._stay = gui.add_button("Stay here", icon=Icon.HAND_STOP, color=QUIET, visible=False)
        with gui.add_folder("Push"):
            self._strength = gui.add_slider("Strength, m/s", 0.1, 4.0, 0.1, 1.0)
            self._pushes = gui.add_button_group("From", ("front", "back", "left", "right"))
        self._follow = gui.add_checkbox("Camera follows", False)
        self._figures = add_html(gui, marked(""))
        self._keep = gui.add_button("Keep the run as a clip", icon=Icon.CAMERA, color=QUIET)
        with gui.add_folder("Planning", expand_by_default=False):
            defaults = PilotSettings()
            self._rehearse = gui.add_checkbox("Rehearse plans", defaults.rehearse)
            self._candidates = gui.add_number("Plans tried", defaults.planner.candidates, min=1, max=16, step=1)
            self._seed = gui.add_number("Seed", 0, min=0, step=1)
        self._start.on_click(page.act(self.start))
        self._stop.on_click(page.act(drive.stop))
        self._stay.on_click(page.act(drive.stay))
        self._pushes.on_click(page.act(self._push))
        self._keep.on_click(page.act(self._keep_run))
        self._shown = 0
        self._key: tuple[str, float, float] | None = None
        for key in _ARROWS:
            gui.add_command(f"Lead the character: {key}", hotkey=key).on_trigger(self._on_key(key))

    def start(self) -> None:
        """At the beginning of the path if there is one, else in the middle."""
        document = self._page.session.document
        at, heading = None, 0.0
        if document.path is not None:
            first = document.path.nodes[0]
            ahead = document.path.nodes[min(2, len(document.path) - 1)] - first
            at, heading = (float(first[0]), float(first[1])), math.atan2(float(ahead[1]), float(ahead[0]))
        self._page.session.drive.start(at, heading, self.settings(), self._seed.value)

    def settings(self) -> PilotSettings:
        return PilotSettings(self._rehearse.value, planner=PlannerSettings(candidates=self._candidates.value))

    def refresh(self, document: Document) -> None:
        running = self._page.session.drive.is_running
        self._start.visible, self._stop.visible, self._stay.visible = not running, running, running

    def show(self, view: LiveView | None) -> None:
        """Called by the thread of the physics after every step, and at the end with None."""
        self._page.stage.show_live(view, self._follow.value)
        for text in self._page.session.drive.messages():
            self._page.complain(text)
        if view is None or self._shown % _EVERY == 0:
            show(self._figures, marked("") if view is None else figures(view))
        self._shown = 0 if view is None else self._shown + 1

    def _push(self) -> None:
        x, y = {"front": (-1, 0), "back": (1, 0), "left": (0, -1), "right": (0, 1)}[self._pushes.value]
        view = self._page.session.drive.view
        heading = 0.0 if view is None else _heading(view.rot[0])
        speed, c, s = self._strength.value, math.cos(heading), math.sin(heading)
        self._page.session.drive.push(speed * (c * x - s * y), speed * (s * x + c * y), 0.0)

    def _on_key(self, key: Literal["arrowup", "arrowdown", "arrowleft", "arrowright"]) -> Any:
        async def pressed(_: Any) -> None:
            drive = self._page.session.drive
            if not drive.is_running:
                return
            camera = self._page.client.camera
            looks = np.asarray(camera.look_at) - np.asarray(camera.position)
            if self._key is None or self._key[0] != key or drive.view is None or drive.view.wish != "direction":
                turn = math.atan2(looks[1], looks[0]) + _ARROWS[key]
                self._key = key, math.cos(turn), math.sin(turn)
            _, x, y = self._key
            self._page.later(lambda: drive.hold_key(x, y))

        return pressed

    def _keep_run(self) -> None:
        clip = self._page.session.drive.keep()
        self._page.tell("Kept", f"{clip.name}, {clip.motion.duration:.1f} s")


def _heading(quaternion: np.ndarray) -> float:
    """Of a root turned by a quaternion [4] (xyzw), rad."""
    x, y, z, w = (float(v) for v in quaternion)
    return math.atan2(2 * (x * y + w * z), 1 - 2 * (y * y + z * z))


def figures(view: LiveView) -> Marked:
    """A table of how the driven character does."""
    tries = view.arrivals + view.falls
    success = "–" if not tries else f"{100 * view.arrivals / tries:.0f} % of {tries}"
    wish = {"stay": "stays", "goal": "goes to its goal", "line": "follows the line", "direction": "led by keys"}[view.wish]
    rows = {
        "now": wish,
        "simulated": f"{view.seconds:.1f} s",
        "real time a simulated second": f"{view.pace:.2f} s",
        "a plan takes (median, 95 %)": f"{1000 * view.plan_p50:.0f}, {1000 * view.plan_p95:.0f} ms",
        "plans that came late": f"{view.stalls}",
        "a wish is taken up after (95 %)": "–" if math.isnan(view.answer) else f"{1000 * view.answer:.0f} ms",
        "a wish changes the plan after (95 %)": "–" if math.isnan(view.change) else f"{1000 * view.change:.0f} ms",
        "goals reached without a fall": success,
        "falls, put back": f"{view.falls}, {view.resets}",
        "off the plan": f"{100 * view.error:.1f} cm",
    }
    lines = joined(
        marked("<tr><td style='padding-right:1em'>{}</td><td style='font-variant-numeric:tabular-nums'><b>{}</b></td></tr>", *row)
        for row in rows.items()
    )
    return marked("<div style='padding:.2em 1em;font-size:.85em'><table>{}</table></div>", lines)
