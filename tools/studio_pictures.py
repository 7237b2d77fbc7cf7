"""The pictures of docs/studio.md, made with the real page in a headless Chromium and the motions and models in the box.

    python tools/studio_pictures.py [-o docs/pictures] [--only gallery play cross live dark]

Needs the extra [studio], playwright and chromium. Takes about two minutes on two idle cores.
"""

import argparse
import io
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from playwright.sync_api import sync_playwright

from parc.character import humanoid
from parc.models import shipped_generator, shipped_motions, shipped_tracker
from parc.plan.offline_search import SearchSettings
from parc.studio.clip_library import Library
from parc.studio.studio_app import Studio, StudioSettings
from parc.terrain import Terrain

FLAGS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
SIZE = {"width": 1280, "height": 800}
CLIP = "authored_101_0005_climb_sim"
COLOURS = 160
"""of a picture's palette, which makes it small"""


class Sitting:
    """One tab in front of a studio."""

    def __init__(self, tab: Any, studio: Studio, folder: Path) -> None:
        self.tab, self.folder = tab, folder
        tab.set_default_timeout(1_500_000)
        tab.goto(studio.url)
        tab.get_by_role("tab", name="Clips").wait_for(timeout=300_000)
        wait_for(lambda: studio.pages)
        self.page = studio.pages[max(studio.pages)]
        notice = tab.get_by_text("Software WebGL rendering detected")
        if notice.count():
            tab.locator("button:near(:text('Software WebGL'))").first.click()

    def settle(self) -> None:
        """Until the page has done all that was asked for."""
        done: list[bool] = []
        self.page.later(lambda: done.append(True))
        wait_for(lambda: done)
        self.tab.wait_for_timeout(1500)

    def look(self, **controls: Any) -> None:
        """Set controls of the tab Clips by the names they have there."""
        for name, value in controls.items():
            getattr(self.page.clips, f"_{name}").value = value
        self.page.refresh()

    def save(self, name: str) -> None:
        self.settle()
        image = Image.open(io.BytesIO(self.tab.screenshot())).convert("RGB")
        file = self.folder / f"studio_{name}.png"
        image.quantize(COLOURS, dither=Image.Dither.NONE).save(file, optimize=True)
        print(f"{file}: {file.stat().st_size / 1000:.0f} kB", flush=True)

    def show(self, tab: str) -> None:
        self.tab.get_by_role("tab", name=tab, exact=True).click()

    def gallery(self) -> None:
        """As `parc studio` alone begins."""
        self.page.gallery.show()
        wait_for(lambda: self.tab.locator("[data-parc-do=open] img").count() >= 20)
        self.save("gallery")
        self.page.gallery.hide()

    def play(self) -> None:
        """A climb on the time line, one edit done."""
        self.page.session.open(CLIP)
        self.page.session.edit.label_contacts(["left_hand"], 118, 132, True)
        self.look(shadows=True, trail="speed")
        self.show("Edit")
        self.page.later(lambda: self.page.stage.look_at(self.page.cast))
        self.page.playback.seek(2.9)
        self.save("play")
        self.look(trail="none")

    def dark(self) -> None:
        """The same on a dark page."""
        self.page.session.open(CLIP)
        self.look(shadows=True, only=True)
        self.show("Clips")
        self.page.theme(True)
        self.page.playback.seek(2.6)
        self.page.later(lambda: self.page.stage.look_at(self.page.cast))
        self.save("dark")
        self.page.theme(False)

    def cross(self) -> None:
        """What came of the button."""
        heights = torch.zeros(14, 9)
        heights[5:9], heights[9:] = 0.4, 0.2
        self.page.session.ground.put(Terrain(heights, torch.zeros(2)))
        self.look(shadows=True)
        self.show("Cross")
        self.page.session.make.cross(goal=(12, 6), method=SearchSettings(seconds=900.0)).wait()
        print(self.page.session.make.job.text)
        self.settle()
        self.page.playback.pause()
        self.page.playback.seek(0.45 * self.page.playback.clock.end)
        self.page.later(lambda: self.page.stage.look_at(self.page.cast))
        self.tab.wait_for_timeout(8000)  # the message goes
        self.save("cross")

    def live(self) -> None:
        """Led by keys, the camera behind."""
        heights = torch.zeros(30, 30)
        heights[18:22, 10:20] = 0.3
        self.page.session.ground.put(Terrain(heights, torch.zeros(2)))
        self.look(shadows=True)
        self.show("Live")
        self.page.live._candidates.value = 2
        drive = self.page.session.drive
        drive.start((4.0, 6.0), 0.0, self.page.live.settings())
        wait_for(lambda: drive.view is not None)
        self.tab.mouse.move(300, 300)
        self.tab.keyboard.down("w")
        wait_for(lambda: drive.view is not None and drive.view.pos[0, 0] > 5.6)
        self.save("live")
        self.tab.keyboard.up("w")
        drive.stop()


def wait_for(what: Callable[[], object], seconds: float = 1500.0) -> None:
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            raise TimeoutError(f"waited {seconds:g} s in vain")
        time.sleep(0.05)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = ("gallery", "play", "cross", "live", "dark")
    parser.add_argument("-o", "--out", type=Path, default=Path(__file__).parents[1] / "docs" / "pictures")
    parser.add_argument("--only", nargs="+", choices=names, default=names)
    given = parser.parse_args()
    torch.set_num_threads(1)
    character, motions = humanoid(), shipped_motions()
    library = Library(character, [] if motions is None else [motions])
    studio = Studio(character, library, None, shipped_generator(), StudioSettings(port=0), shipped_tracker())
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        sitting = Sitting(browser.new_page(viewport=SIZE), studio, given.out)
        for name in given.only:
            getattr(sitting, name)()
        browser.close()
    studio.close()


if __name__ == "__main__":
    main()
