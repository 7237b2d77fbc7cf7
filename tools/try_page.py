"""Tries the page that `parc web` has written, in headless Chromium: goals, rates, pictures.

    python tools/try_page.py goals SITE           20 goals on 20 random-box terrains: share reached, beside the library's reflex
                                                  with the page's settings and with its own default
    python tools/try_page.py rates SITE           simulated seconds a second with and without drawing, start, size
    python tools/try_page.py pictures SITE FOLDER docs/pictures/page_*.png

Needs playwright and Chromium. Terrains and ways are drawn from SeedSequence([--seed, i]); none of them is one of a test set.
The page's settings were chosen on grounds of seed 777, so a share reached is measured on others.
"""

import argparse
import functools
import gzip
import http.server
import io
import json
import math
import os
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from playwright.sync_api import sync_playwright

from parc.character import humanoid
from parc.path import TerrainPath
from parc.plan import Models, plan_random_route
from parc.plan.crossing.reflex_crossings import OUTCOMES, ReflexSettings
from parc.plan.reflex import Reflex
from parc.terrain.procedural_terrain import RandomBoxes, random_boxes
from parc.terrain.terrain import Terrain
from parc.web.page_body import PAGE_REFLEX

FLAGS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
Ground = tuple[Terrain, TerrainPath]


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A plain static server that says nothing."""

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def visited(site: Path, size: tuple[int, int] = (960, 600)) -> Iterator[Any]:
    """A function that opens the page with a query in a fresh tab, a script before it and other files than the folder's."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)

        def visit(query: str, size: tuple[int, int] = size, script: str = "", other: dict[str, bytes] | None = None) -> Any:
            tab = browser.new_context(viewport={"width": size[0], "height": size[1]}).new_page()
            tab.add_init_script(script)
            for pattern, data in (other or {}).items():
                tab.route(pattern, functools.partial(_answer, data))
            tab.set_default_timeout(300_000)
            tab.goto(f"http://127.0.0.1:{server.server_address[1]}/{query}")
            tab.wait_for_function("() => window.parc?.state || !document.querySelector('#failure').hidden")
            return tab

        yield visit
        browser.close()
    server.shutdown()


def _answer(data: bytes, route: Any) -> None:
    route.fulfill(body=data)


def grounds(count: int, seed: int) -> list[Ground]:
    """Random boxes and a way across each, as the paper trains on them."""
    made = []
    for index in range(count):
        rng = np.random.default_rng(np.random.SeedSequence([seed, index]))
        terrain = random_boxes(RandomBoxes(), rng)
        made.append((terrain, plan_random_route(terrain, rng)))
    return made


def page_outcomes(site: Path, cases: list[Ground]) -> list[str]:
    """What becomes of the page's character on each: the first fall or the arrival ends a run, as in `parc.plan.reflex`."""
    outcomes = []
    with visited(site) as visit:
        tab = visit("?paused=1&draw=0")
        for index, (terrain, path) in enumerate(cases):
            start = terrain.cell_of(path.nodes[0, :2]).tolist()
            ahead = path.nodes[min(2, len(path) - 1)] - path.nodes[0]
            ground = {
                "rows": terrain.size[0], "columns": terrain.size[1], "heights": terrain.heights.flatten().tolist(),
                "start": start, "seed": index, "heading": math.atan2(ahead[1], ahead[0]),
            }  # fmt: skip
            tab.evaluate("(it) => parc.setGround(it)", ground)
            tab.evaluate("(it) => parc.along(it)", path.nodes.tolist())
            before = tab.evaluate("() => ({...parc.counts})")
            seconds = max(PAGE_REFLEX.seconds, path.length / PAGE_REFLEX.slowest)
            told = tab.evaluate("(it) => parc.run(it, ['fell', 'arrived'])", round(30 * seconds))
            after = told["counts"]
            fell, arrived = (after[key] > before[key] for key in ("falls", "arrivals"))
            outcomes.append("fallen" if fell else "arrived" if arrived else "stuck")
            print(f"{index:3} {outcomes[-1]:8} {told['steps'] / 30:5.1f} s simulated in {told['wall']:5.1f} s", flush=True)
    return outcomes


def library_outcomes(cases: list[Ground], settings: ReflexSettings) -> list[str]:
    """The library's Reflex on the same grounds and ways."""
    models = Models.load(humanoid(), "cpu", half=False)
    terrains, paths = ([case[k] for case in cases] for k in (0, 1))
    crossing = Reflex(models.generator, models.tracker, terrains, paths, range(len(cases)), settings, graphs=False, threads=1)
    crossing.begin()
    while not crossing.is_over():
        crossing.step()
    return [OUTCOMES[k] for k in crossing.crossings.outcome[: len(cases)].tolist()]


def goals(site: Path, count: int, seed: int) -> None:
    """Share of goals reached in the page and by the library, with the page's settings and with the library's default."""
    torch.set_num_threads(1)
    cases = grounds(count, seed)
    print(f"{count} random-box terrains of seed {seed}")
    told = {"page": page_outcomes(site, cases)}
    for name, settings in (("library, the page's settings", PAGE_REFLEX), ("library, its default", ReflexSettings())):
        told[name] = library_outcomes(cases, settings)
    for name, outcomes in told.items():
        print(f"{name:28} {outcomes.count('arrived')} of {count} reached; {dict(Counter(outcomes))}", flush=True)
    print(json.dumps(told))


