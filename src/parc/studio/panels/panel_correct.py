"""Kinematic correction with its weights, watched while it goes on."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from viser import Icon

from parc.correct.correct_motions import OptimiseSettings
from parc.studio.document import Document
from parc.studio.panels.marked_text import add_markdown, marked

if TYPE_CHECKING:
    from parc.studio.studio_page import Page

_WEIGHTS = {
    "penetration": "Out of the ground",
    "contact": "Onto contacts",
    "jerk": "Less jerk",
    "sliding": "No sliding",
    "anchor": "Contacts held in place",
    "smoothness": "Smooth change",
    "self_penetration": "Bodies out of each other",
    "limits": "Joints in their ranges",
    "regularisation": "Near the source",
}


class CorrectPanel:
    """The controls of kinematic correction."""

    def __init__(self, page: "Page") -> None:
        self._page, gui = page, page.gui
        what = marked(
            "Pulls the clip out of the ground, onto its contacts, and smooths it. Meanwhile the figure is violet and shows "
            "how far it has come; **Stop** keeps that. The result is a new clip beside the old one."
        )
        add_markdown(gui, what)
        self._iterations = gui.add_number("Iterations", 1000, min=1, max=20000, step=100)
        self._start = gui.add_button("Correct", icon=Icon.WAND)
        defaults = OptimiseSettings()
        with gui.add_folder("Weights", expand_by_default=False):
            self._step = gui.add_number("Step size", defaults.step_size, min=0.00001, max=0.1, step=0.0005)
            self._weights = {n: gui.add_number(label, getattr(defaults, n), min=0.0) for n, label in _WEIGHTS.items()}
        self._start.on_click(page.act(self._correct))

    def settings(self) -> OptimiseSettings:
        weights: dict[str, Any] = {name: float(field.value) for name, field in self._weights.items()}
        return replace(OptimiseSettings(iterations=self._iterations.value, step_size=self._step.value), **weights)

    def refresh(self, document: Document) -> None:
        self._start.disabled = document.clip is None

    def _correct(self) -> None:
        self._page.session.make.correct(self.settings())
        self._page.job.refresh()
