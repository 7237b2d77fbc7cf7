"""How quickly the studio answers, measured by a browser that has no graphics card and shares the machine with it."""

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from parc.author.procedural_walk import stroll
from parc.character import humanoid
from parc.dataset import Clip, save_clip
from parc.errors import SettingsError
from parc.models import shipped_generator, shipped_tracker
from parc.path import TerrainPath
from parc.studio.actions.long_job import StudioJob
from parc.studio.actions.watched_generation import GenerateSettings
from parc.studio.clip_library import Library
from parc.studio.panels.controls import put
from parc.studio.stopwatch import Stopwatch, place_on_screen
from parc.studio.studio_app import Studio, StudioSettings
from parc.studio.studio_page import Page
from parc.terrain import Terrain

_FLAGS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
_SMALLEST, _LARGEST = (800, 500), 8192
"""of the window, pixels"""
_CELL = (3, 11)
"""that is raised and lowered again; nobody walks there"""


def bench_studio(clicks: int = 30, size: tuple[int, int] = (1280, 800)) -> dict[str, Any]:
    """Rates of playback, and ms from clicks to what they show, with nothing else going on and beside long jobs.

    `shown` is from the press in the browser to the first picture that differs, `server` from the arrival of the click at the
    studio to the end of the work it asked for. Clicks that the browser lost are counted, not timed.
    """
    if not all(low <= side <= _LARGEST for low, side in zip(_SMALLEST, size, strict=True)):
        expected = f"{_SMALLEST[0]} x {_SMALLEST[1]} to {_LARGEST} x {_LARGEST}"
        raise SettingsError(f"a window of {size[0]} x {size[1]} pixels was asked for, expected {expected}")
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError:
        raise SettingsError("measuring the studio needs playwright: pip install playwright") from None
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        raise SettingsError("measuring the studio needs a browser; chromium was not found")
    character = humanoid()
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        for clip in (_walk("there", 0.0), _walk("up", 0.2)):
            save_clip(clip, Path(folder) / f"{clip.name}.motion", character)
        library = Library(character, [Path(folder)])
        studio = Studio(character, library, None, shipped_generator(), StudioSettings(port=0), shipped_tracker())
        browser = playwright.chromium.launch(executable_path=chromium, args=_FLAGS)
        try:
            tab = browser.new_page(viewport={"width": size[0], "height": size[1]})
            result = {"size": list(size), "browser": browser.version, "cores": os.cpu_count(), "load": _load()}
            return {**result, **_Visitor(tab, studio).measure(clicks), "load_after": _load()}
        finally:
            browser.close()
            studio.close()