def cpu_seconds() -> float:
    """CPU time of all processes below this one, where Linux tells it; what other programs take does not count."""
    stats = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        stats[int(folder.name)] = (int(fields[1]), int(fields[11]) + int(fields[12]))
    below = {os.getpid()}
    for _ in range(8):
        below |= {pid for pid, (parent, _) in stats.items() if parent in below}
    return sum(ticks for pid, (_, ticks) in stats.items() if pid in below and pid != os.getpid()) / os.sysconf("SC_CLK_TCK")


def rates(site: Path) -> None:
    """How fast it starts and runs, by the clock and by CPU time; the machine's load is told because it matters."""
    print(f"folder {sum(file.stat().st_size for file in site.rglob('*') if file.is_file()) / 1e6:.1f} MB")
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with visited(site) as visit:
        for name, query in (("without drawing", "?ground=boxes&seed=3&draw=0"), ("drawn in software", "?ground=boxes&seed=3")):
            began, used = time.monotonic(), cpu_seconds()
            tab = visit(query)
            print(f"{name}: standing after {time.monotonic() - began:.1f} s, {cpu_seconds() - used:.1f} s of CPU")
            tab.evaluate("() => parc.goTo(...parc.page.terrain.centreOf(4, 4))")
            used = cpu_seconds()
            free = tab.evaluate("() => parc.run(300)")
            seconds = free["steps"] / 30
            used = cpu_seconds() - used
            print(f"    at once: {seconds / free['wall']:.2f} simulated s a second, {seconds / used:.2f} a second of CPU")
            steps = tab.evaluate("() => parc.state.step")
            tab.evaluate("() => parc.goTo(...parc.page.terrain.centreOf(18, 18))")
            used = cpu_seconds()
            tab.wait_for_timeout(10_000)
            seconds = (tab.evaluate("() => parc.state.step") - steps) / 30
            used = cpu_seconds() - used
            frames = tab.evaluate("() => parc.page.fps60")
            print(f"    by the clock: {seconds / 10:.2f} simulated s a second, {frames:.0f} frames/s, {used / 10:.2f} cores")
            print(f"    {tab.evaluate('() => parc.page.rates')}")
            tab.context.close()
            time.sleep(3)  # what its processes have used goes with them


def pictures(site: Path, folder: Path) -> None:
    """Screenshots: on boxes, in light, on a phone, and side by side what the page says where it cannot work."""
    folder.mkdir(parents=True, exist_ok=True)
    shots = (
        ("page_boxes", "?ground=boxes&seed=12&theme=dark", (1280, 720), 100, -2.2),
        ("page_walks", "?ground=walks&seed=3&theme=light", (1280, 720), 180, -2.0),
        ("page_phone", "?ground=boxes&seed=5&theme=light", (390, 780), 60, -2.4),
    )
    with visited(site) as visit:
        for name, query, size, steps, azimuth in shots:
            tab = visit(query + "&paused=1", size)
            tab.evaluate("(it) => (parc.page.view.orbit.azimuth = it)", azimuth)
            tab.evaluate(f"() => parc.goTo(...{_FARTHEST})")
            tab.evaluate("(it) => parc.run(it)", steps)
            tab.evaluate(_AS_IF_RUNNING)
            tab.wait_for_timeout(5000)
            tab.screenshot(path=folder / f"{name}.png")
            tab.context.close()
        sentences(visit).save(folder / "page_sentences.png")


def sentences(visit: Callable[..., Any]) -> Image.Image:
    """A bad model file, no WebAssembly, no WebGL, in light and dark."""
    width, height = 420, 260
    row = Image.new("RGB", (3 * width + 20, height), "white")
    for k, (query, script) in enumerate(
        (
            ("?theme=dark", ""),
            ("?theme=light", "delete globalThis.WebAssembly"),
            ("?theme=light", "HTMLCanvasElement.prototype.getContext = () => null"),
        )
    ):
        tab = visit(query, (width, height), script, {} if script else {"**/tracker.onnx.gz": gzip.compress(b"no model")})
        row.paste(Image.open(io.BytesIO(tab.screenshot())), (k * (width + 10), 0))
        tab.context.close()
    return row


_AS_IF_RUNNING = """() => { parc.page.speed = 1;
for (const button of document.querySelectorAll('#speeds button')) button.ariaChecked = String(button.dataset.speed === '1'); }"""
_FARTHEST = """((page) => { const t = page.terrain, [i, j] = page.ground.start;
const at = [i < t.rows / 2 ? t.rows - 4 : 3, j < t.columns / 2 ? t.columns - 4 : 3]; return t.centreOf(...at); })(parc.page)"""


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("goals", "rates", "pictures"))
    parser.add_argument("site", type=Path)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("docs/pictures"))
    parser.add_argument("--count", type=int, default=20, help="of goals")
    parser.add_argument("--seed", type=int, default=4242, help="of the terrains of goals")
    given = parser.parse_args()
    if given.what == "goals":
        goals(given.site, given.count, given.seed)
    elif given.what == "rates":
        rates(given.site)
    else:
        pictures(given.site, given.folder)


if __name__ == "__main__":
    main()
