"""The controls of the driven character, and how it is doing."""

import math
import time
from typing import TYPE_CHECKING

import numpy as np
from viser import Icon

from parc.plan.online_pilot import PilotSettings
from parc.plan.online_planner import PlannerSettings
from parc.studio.actions.key_steering import KeySteering
from parc.studio.actions.live_driving import LiveView
from parc.studio.document import Document
from parc.studio.panels.controls import QUIET
from parc.studio.panels.marked_text import Marked, add_html, add_markdown, joined, marked, show
from parc.studio.scene.live3d import heading_of

if TYPE_CHECKING:
    from parc.studio.studio_page import Page

_EVERY = 10
"""steps between updates of the figures"""


class LivePanel:
    """The controls of the driven character."""

    def __init__(self, page: "Page") -> None:
        self._page, gui, drive = page, page.gui, page.session.drive
        what = marked(
            "A character in a physics simulation, on the ground that is shown. **Drive it** with W A S D, the arrow keys or a "
            "gamepad, or click where it goes; hold shift and drag to draw its way. You can change the ground while it moves."
        )
        add_markdown(gui, what)
        self._start = gui.add_button(
            "Start driving",
            icon=Icon.PLAYER_PLAY,
            hint="Puts a character at the start of the path, or in the middle of the ground",
        )
        self._stop = gui.add_button(
            "Stop driving", icon=Icon.PLAYER_STOP, color="red", visible=False, hint="Takes the character away"
        )
        self._stay = gui.add_button(
            "Stand still", icon=Icon.HAND_STOP, color=QUIET, visible=False, hint="Forget the goal and stop where it can"
        )
        self._follow = gui.add_checkbox(
            "Camera stays behind", True, hint="Off: the mouse moves the camera, and keys lead as the camera looks"
        )
        self._distance = gui.add_slider("Camera distance, m", 2.0, 10.0, 0.5, 4.0, hint="From the character to the camera")
        with gui.add_folder("Push it"):
            self._strength = gui.add_slider("Strength, m/s", 0.1, 4.0, 0.1, 1.0, hint="Change of speed by the push")
            self._pushes = gui.add_button_group("From", ("front", "back", "left", "right"), hint="Side the push comes from")
        self._figures = add_html(gui, marked(""))
        self._keep = gui.add_button(
            "Keep this run as a clip", icon=Icon.CAMERA, color=QUIET, hint="The last minute becomes a clip to edit and save"
        )
        with gui.add_folder("Planning", expand_by_default=False):
            defaults = PilotSettings()
            self._rehearse = gui.add_checkbox(
                "Rehearse plans", defaults.rehearse, hint="Tries plans in simulation before one is followed: safer, and slower"
            )
            self._candidates = gui.add_number(
                "Plans tried", defaults.planner.candidates, min=1, max=16, step=1,
                hint="Motions tried in simulation for each step of the way; more are safer and slower",
            )  # fmt: skip
            self._seed = gui.add_number("Seed", 0, min=0, step=1, hint="The same seed gives the same random numbers")
        self._start.on_click(page.act(self.start))
        self._stop.on_click(page.act(drive.stop))
        self._stay.on_click(page.act(drive.stay))
        self._pushes.on_click(page.act(self._push))
        self._keep.on_click(page.act(self._keep_run))
        self._shown = 0
        self._steering = KeySteering()
        self._steered: float | None = None
        page.script.on("steer", lambda *held: page.later(lambda: self.steer(*map(float, held[:2]))))

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
        self._page.script.set(drives=running)

    def show(self, view: LiveView | None) -> None:
        """Called by the thread of the physics after every step, and at the end with None."""
        self._page.stage.show_live(view, self._distance.value if self._follow.value else None)
        for text in self._page.session.drive.messages():
            self._page.complain(text)
        if view is None or self._shown % _EVERY == 0:
            show(self._figures, marked("") if view is None else figures(view))
        self._shown = 0 if view is None else self._shown + 1

    def _push(self) -> None:
        x, y = {"front": (-1, 0), "back": (1, 0), "left": (0, -1), "right": (0, 1)}[self._pushes.value]
        view = self._page.session.drive.view
        heading = 0.0 if view is None else heading_of(view.rot[0])
        speed, c, s = self._strength.value, math.cos(heading), math.sin(heading)
        self._page.session.drive.push(speed * (c * x - s * y), speed * (s * x + c * y), 0.0)

    def steer(self, ahead: float, left: float) -> None:
        """Keys or a stick are held like this, -1 to 1 each; told ten times a second while they are, and once when let go."""
        drive = self._page.session.drive
        if not drive.is_running:
            return
        now = time.monotonic()
        since, self._steered = 0.0 if self._steered is None else now - self._steered, now
        camera = self._page.client.camera
        looks = np.asarray(camera.look_at) - np.asarray(camera.position)
        yaw = math.atan2(looks[1], looks[0])
        way = self._steering.direction(float(ahead), float(left), since, yaw, self._follow.value)
        if way is not None:
            drive.hold_key(*way)
        else:
            self._steered = None
            drive.release_key()

    def _keep_run(self) -> None:
        clip = self._page.session.drive.keep()
        self._page.tell("Kept as a clip", f"{clip.name}, {clip.motion.duration:.1f} s")


def figures(view: LiveView) -> Marked:
    """A table of how the driven character does."""
    tries = view.arrivals + view.falls
    success = "–" if not tries else f"{100 * view.arrivals / tries:.0f} % of {tries}"
    wish = {"stay": "stands still", "goal": "goes to its goal", "line": "follows the line", "direction": "led by keys"}[view.wish]
    rows = {
        "now": wish,
        "simulated": f"{view.seconds:.1f} s",
        "computing for a second of motion": f"{view.pace:.2f} s",
        "a plan takes (median, 95 %)": f"{1000 * view.plan_p50:.0f}, {1000 * view.plan_p95:.0f} ms",
        "late plans": f"{view.stalls}",
        "answers a command in (95 %)": "–" if math.isnan(view.answer) else f"{1000 * view.answer:.0f} ms",
        "a command changes the plan in (95 %)": "–" if math.isnan(view.change) else f"{1000 * view.change:.0f} ms",
        "goals reached without a fall": success,
        "falls, fresh starts": f"{view.falls}, {view.resets}",
        "distance from the plan": f"{100 * view.error:.1f} cm",
    }
    lines = joined(
        marked("<tr><td style='padding-right:1em'>{}</td><td style='font-variant-numeric:tabular-nums'><b>{}</b></td></tr>", *row)
        for row in rows.items()
    )
    return marked("<div style='padding:.2em 1em;font-size:.85em'><table>{}</table></div>", lines)
