"""A studio with two small clips and an untrained generator, and a person with a browser in front of it."""

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from parc.author.procedural_walk import stroll
from parc.character import humanoid
from parc.dataset import Clip, save_clip
from parc.path import TerrainPath
from parc.studio.stopwatch import place_on_screen
from parc.terrain import Terrain


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def make_walk(name: str = "walk_up", step: float = 0.2) -> Clip:
    """2 m of walking, up one step."""
    heights = torch.zeros(10, 8)
    heights[5:] = step
    path = TerrainPath(torch.tensor([[0.6, 1.4, 0.0], [2.8, 1.4, step]]))
    return stroll(Terrain(heights, torch.zeros(2)), path, name=name)


@pytest.fixture(scope="session")
def walk() -> Clip:
    return make_walk()


@pytest.fixture(scope="session")
def clip_files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("clips")
    files = []
    for clip in (make_walk(), make_walk("stroll_flat", 0.0)):
        save_clip(clip, folder / f"{clip.name}.motion", humanoid())
        files.append(folder / f"{clip.name}.motion")
    return files


@pytest.fixture(scope="session")
def generator_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Untrained: its motions are noise, but they come, and in the right shape."""
    from parc.generate.model.motion_generator import Generator, GeneratorSettings
    from parc.generate.model.prefix_transformer import PrefixSettings

    torch.manual_seed(0)
    file = tmp_path_factory.mktemp("model") / "tiny.safetensors"
    Generator(humanoid(), GeneratorSettings(network=PrefixSettings(width=32, layers=2, heads=2, hidden=64))).save(file)
    return file


def wait_for(what: Callable[[], object], seconds: float = 20.0) -> None:
    """Poll until it is so."""
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, f"waited {seconds} s in vain"
        time.sleep(0.02)


class Person:
    """Someone in front of a tab: finds fields by their labels, clicks places of the scene, and can look behind the scenes."""

    def __init__(self, tab, studio) -> None:
        self.tab, self.studio = tab, studio
        self.errors: list[str] = []
        tab.on("pageerror", lambda error: self.errors.append(str(error)))
        before = set(studio.pages)
        tab.set_default_timeout(10_000)
        tab.goto(studio.url)
        tab.get_by_role("tab", name="Clips").wait_for(timeout=30_000)
        wait_for(lambda: set(studio.pages) - before)
        self.page = studio.pages[max(set(studio.pages) - before)]
        notice = tab.get_by_text("Software WebGL rendering detected")
        if notice.count():
            tab.locator("button:near(:text('Software WebGL'))").first.click()

    @property
    def session(self):
        return self.page.session

    @property
    def document(self):
        return self.page.session.document

    def go_to(self, name: str) -> None:
        self.tab.get_by_role("tab", name=name, exact=True).click()

    def unfold(self, name: str, label: str) -> None:
        """Open the folder that holds a field, unless it is open."""
        if not self.field(label).is_visible():
            self.tab.get_by_text(name, exact=True).last.click()
            self.field(label).wait_for()

    def press(self, name: str) -> None:
        self.tab.get_by_role("button", name=name, exact=True).click()

    def field(self, label: str):
        """The text box beside a label; where a text of the same words stands in a panel, the label is the first."""
        beside = self.tab.get_by_text(label, exact=True).first.locator("xpath=ancestor::*[.//input][1]")
        return beside.locator("input:not([type=hidden])").first

    def fill(self, label: str, value: object) -> None:
        """Type over what is there, key by key: number boxes tell what was replaced by where the caret was at the last key."""
        box = self.field(label)
        box.press("Control+a")
        box.press("Delete")
        box.press_sequentially(str(value))
        box.press("Enter")

    def choose(self, label: str, option: str) -> None:
        self.field(label).click()
        self.tab.get_by_role("option", name=option, exact=True).click()

    def use_tool(self, tool: str) -> None:
        self.choose("Click does", tool)
        wait_for(lambda: self.page.top.tool == tool)

    def place(self, point) -> tuple[float, float]:
        """Where on the screen a point of the world is."""
        return place_on_screen(self.page.client.camera, self.tab.locator("canvas").first.bounding_box(), point)

    def cell_place(self, cell: tuple[int, int]) -> tuple[float, float]:
        terrain = self.document.terrain
        return self.place([*(terrain.min_point + terrain.cell * torch.tensor(cell)).tolist(), float(terrain.heights[cell])])

    def click_cell(self, cell: tuple[int, int], done: Callable[[], object]) -> None:
        self.click_until(lambda: self.cell_place(cell), done)

    def drag(self, cells: Sequence[tuple[int, int]]) -> None:
        """Shift held, the mouse over these cells in straight lines."""
        corners = np.array([self.cell_place(cell) for cell in cells])
        at = np.linspace(0, len(corners) - 1, 14)
        mouse = self.tab.mouse
        self.tab.keyboard.down("Shift")
        mouse.move(*corners[0])
        mouse.down()
        for x, y in zip(*(np.interp(at, range(len(corners)), column) for column in corners.T), strict=True):
            mouse.move(x, y)
            self.tab.wait_for_timeout(40)
        mouse.up()
        self.tab.keyboard.up("Shift")

    def click_until(self, place: Callable[[], tuple[float, float]], done: Callable[[], object], tries: int = 8) -> None:
        """Click, and click again where nothing has come of it for a while.

        The software-rendered browser loses a click that falls into a frame of several hundred milliseconds.
        """
        for _ in range(tries):
            self.settle()
            at = place()
            self.tab.mouse.move(*at)
            self.tab.wait_for_timeout(150)
            self.tab.mouse.click(*at)
            end = time.monotonic() + 6.0
            while time.monotonic() < end:
                if done():
                    return
                time.sleep(0.02)
        raise AssertionError(f"{tries} clicks in vain")

    def settle(self) -> None:
        """Until the page has answered everything and the camera stands still."""
        idle = []
        self.page.later(lambda: idle.append(True))
        wait_for(lambda: idle)
        seen = None
        while seen is None or not np.allclose(seen, self.page.client.camera.position):
            seen = np.array(self.page.client.camera.position)
            self.tab.wait_for_timeout(120)

    def open(self, name: str) -> None:
        self.go_to("Clips")
        self.fill("Search", name)
        wait_for(lambda: len(self.page.clips._names) == 1)
        self.press("Open")
        wait_for(lambda: self.document.clip is not None and self.document.clip.name == name)
        self.settle()


@pytest.fixture(scope="session")
def studio(clip_files: list[Path], generator_file: Path, tmp_path_factory: pytest.TempPathFactory):
    pytest.importorskip("viser", reason="viser is not installed")
    from parc.studio.clip_library import Library
    from parc.studio.save_places import SavePlaces
    from parc.studio.studio_app import Studio, StudioSettings

    character = humanoid()
    folder = tmp_path_factory.mktemp("saved") / "set"
    settings = StudioSettings(port=0, save_places=SavePlaces([folder.parent], folder), token="let-me-in-please")
    server = Studio(character, Library(character, clip_files), generator=generator_file, settings=settings)
    yield server
    server.close()


@pytest.fixture(scope="session")
def make_person() -> type[Person]:
    return Person


@pytest.fixture(scope="session")
def shared_person(browser, studio) -> Iterator[Person]:
    context = browser.new_context(viewport={"width": 960, "height": 620}, accept_downloads=True)
    yield Person(context.new_page(), studio)
    context.close()


@pytest.fixture
def person(shared_person: Person) -> Iterator[Person]:
    """In front of an empty table."""
    from parc.studio.document import Document

    someone = shared_person
    someone.page.playback.pause()
    someone.page.playback.seek(0.0)
    someone.session.change("a new start", lambda document: Document(Terrain.flat((16, 16))))
    someone.page.later(lambda: someone.page.pointer.set_end("start", None))
    someone.page.later(lambda: someone.page.pointer.set_end("goal", None))
    someone.page.later(lambda: someone.page.stage.look_at(someone.page.cast))
    someone.settle()
    yield someone
    assert not someone.errors, someone.errors


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A browser that draws in software on two busy cores now and then loses an event; a test of the page may try three times."""
    for item in items:
        if item.path.parent.name == "studio" and item.path.stem.startswith(("test_page", "test_studio_page", "test_stopwatch")):
            item.add_marker(pytest.mark.flaky(reruns=2))
