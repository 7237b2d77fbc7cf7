"""Does it stay healthy for hours? Physics with wild targets and changing terrain, a character that is driven, a studio in use.

    python tools/soak.py physics --steps 10000000                      # control steps, native MuJoCo
    python tools/soak.py physics --steps 10000000 --seconds 2000       # as many of them as fit into the time
    python tools/soak.py physics --steps 1000000000 --device cuda --worlds 8192        # MuJoCo Warp on a GPU
    python tools/soak.py physics --steps 20000 --engine warp --worlds 16               # MuJoCo Warp on its CPU device
    python tools/soak.py live --seconds 3600                           # goals, pushes, edited terrain
    python tools/soak.py studio --seconds 3600                         # a person in Chromium: clips, edits, jobs, reloads

Every block of physics draws new targets: quiet ones, shaken ones, ones far beyond the joints' ranges, and in one world of a
hundred numbers that are not finite. Terrains are replaced every 20 blocks, and the states of a few worlds are reset to nonsense.
Laws: no state that is shown is ever infinite or too fast, a world with such targets is flagged, nothing ends in a fault of the
program, and the memory of the process stays flat: its median over the last fifth is at most 64 MB above that of the fifth after
the start. One JSON object with the curve of memory is printed; exit code 1 if a law was broken.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from parc.character import humanoid
from parc.errors import ParcError
from parc.motion.mujoco_qpos import standing_qpos
from parc.physics.choose_engine import make_world
from parc.physics.mujoco_model import root_height
from parc.physics.physical_contract import Contract
from parc.physics.simulated_world import MAX_SPEED, World
from parc.terrain import RandomBoxes, random_boxes
from parc.terrain.terrain import TerrainBatch

BLOCK = 30
"""control steps between two draws of targets"""
_TABLE = 4
"""clips that stay open in the studio; each has a figure and a ground in the scene"""
FLAT = 64
"""MB by which memory may grow"""


def memory() -> int:
    """Bytes of this process that are in memory now, or its peak where the system does not say."""
    pages = Path("/proc/self/statm")
    if pages.exists():
        return int(pages.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


class MemoryCurve:
    """Memory of the process over a soak, a sample for each hundredth of it."""

    def __init__(self) -> None:
        self._samples: dict[int, float] = {}

    def note(self, share: float) -> None:
        """`share` of the soak is done."""
        self._samples.setdefault(min(int(100 * share), 100), memory() / 2**20)

    def told(self) -> dict[str, Any]:
        """Growth from the second fifth to the last, MB; 20 samples of the curve."""
        values = list(self._samples.values())
        fifth = max(len(values) // 5, 1)
        grown = float(np.median(values[-fifth:]) - np.median(values[fifth : 2 * fifth] or values[-1:]))
        curve = [round(values[round(k)]) for k in np.linspace(0, len(values) - 1, 21)]
        return {"memory_mb": curve, "grown_mb": round(grown, 1), "peak_mb": round(max(values))}


def make_engine(engine: str, worlds: int, device: str, threads: int) -> World:
    """The engine that belongs to the device, or Warp on any."""
    if engine == "warp":
        from parc.physics.warp_world import WarpWorld

        return WarpWorld(humanoid(), Contract(), worlds, device)
    return make_world(humanoid(), Contract(), worlds, device, threads)


def soak_physics(world: World, steps: int, seconds: float, seed: int) -> dict[str, Any]:
    """Control steps of all worlds, `steps` together, or as many as are done in `seconds`."""
    character, worlds = world.character, world.num_worlds
    draw = torch.Generator(device=world.device).manual_seed(seed)
    numbers = np.random.default_rng(seed)
    done = blocks = diverged = refused = broken_laws = lost = 0
    curve, start = MemoryCurve(), time.monotonic()
    while done < steps and (spent := time.monotonic() - start) < seconds:
        curve.note(max(done / steps, spent / seconds))
        if blocks % 20 == 0:
            world.set_terrains(TerrainBatch.stack([random_boxes(RandomBoxes(size=(24, 24)), numbers) for _ in range(8)]))
        _restart(world, draw)
        # Who gets which targets: quiet, shaken, out of range, and now and then not finite.
        kind = torch.randint(0, 100, (worlds,), generator=draw, device=world.device)
        size = torch.where(kind < 40, 0.1, torch.where(kind < 80, 1.0, 6.0)).unsqueeze(-1)
        nonsense = kind == 99
        for step in range(BLOCK):
            targets = size * torch.randn(worlds, character.num_dof, generator=draw, device=world.device)
            if step == BLOCK // 2:
                targets[nonsense] = torch.tensor([torch.nan, torch.inf, -torch.inf], device=world.device)[step % 3]
            world.step(targets)
        # The laws: what is shown is finite and bounded; who got nonsense is flagged; the quiet ones go on.
        shown = torch.cat([world.qpos, world.qvel, world.body_pos.flatten(1), world.body_rot.flatten(1)], -1)
        broken_laws += int((~shown.isfinite()).any(-1).sum()) + int((world.qvel.abs() > MAX_SPEED).any(-1).sum())
        refused += int((world.diverged & nonsense).sum())
        lost += int((nonsense & ~world.diverged).sum())
        diverged += int((world.diverged & ~nonsense).sum())
        done, blocks = done + worlds * BLOCK, blocks + 1
    told, took = curve.told(), time.monotonic() - start
    return {
        "control_steps": done, "blocks": blocks, "seconds": round(took, 1), "steps_per_second": round(done / took),
        "not_finite_or_too_fast": broken_laws, "nonsense_refused": refused, "nonsense_not_flagged": lost,
        "diverged_otherwise": diverged, **told, "holds": not (broken_laws or lost) and told["grown_mb"] < FLAT,
    }  # fmt: skip


def _restart(world: World, draw: torch.Generator) -> None:
    """Every body somewhere on a terrain, a few of them in a state that is nonsense, which must not be taken."""
    n, device = world.num_worlds, world.device
    world.terrain_row.copy_(torch.randint(0, 8, (n,), generator=draw, device=device))
    root = torch.rand(n, 3, generator=draw, device=device) * 24 * world.cell
    root[:, 2] = root_height(world.character) + 1.0
    qpos, everywhere = standing_qpos(world.character, root), torch.ones(n, dtype=torch.bool, device=device)
    world.reset(everywhere, qpos, torch.zeros_like(world.qvel))
    few = torch.rand(n, generator=draw, device=device) < 0.002
    world.reset(few, torch.full_like(qpos, torch.nan), torch.zeros_like(world.qvel))
    world.reset(few, qpos, torch.zeros_like(world.qvel))


def soak_live(seconds: float, seed: int) -> dict[str, Any]:
    """A driven character: a new goal every 8 s simulated, pushes up to 1.5 m/s, and cells raised or lowered near it."""
    from parc.plan import Models
    from parc.plan.online_pilot import Pilot

    torch.set_num_threads(1)
    models, numbers = Models.load(humanoid()), np.random.default_rng(seed)
    terrain = random_boxes(RandomBoxes(size=(30, 30)), numbers)
    steps = falls = not_finite = 0
    curve, start = MemoryCurve(), time.monotonic()
    with Pilot(models.generator, models.tracker, terrain, seed=seed, threaded=False, critic=models.critic) as pilot:
        low, high = 1.0, 29 * terrain.cell - 1.0
        pilot.stand(torch.tensor([6.0, 6.0]), heading=0.0)
        while (spent := time.monotonic() - start) < seconds:
            if steps % 240 == 0:
                pilot.go_to(torch.tensor(numbers.uniform(low, high, 2), dtype=torch.float32))
            if steps % 330 == 200:
                pilot.push([*numbers.uniform(-1.0, 1.0, 2).tolist(), 0.0])
            if steps % 600 == 599:
                heights = terrain.heights.clone()
                i, j = numbers.integers(0, 30, 2)
                heights[i, j] = float(numbers.uniform(0.0, 0.6))
                terrain = type(terrain)(heights, terrain.min_point, terrain.cell)
                pilot.set_terrain(terrain)
            moment = pilot.step()
            falls += bool(moment.fell)
            not_finite += not bool(pilot.xy.isfinite().all())
            steps += 1
            curve.note(spent / seconds)
    told = curve.told()
    return {
        "simulated_seconds": round(steps / 30, 1), "seconds": round(time.monotonic() - start, 1), "falls": falls,
        "not_finite": not_finite, **told, "holds": not not_finite and told["grown_mb"] < FLAT,
    }  # fmt: skip


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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=["physics", "live", "studio"])
    parser.add_argument("--steps", type=int, default=10_000_000, help="control steps of all worlds together")
    parser.add_argument("--seconds", type=float, help="of wall time; 3600 for live and studio, no limit for physics")
    parser.add_argument("--worlds", type=int, default=256)
    parser.add_argument("--threads", type=int, default=0, help="of native MuJoCo; 0: all cores")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--engine", choices=["usual", "warp"], default="usual", help="warp: also on the device cpu")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    if asked.part == "physics":
        world = make_engine(asked.engine, asked.worlds, asked.device, asked.threads)
        told = soak_physics(world, asked.steps, asked.seconds or 1e12, asked.seed)
    else:
        told = {"live": soak_live, "studio": soak_studio}[asked.part](asked.seconds or 3600.0, asked.seed)
    print(json.dumps(told))
    return 0 if told["holds"] else 1


if __name__ == "__main__":
    sys.exit(main())
