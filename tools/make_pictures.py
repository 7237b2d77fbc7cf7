"""Makes the pictures of the documentation again, each by the parts of parc it shows (`make pictures`).

    python tools/make_pictures.py                        all of them, into docs/pictures: a quarter of an hour on two idle cores
    python tools/make_pictures.py studio -o out/look     one kind, elsewhere

| kind       | makes            | by                                                                              |
|------------|------------------|---------------------------------------------------------------------------------|
| navigation | navigation.png   | parc.render, of a terrain of random boxes                                       |
| traverse   | traverse.png     | parc evaluate traverse, terrain 27 of the first set's boxes; the highest climb  |
| studio     | studio_*.png     | a studio, Chromium, and the clips and models in the box                         |
| page       | page_*.png       | parc web and tools/try_page.py; needs npm                                       |

studio and page need playwright and Chromium. concepts.svg is drawn by hand.
"""

import argparse
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from parc.character import humanoid
from parc.dataset import Dataset, load_clip, save_clip
from parc.models import shipped_generator, shipped_motions, shipped_tracker
from parc.path import NavigationGraph, plan_random_path
from parc.render import draw_navigation, filmstrip
from parc.terrain import RandomBoxes, random_boxes

ROOT = Path(__file__).parents[1]
WINDOW = {"width": 1260, "height": 810}
FLAGS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
CLIMB = "climb_1.5"
"""name of the clip that the studio shows"""


def navigation(folder: Path) -> None:
    """A terrain, the jumps of its navigation graph, a path."""
    terrain = random_boxes(RandomBoxes(), np.random.default_rng(0))
    graph = NavigationGraph.of(terrain)
    path = plan_random_path(terrain, np.random.default_rng(0), graph=graph)
    draw_navigation(terrain, graph.edges, graph.is_jump, path).save(folder / "navigation.png")


def traverse(folder: Path) -> None:
    """The highest climb of a crossing, with two seconds before it and on top of it."""
    with TemporaryDirectory() as work:
        suite = "--set first --families boxes --terrains 50 --shard 27 --shards 50 --threads 1 --method.seconds 900"
        parc(f"evaluate traverse {suite}", "-o", f"{work}/crossed.jsonl", "--keep", f"{work}/kept")
        (motion,) = Path(work, "kept").rglob("*.motion")
        clip = load_clip(motion, humanoid())
    fps, height = clip.motion.fps, clip.motion.root_pos[:, 2]
    rise = height[round(1.5 * fps) :] - height[: -round(1.5 * fps)]
    if rise.max() < 1:
        raise SystemExit(f"the crossing of boxes 27 holds no climb (it rises by {rise.max():.2f} m at most)")
    start = max(float(rise.argmax()) / fps - 2, 0.0)
    stop = min(start + 5.4, (len(height) - 1) / fps)
    filmstrip(clip, humanoid(), columns=6, rows=2, start=start, stop=stop).save(folder / "traverse.png")


def page(folder: Path) -> None:
    """The page on boxes, in light, and on a phone."""
    with TemporaryDirectory() as work:
        parc("web", "-o", f"{work}/site")
        subprocess.run([sys.executable, ROOT / "tools" / "try_page.py", "pictures", f"{work}/site", folder], check=True)


def studio(folder: Path) -> None:
    """A clip and its curves, a clip and its simulation, a planned path, a driven character."""
    with opened_studio() as (tab, page):
        session = page.session
        session.open(CLIMB)
        page.clips._trail.value = "speed"  # the drop-down "Trails show"
        page.refresh()
        shot(tab, page, "Measure", folder / "studio_play.png", second=2.8)
        page.clips._trail.value = "none"
        session.make.track().wait(300)
        shot(tab, page, "Physics", folder / "studio_physics.png", second=3.0)
        for index in reversed(range(len(session.document.clips))):
            session.close(index)
        session.ground.boxes(RandomBoxes(size=(20, 16), height=(-0.3, 0.8)), seed=5)
        session.route.plan((2, 2), (17, 13))
        shot(tab, page, "Path", folder / "studio_path.png")
        terrain = session.document.terrain
        start, goal = (terrain.centre_of(torch.tensor(cell)).tolist() for cell in ((3, 3), (16, 12)))
        session.route.clear()
        session.drive.start(tuple(start), heading=0.7)
        until(lambda: session.drive.view is not None and session.drive.view.seconds > 1, 300)
        session.drive.go_to(*goal)
        moved = session.drive.view.seconds + 4
        until(lambda: session.drive.view is None or session.drive.view.seconds > moved, 300)
        shot(tab, page, "Live", folder / "studio_live.png")
        session.drive.stop()


@contextmanager
def opened_studio() -> Iterator[tuple[Any, Any]]:
    """A tab of Chromium and the studio's side of it, with a climb of the box's motions in the library."""
    from playwright.sync_api import sync_playwright

    from parc.studio.clip_library import Library
    from parc.studio.studio_app import Studio, StudioSettings

    box, character = shipped_motions(), humanoid()
    assert box is not None
    with TemporaryDirectory() as work, sync_playwright() as playwright:
        save_clip(climb_of(Dataset.open(box)), Path(work) / f"{CLIMB}.motion", character)
        library = Library(character, [Path(work) / f"{CLIMB}.motion"])
        made = Studio(character, library, None, shipped_generator(), StudioSettings(port=0), shipped_tracker())
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        try:
            tab = browser.new_page(viewport=WINDOW)
            tab.set_default_timeout(60_000)
            tab.goto(made.url)
            tab.get_by_role("tab", name="Clips").wait_for()
            until(lambda: made.pages, 60)
            notice = tab.locator("button:near(:text('Software WebGL'))")
            if notice.count():
                notice.first.click()
            yield tab, next(iter(made.pages.values()))
        finally:
            browser.close()
            made.close()


def climb_of(box: Dataset) -> Any:
    """The first motion of 5 to 8 s whose root rises by 1.4 to 1.6 m."""
    for clip in box:
        rise = float(clip.motion.root_pos[-1, 2] - clip.motion.root_pos[0, 2])
        if 1.4 < rise < 1.6 and 150 < len(clip.motion) < 240:
            return clip
    raise SystemExit("no climb among the motions in the box")


def shot(tab: Any, page: Any, panel: str, file: Path, second: float = 0.0) -> None:
    """A screenshot with a panel open and the clip at a moment."""
    tab.get_by_role("tab", name=panel, exact=True).click()
    page.playback.pause()
    page.playback.seek(second)
    page.later(lambda: page.stage.look_at(page.cast))
    tab.wait_for_timeout(1500 if panel == "Live" else 6000)
    tab.screenshot(path=file)


def until(what: Callable[[], object], seconds: float) -> None:
    """Wait until it is so."""
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            raise SystemExit(f"waited {seconds:g} s in vain")
        time.sleep(0.05)


def parc(line: str, *words: str) -> None:
    """A command of parc; `words` are taken as they are."""
    subprocess.run([sys.executable, "-m", "parc", *shlex.split(line), *words], check=True)


KINDS = {"navigation": navigation, "traverse": traverse, "studio": studio, "page": page}


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "kinds", nargs="*", choices=(*KINDS, []), metavar="KIND", help=f"{', '.join(KINDS)}; all if none is named"
    )
    parser.add_argument("-o", "--out", type=Path, default=ROOT / "docs" / "pictures")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    for kind in given.kinds or KINDS:
        print(f"{kind} ...", file=sys.stderr, flush=True)
        KINDS[kind](given.out)


if __name__ == "__main__":
    main()
