"""Motions along the path by the generator, and the choice among them."""

from typing import TYPE_CHECKING

from viser import Icon

from parc.errors import MotionError
from parc.studio.actions.watched_generation import MOST, GenerateSettings
from parc.studio.document import Document
from parc.studio.panels.controls import QUIET
from parc.studio.panels.marked_text import add_markdown, marked, show

if TYPE_CHECKING:
    from parc.studio.studio_page import Page

_NONE = "(none)"


class GeneratePanel:
    """The controls of the generator."""

    def __init__(self, page: "Page") -> None:
        self._page, gui = page, page.gui
        file = page.session.make.generator
        assert file is not None
        add_markdown(gui, marked("Generator: **{}**. Moves along the path on the ground that is shown.", file.path.name))
        defaults = GenerateSettings()
        self._batch = gui.add_number("Candidates", defaults.batch, min=1, max=MOST, step=1)
        self._seconds = gui.add_number("Time limit, s", defaults.seconds, min=0.5, max=120.0, step=0.5)
        self._steps = gui.add_number("Denoising steps", 0, min=0, max=1000, step=1)
        self._mode = gui.add_dropdown("Blend", ("annealed", "constant"))
        self._blend = gui.add_slider("Blend amount", 0.0, 1.0, 0.05, 0.65, visible=False)
        self._choices = gui.add_number("Choices per window", defaults.choices, min=1, max=16, step=1)
        self._seed = gui.add_number("Seed", 0, min=0, step=1)
        start = gui.add_button("Generate", icon=Icon.SPARKLES)
        with gui.add_folder("Pick one"):
            self._pick = gui.add_dropdown("Look at", (_NONE,))
            self._note = add_markdown(gui, marked("None yet."))
            keep = gui.add_button("Keep it", icon=Icon.CHECK)
            drop = gui.add_button("Drop all", icon=Icon.TRASH, color=QUIET)
        self._mode.on_update(page.act(lambda: setattr(self._blend, "visible", self._mode.value == "constant")))
        start.on_click(page.act(self._generate))
        self._pick.on_update(page.act(page.refresh))
        keep.on_click(page.act(self._keep))
        drop.on_click(page.act(page.session.make.drop_candidates))

    @property
    def picked(self) -> int:
        return 0 if self._pick.value == _NONE else int(self._pick.value.split(".")[0]) - 1

    def settings(self) -> GenerateSettings:
        return GenerateSettings(
            batch=self._batch.value,
            steps=self._steps.value or None,
            blend=self._blend.value if self._mode.value == "constant" else None,
            seconds=self._seconds.value,
            choices=self._choices.value,
            seed=self._seed.value,
        )

    def refresh(self, document: Document) -> None:
        lines = tuple(f"{k}. {c.name}" for k, c in enumerate(document.candidates, 1)) or (_NONE,)
        if tuple(self._pick.options) != lines:
            self._pick.options = lines
        if document.candidates:
            clip = document.candidates[min(self.picked, len(document.candidates) - 1)]
            losses = clip.provenance.losses
            arrived = "arrived" if losses["reached"] else "did not arrive"
            values = clip.motion.duration, arrived, losses["selection"]
            show(self._note, marked("{:.1f} s, {}, selection loss {:.3g}", *values))
        else:
            show(self._note, marked("None yet."))

    def _generate(self) -> None:
        self._page.session.make.generate(self.settings())
        self._page.job.refresh()

    def _keep(self) -> None:
        if not self._page.session.document.candidates:
            raise MotionError("there is no candidate to keep; generate some first")
        self._page.session.make.keep(self.picked)
