"""Makes the pictures of the documentation again, each by the parts of parc it shows (`make pictures`).

    python tools/make_pictures.py                        all of them, into docs/pictures: a quarter of an hour on two idle cores
    python tools/make_pictures.py studio -o out/look     one kind, elsewhere

| kind       | makes            | by                                                                              |
|------------|------------------|---------------------------------------------------------------------------------|
| demo       | demo.webp        | parc demo, then parc picture                                                    |
| navigation | navigation.png   | parc.render, of a terrain of random boxes                                       |
| traverse   | traverse.png     | parc evaluate traverse, terrain 27 of the first set's boxes; the highest climb  |
| loop       | loop.svg         | parc loop --preset quick, then parc status --figure                              |
| studio     | studio_*.png     | tools/studio_pictures.py: a studio, Chromium, the clips and models in the box   |
| page       | page_*.png       | parc web and tools/try_page.py; needs npm                                       |

studio and page need playwright and Chromium. concepts.svg is drawn by hand.
"""

import argparse
import shlex
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from parc.character import humanoid
from parc.dataset import load_clip
from parc.path import NavigationGraph, plan_random_path
from parc.render import draw_navigation, filmstrip
from parc.terrain import RandomBoxes, random_boxes

ROOT = Path(__file__).parents[1]


def demo(folder: Path) -> None:
    """The first thing that a reader may call, as a film."""
    with TemporaryDirectory() as work:
        parc("demo --no-open", "-o", work)
        parc("picture", f"{work}/crossed.motion", "-o", str(folder / "demo.webp"))


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


def loop(folder: Path) -> None:
    """The stages of one iteration and what each made."""
    with TemporaryDirectory() as work:
        parc("loop", f"{work}/run", "--preset", "quick")
        parc("status", f"{work}/run", "--figure", str(folder / "loop.svg"))


def page(folder: Path) -> None:
    """The page on boxes, in light, and on a phone."""
    with TemporaryDirectory() as work:
        parc("web", "-o", f"{work}/site")
        subprocess.run([sys.executable, ROOT / "tools" / "try_page.py", "pictures", f"{work}/site", folder], check=True)


def studio(folder: Path) -> None:
    """The gallery, a clip on the time line, a crossing, a driven character, a dark page."""
    subprocess.run([sys.executable, ROOT / "tools" / "studio_pictures.py", "-o", folder], check=True)


def parc(line: str, *words: str) -> None:
    """A command of parc; `words` are taken as they are."""
    subprocess.run([sys.executable, "-m", "parc", *shlex.split(line), *words], check=True)


KINDS = {"demo": demo, "navigation": navigation, "traverse": traverse, "loop": loop, "studio": studio, "page": page}


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
