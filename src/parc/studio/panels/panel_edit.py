"""Edits of the clip that is worked on, over a range of its frames."""

import itertools
import math
from typing import TYPE_CHECKING

from viser import Icon

from parc.dataset.clip import Clip
from parc.motion.motion_edits import HESITATION_DISTANCE, HESITATION_FRAMES
from parc.studio.document import Document
from parc.studio.panels.controls import QUIET, put
from parc.studio.panels.marked_text import add_markdown, marked
from parc.studio.panels.two_way import TwoWay

if TYPE_CHECKING:
    from parc.studio.studio_page import Page

_NONE = "(none)"


class EditPanel:
    """The controls of edits."""

    def __init__(self, page: "Page") -> None:
        self._page, gui = page, page.gui
        self._strokes = itertools.count()
        self._stroke = ""
        self._frames = 0
        self._made: Clip | None = None
        """what the sliders made last"""
        self._range = gui.add_multi_slider("Frames", 0, 1, 1, (0, 1))
        here = gui.add_button_group("Frame shown is", ("first", "last", "all"))
        self._fade = gui.add_number("Fade, frames", 8, min=0, max=300, step=1)
        here.on_click(page.act(lambda: self._set_range(here.value)))
        with gui.add_folder("Whole clip"):
            self._build_whole()
        with gui.add_folder("Move the body", expand_by_default=False):
            self._build_root()
        with gui.add_folder("Bend a joint", expand_by_default=False):
            self._build_joint()
        with gui.add_folder("Mark contacts", expand_by_default=False):
            self._build_contacts()

    def _build_whole(self) -> None:
        page, gui, edit = self._page, self._page.gui, self._page.session.edit
        cut = gui.add_button("Cut to these frames", icon=Icon.CUT)
        mirror = gui.add_button("Mirror", icon=Icon.FLIP_VERTICAL, color=QUIET)
        self._other = gui.add_dropdown("Followed by", (_NONE,))
        blend = gui.add_number("Blend, frames", 5, min=0, max=60, step=1)
        stitch = gui.add_button("Stitch", icon=Icon.NEEDLE_THREAD, color=QUIET)
        distance = gui.add_number("Stays within, m", HESITATION_DISTANCE, min=0.01, step=0.05)
        run = gui.add_number("for, frames", HESITATION_FRAMES, min=1, step=1)
        brisk = gui.add_button("Remove pauses", icon=Icon.PLAYER_TRACK_NEXT, color=QUIET)

        def stitched() -> None:
            if self._other.value == _NONE:
                page.complain("Open another clip first; it is put after this one")
            else:
                edit.stitch(int(self._other.value.split(".")[0]) - 1, blend.value)

        def hurried() -> None:
            taken = edit.remove_hesitation(distance.value, run.value)
            page.tell("Pauses", f"{taken} frames taken out" if taken else "There is no pause by these limits")

        cut.on_click(page.act(lambda: edit.cut(*self.frames())))
        mirror.on_click(page.act(edit.mirror))
        stitch.on_click(page.act(stitched))
        brisk.on_click(page.act(hurried))

    def _build_root(self) -> None:
        page, gui, edit = self._page, self._page.gui, self._page.session.edit

        def moved() -> None:
            x, y, z, turn = (slider.value for slider in self._root)
            start, stop = self.frames()
            _to_zero(self._angles)
            stroke = f"root {self._stroke}"
            self._made = edit.offset_root((x, y, z), math.radians(turn), start, stop, self._fade.value, stroke)

        sliders = [gui.add_slider(f"{axis}, m", -2.0, 2.0, 0.01, 0.0) for axis in "xyz"]
        sliders.append(gui.add_slider("Turn, deg", -180.0, 180.0, 1.0, 0.0))
        self._root = [TwoWay(page, slider, moved) for slider in sliders]
        keep = gui.add_button("Apply, and reset the sliders", icon=Icon.CHECK, color=QUIET)
        keep.on_click(page.act(self._begin_stroke))

    def _build_joint(self) -> None:
        page, gui, edit = self._page, self._page.gui, self._page.session.edit
        names = tuple(b.name for b in page.session.character.bodies if b.joint.dof)

        def bent() -> None:
            dof = self._dof()
            angles = [math.radians(slider.value) for slider in self._angles[:dof]]
            start, stop = self.frames()
            _to_zero(self._root)
            stroke = f"joint {self._stroke}"
            self._made = edit.bend_joint(self._body.value, angles, start, stop, self._fade.value, stroke)

        self._body = TwoWay(page, gui.add_dropdown("Body", names), self._begin_stroke)
        sliders = [gui.add_slider(f"Angle {k + 1}, deg", -120.0, 120.0, 1.0, 0.0) for k in range(3)]
        self._angles = [TwoWay(page, slider, bent) for slider in sliders]
        keep = gui.add_button("Apply, and reset the sliders", icon=Icon.CHECK, color=QUIET)
        keep.on_click(page.act(self._begin_stroke))
        self._begin_stroke()

    def _build_contacts(self) -> None:
        page, gui, session = self._page, self._page.gui, self._page.session
        add_markdown(gui, marked("Or click a body part in the view (**Click does: mark contact**)."))
        body = gui.add_dropdown("Body part", session.character.names)
        self._whole_range = gui.add_checkbox("Clicks label all chosen frames", True, hint="Otherwise only the one that is shown")
        on = gui.add_button("Touches", icon=Icon.HAND_STOP)
        off = gui.add_button("Does not touch", icon=Icon.HAND_OFF, color=QUIET)
        distance = gui.add_number("Found within, m", 0.03, min=0.0, max=0.5, step=0.01)
        speed = gui.add_number("Slower than, m/s", 0.5, min=0.0, max=10.0, step=0.1)
        find = gui.add_button("Find contacts of hands and feet", icon=Icon.WAND, color=QUIET)
        on.on_click(page.act(lambda: session.edit.label_contacts([body.value], *self.frames(), True)))
        off.on_click(page.act(lambda: session.edit.label_contacts([body.value], *self.frames(), False)))
        find.on_click(page.act(lambda: session.edit.label_by_geometry(distance.value, speed.value)))

    def frames(self) -> tuple[int, int]:
        """First frame and one past the last of the range."""
        start, last = self._range.value
        return int(start), min(int(last) + 1, max(self._frames, 1))

    def contact_range(self) -> tuple[int, int]:
        """Frames that a click on a body labels."""
        if self._whole_range.value:
            return self.frames()
        return self._page.frame(), self._page.frame() + 1

    def refresh(self, document: Document) -> None:
        frames = 0 if document.clip is None else len(document.clip.motion)
        if frames != self._frames:
            self._frames = frames
            put(self._range, (0, 1))
            self._range.max = max(frames - 1, 1)
            put(self._range, (0, max(frames - 1, 1)))
        if self._made is not None and document.clip is not self._made:
            self._begin_stroke()
        others = tuple(f"{k + 1}. {clip.name}" for k, clip in enumerate(document.clips) if k != document.active) or (_NONE,)
        if tuple(self._other.options) != others:
            self._other.options = others

    def _dof(self) -> int:
        character = self._page.session.character
        return character.bodies[character.index(self._body.value)].joint.dof

    def _begin_stroke(self) -> None:
        """Sliders at zero; what they do from here on is a step of its own."""
        self._stroke, self._made = str(next(self._strokes)), None
        _to_zero([*self._root, *self._angles])
        for k, slider in enumerate(self._angles):
            slider.control.visible = k < self._dof()

    def _set_range(self, which: str) -> None:
        (start, last), now = self._range.value, self._page.frame()
        if which == "first":
            put(self._range, (now, max(last, now + 1)))
        elif which == "last":
            put(self._range, (min(start, max(now - 1, 0)), max(now, 1)))
        else:
            put(self._range, (0, max(self._frames - 1, 1)))


def _to_zero(sliders: list[TwoWay]) -> None:
    """What sliders of the one kind have done stays done when those of the other are moved."""
    for slider in sliders:
        slider.put(0.0)