def _load() -> float:
    """Processes that want to run, over the last minute; not a number on systems that do not count them."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")


class _Visitor:
    """Someone who opens clips and clicks, with a stopwatch."""

    def __init__(self, tab: Any, studio: Studio) -> None:
        self._tab, self._watch = tab, Stopwatch(tab)
        tab.goto(f"{studio.url}&fixedDpr=1")
        tab.get_by_role("tab", name="Clips").wait_for(timeout=60_000)
        self._until(lambda: studio.pages)
        self._page: Page = next(iter(studio.pages.values()))
        notice = tab.locator("button:near(:text('Software WebGL'))")
        if notice.count():
            notice.first.click()
        self._session = self._page.session
        for name in ("there", "up"):
            self._session.open(name)
        self._page.later(lambda: self._page.stage.look_at(self._page.cast))
        tab.wait_for_timeout(4000)

    def measure(self, clicks: int) -> dict[str, Any]:
        result: dict[str, Any] = {"playback": self._playback()}
        raised = (lambda: self._press_cell(_CELL)), lambda: self._cell_place(_CELL)
        self._use_tool("raise ground")
        result["raise_cell"] = self._timed(clicks, *raised, after=self._session.undo)
        result["step_frame"] = self._timed(clicks, self._step, self._figure_place, 160, before=self._leave_the_end)
        result["choose_clip"] = self._timed(clicks, self._choose_other, self._figure_place, 160, before=self._unfold_clips)
        drive = self._session.drive
        assert self._page.live is not None
        put(self._page.live._follow, False)  # a camera that follows would lose the cell that is clicked
        drive.start((4.0, 3.2))
        self._until(lambda: drive.view is not None)
        result["raise_cell_while_driving"] = self._timed(clicks, *raised, before=self._lead, after=self._session.undo)
        if (view := drive.view) is not None:
            plan = {"plan_ms": 1000 * view.plan_p50, "late_plans": view.stalls}
            result["driving"] = {"wall_per_simulated_second": view.pace, "simulated_s": view.seconds, **plan}
        drive.stop()
        for name, start in (("generating", self._generate), ("simulating", self._simulate)):
            result[f"raise_cell_while_{name}"] = self._timed(clicks, *raised, after=self._session.undo, beside=start)
            self._session.make.stop()
            self._until(lambda: not self._session.make.is_busy)
        return result

    def _playback(self) -> dict[str, float]:
        self._page.playback.play()
        self._tab.wait_for_timeout(4000)
        drawn = self._watch.frames(4.0)
        rate = self._page.playback.rate
        self._page.playback.pause()
        return {"server_hz": rate, "browser_fps": drawn}

    def _timed(
        self,
        clicks: int,
        press: Callable[[], object],
        place: Callable[[], tuple[float, float]],
        size: float = 48,
        before: Callable[[], object] = lambda: None,
        after: Callable[[], object] = lambda: None,
        beside: Callable[[], StudioJob] | None = None,
    ) -> dict[str, float]:
        shown: list[float] = []
        server: list[float] = []
        home = self._session.document
        for _ in range(clicks):
            if beside is not None and not self._session.make.is_busy:
                self._session.change("start over", lambda _: home)
                beside()
            before()
            self._tab.mouse.move(*place())
            self._tab.wait_for_timeout(200)
            self._watch.aim(*place(), size)
            self._page.answer_seconds.clear()
            press()
            seconds = self._watch.read()
            if seconds is not None:
                shown.append(seconds)
                server.append(self._page.answer_seconds[0])
                after()
        return {**_quantiles("shown", shown), **_quantiles("server", server), "clicks": clicks, "lost": clicks - len(shown)}

    def _step(self) -> None:
        self._tab.get_by_role("button", name="+1", exact=True).click()

    def _press_cell(self, cell: tuple[int, int]) -> None:
        self._tab.mouse.click(*self._cell_place(cell))

    def _leave_the_end(self) -> None:
        clock = self._page.playback.clock
        if clock.time > clock.end - 0.1:
            self._page.playback.seek(0.0)

    def _use_tool(self, tool: str) -> None:
        self._field("Click does").click()
        self._tab.get_by_role("option", name=tool, exact=True).click()
        self._until(lambda: self._page.top.tool == tool)

    def _unfold_clips(self) -> None:
        self._field("Work on").click()

    def _choose_other(self) -> None:
        names = [f"{k + 1}. {clip.name}" for k, clip in enumerate(self._session.document.clips)]
        self._tab.get_by_role("option", name=names[1 - (self._session.document.active or 0)], exact=True).click()

    def _field(self, label: str) -> Any:
        beside = self._tab.get_by_text(label, exact=True).first.locator("xpath=ancestor::*[.//input][1]")
        return beside.locator("input:not([type=hidden])").first

    def _lead(self) -> None:
        """Send the driven character to and fro."""
        view = self._session.drive.view
        if view is not None and view.wish == "stay":
            self._session.drive.go_to(5.2 if view.pos[0, 0] < 3.2 else 1.2, 1.2)

    def _generate(self) -> StudioJob:
        return self._session.make.generate(GenerateSettings(batch=32, seconds=60.0))

    def _simulate(self) -> StudioJob:
        """Something long: a clip of some seconds is simulated before a click is made."""
        self._session.add(_rounds("rounds", 8), "open rounds")
        return self._session.make.track()

    def _cell_place(self, cell: tuple[int, int]) -> tuple[float, float]:
        terrain = self._session.document.terrain
        return self._place(np.append(terrain.centre_of(torch.tensor(cell)).numpy(), float(terrain.heights[cell])))

    def _figure_place(self) -> tuple[float, float]:
        active = self._page.cast.active
        assert active is not None
        return self._place(active.actor.pos[self._page.frame(), 0])

    def _place(self, point: np.ndarray) -> tuple[float, float]:
        box = self._tab.locator("canvas[data-engine]").bounding_box()
        return place_on_screen(self._page.client.camera, box, point)

    @staticmethod
    def _until(what: Callable[[], object], seconds: float = 60.0) -> None:
        end = time.monotonic() + seconds
        while not what():
            if time.monotonic() > end:
                raise SettingsError(f"the studio gave no answer for {seconds:g} s")
            time.sleep(0.02)


def _quantiles(name: str, seconds: list[float]) -> dict[str, float]:
    p50, p95 = np.quantile(seconds, [0.5, 0.95]) if seconds else (float("nan"), float("nan"))
    return {f"{name}_ms": 1000 * float(p50), f"{name}_p95_ms": 1000 * float(p95)}


def _rounds(name: str, count: int) -> Clip:
    """Walking in a ring of 13 m, again and again."""
    ring = [[0.8, 0.8, 0.0], [5.2, 0.8, 0.0], [5.2, 2.8, 0.0], [0.8, 2.8, 0.0]]
    return stroll(Terrain.flat((16, 16)), TerrainPath(torch.tensor(ring * count + ring[:1])), name=name)


def _walk(name: str, step: float) -> Clip:
    """5 m of walking, up one step."""
    heights = torch.zeros(16, 16)
    heights[8:, :8] = step
    path = TerrainPath(torch.tensor([[0.8, 1.2, 0.0], [5.2, 1.2, step]]))
    return stroll(Terrain(heights, torch.zeros(2)), path, name=name)
