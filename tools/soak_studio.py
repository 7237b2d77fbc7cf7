"""A studio in use for hours: a person in Chromium (part of `tools/soak.py`)."""

import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from memory_curve import FLAT, MemoryCurve

from parc.character import humanoid
from parc.errors import ParcError
from parc.run.free_memory import keep_memory_together

_TABLE = 4
"""clips that stay open; each has a figure and a ground in the scene"""


def soak_studio(seconds: float, seed: int) -> dict[str, Any]:
    """A person in Chromium before the shipped clips and models: actions of many kinds in random order, and reloads of the tab.

    The server is this process; the browser and its driver are others. Faults are tracebacks of the server and errors of the page.
    """
    from playwright.sync_api import sync_playwright

    from parc.models import shipped_generator, shipped_motions, shipped_tracker
    from parc.studio.clip_library import Library
    from parc.studio.save_places import SavePlaces
    from parc.studio.studio_app import Studio, StudioSettings

    torch.set_num_threads(1)
    keep_memory_together()  # as the command does
    character, numbers, curve = humanoid(), np.random.default_rng(seed), MemoryCurve()
    flags = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        settings = StudioSettings(port=0, save_places=SavePlaces([folder]))
        library = Library(character, [shipped_motions()])
        studio = Studio(character, library, None, shipped_generator(), settings, shipped_tracker())
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
        try:
            visitor = StudioVisitor(studio, browser.new_page(viewport={"width": 800, "height": 500}), Path(folder), numbers)
            start = time.monotonic()
            while (spent := time.monotonic() - start) < seconds:
                visitor.act()
                curve.note(spent / seconds)
        finally:
            browser.close()
            studio.close()
    told = curve.told()
    return {
        "seconds": round(seconds), "actions": visitor.counts, "refused": visitor.refused, "faults": visitor.faults, **told,
        "holds": not visitor.faults and told["grown_mb"] < FLAT,
    }  # fmt: skip


class StudioVisitor:
    """Acts through the session of the tab, as the panels do, and looks at the page now and then."""

    def __init__(self, studio: Any, tab: Any, folder: Path, numbers: np.random.Generator) -> None:
        self._studio, self._tab, self._folder, self._numbers = studio, tab, folder, numbers
        self._names = [found.name for found in studio.library.search()]
        self.counts: dict[str, int] = {}
        self.refused = 0
        """actions that ended in a sentence"""
        self.faults: list[str] = []
        tab.on("pageerror", lambda error: self.faults.append(f"page: {error}"))
        tab.on("crash", lambda _: self.faults.append("the tab crashed"))
        self._actions = [
            self.open, self.open, self.shut, self.undo, self.redo, self.play, self.paint, self.cut, self.measure, self.export,
            self.replay, self.save, self.correct, self.simulate, self.generate, self.drive, self.reload,
        ]  # fmt: skip
        self.reload()

    def act(self) -> None:
        """One action; a sentence is an answer, anything else is a fault."""
        action = self._actions[self._numbers.integers(len(self._actions))]
        self.counts[action.__name__] = self.counts.get(action.__name__, 0) + 1
        try:
            action()
        except ParcError:
            self.refused += 1
        except Exception as error:
            self.faults.append(f"{action.__name__}: {type(error).__name__}: {error}"[:300])
        while len(self._session.document.clips) > _TABLE:
            self._session.close(0)
        self._tab.wait_for_timeout(200)
        if self._tab.get_by_text("fault of the program").count():
            self.faults.append(f"{action.__name__}: {self._tab.get_by_text('fault of the program').first.inner_text()}")

    @property
    def _page(self) -> Any:
        return self._studio.pages[max(self._studio.pages)]

    @property
    def _session(self) -> Any:
        return self._page.session

    def open(self) -> None:
        self._session.open(self._names[self._numbers.integers(len(self._names))])
        self._page.later(lambda: self._page.stage.look_at(self._page.cast))

    def shut(self) -> None:
        self._session.close(0)

    def undo(self) -> None:
        self._session.undo()

    def redo(self) -> None:
        self._session.redo()

    def play(self) -> None:
        self._page.playback.play()
        self._tab.wait_for_timeout(3000)
        self._page.playback.pause()

    def paint(self) -> None:
        from parc.studio.actions.terrain_brush import Brush

        rows, columns = self._session.document.terrain.size
        cell = int(self._numbers.integers(rows)), int(self._numbers.integers(columns))
        self._session.ground.paint(cell, Brush("raise", 0.2))

    def cut(self) -> None:
        self._session.edit.cut(5, len(self._session.document.active_clip().motion) - 5)

    def measure(self) -> None:
        self._session.measure()

    def export(self) -> None:
        self._session.export(str(self._numbers.choice([".motion", ".pkl", ".bvh", ".glb"])))

    def replay(self) -> None:
        self._session.replay()

    def save(self) -> None:
        self._session.save_to(self._folder / "set")

    def correct(self) -> None:
        self._job(self._session.make.correct)

    def simulate(self) -> None:
        self._job(self._session.make.track)

    def generate(self) -> None:
        from parc.studio.actions.watched_generation import GenerateSettings

        self._session.route.plan((2, 2), (8, 8))
        self._job(lambda: self._session.make.generate(GenerateSettings(batch=4, seconds=3.0)))
        self._session.make.drop_candidates()

    def drive(self) -> None:
        drive = self._session.drive
        drive.start()
        self._tab.wait_for_timeout(3000)
        drive.go_to(*self._numbers.uniform(1.0, 5.0, 2).tolist())
        self._tab.wait_for_timeout(4000)
        drive.stop()

    def reload(self) -> None:
        """The tab anew; its session is found again."""
        before = set(self._studio.pages)
        self._tab.goto(self._studio.url)
        self._tab.get_by_role("tab", name="Clips").wait_for(timeout=120_000)
        ends = time.monotonic() + 60.0
        while not set(self._studio.pages) - before and time.monotonic() < ends:
            self._tab.wait_for_timeout(50)

    def _job(self, start: Any) -> None:
        """At most 20 s of it, then it is stopped."""
        job = start()
        ends = time.monotonic() + 20.0
        while job.is_running and time.monotonic() < ends:
            self._tab.wait_for_timeout(200)
        job.stop()
        job.wait(60.0)
