"""A crowd: many characters on one terrain, each on its own way, by reflex and side by side.

Starts lie `apart` from each other and goals too, at least `distance` from their starts; every way is one of least effort. The
characters see the ground and not each other: they do not collide, and may stand in one place.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray

from parc.dataset.clip import Clip, Provenance
from parc.errors import PathError, SettingsError
from parc.motion.motion import Motion
from parc.motion.mujoco_qpos import qpos_to_frames
from parc.path.navigation_graph import Cell, NavigationGraph
from parc.path.terrain_path import TerrainPath
from parc.plan.crossing.reflex_crossings import OUTCOMES, ReflexSettings
from parc.plan.crossing.reflex_recording import ReflexRecording, record_crossings
from parc.plan.least_effort_route import SMALL_MAP, RouteSettings, plan_route
from parc.plan.offline_traverse import Models
from parc.plan.reflex import Reflex
from parc.run.on_progress import OnProgress
from parc.terrain.terrain import Terrain

EDGE = 2
"""cells of the terrain's edge where nobody starts or arrives"""


@dataclass(frozen=True)
class CrowdSettings:
    """How many, and how far each goes."""

    characters: int = 32
    """on one terrain"""
    distance: float = 6.0
    """m, least distance of a goal from its start in the plane, where the terrain is large enough"""
    apart: float = 0.8
    """m between any two starts, and between any two goals, as far as there is room"""
    tries: int = 20
    """goals that are drawn for one start before another start is drawn"""
    reflex: ReflexSettings = field(default_factory=ReflexSettings)
    route: RouteSettings = field(default_factory=RouteSettings)

    def __post_init__(self) -> None:
        if self.characters < 1 or self.tries < 1:
            raise SettingsError(f"{self.characters} characters and {self.tries} tries were asked for, expected at least 1")
        if not 0 < self.distance < float("inf") or not 0 <= self.apart < float("inf"):
            raise SettingsError(f"goals {self.distance:g} m away and starts {self.apart:g} m apart, expected more than 0")


@dataclass(frozen=True, eq=False)
class CrowdRun:
    """What became of a crowd."""

    terrain: Terrain
    paths: list[TerrainPath]
    """of each character"""
    recording: ReflexRecording
    fps: float

    def counts(self) -> dict[str, int]:
        """Characters by what became of them."""
        ends = self.recording.outcome.tolist()
        return {name: ends.count(number) for number, name in enumerate(OUTCOMES) if number}

    @property
    def rate(self) -> float:
        """Characters x real time: s of all who are on their way, for each second of real time."""
        return self.recording.timed_steps / self.fps / max(self.recording.wall, 1e-9)

    def clips(self, models: Models, count: int) -> list[Clip]:
        """What the first `count` did, until their ends or until their simulation broke."""
        made, character = self.recording, models.tracker.character
        found = []
        for n, steps in enumerate(made.steps[:count].tolist()):
            qpos = made.qpos[n, : steps + 1]
            known = int(qpos.isfinite().all(-1).cumprod(0).sum())
            if known < 2:
                continue
            motion = Motion(*qpos_to_frames(character, qpos[:known]), made.contacts[n, :known], self.fps)
            origin = Provenance(source="crowd", skill="generated")
            found.append(Clip(f"character_{n:04d}", motion, self.terrain, self.paths[n], character.fingerprint, origin))
        return found


def crowd_paths(terrain: Terrain, rng: np.random.Generator, settings: CrowdSettings) -> list[TerrainPath]:
    """A way for each character; PathError where the terrain has too few.

    On a map too small for the distance asked for, 0.7 of its diagonal is enough.
    """
    graph = NavigationGraph.of(terrain, settings.route.plan.graph)
    rows, columns = terrain.size
    inside = terrain.cell * math.hypot(max(rows - 2 * EDGE - 1, 0), max(columns - 2 * EDGE - 1, 0))
    distance = min(settings.distance, SMALL_MAP * inside)
    cells = np.argwhere(np.ones((max(rows - 2 * EDGE, 0), max(columns - 2 * EDGE, 0)), bool)) + EDGE
    starts: list[Cell] = []
    goals: list[Cell] = []
    paths: list[TerrainPath] = []
    left = settings.characters * settings.tries
    while len(paths) < settings.characters:
        start = _draw(cells, starts, settings.apart / terrain.cell, rng)
        if start is None:
            raise PathError(f"a terrain of {rows} x {columns} cells is too small for anybody to start on")
        far = cells[np.linalg.norm(cells - np.array(start), axis=1) * terrain.cell >= distance]
        for _ in range(settings.tries):
            left -= 1
            goal = _draw(far, goals, settings.apart / terrain.cell, rng)
            if goal is None:
                break
            try:
                paths.append(plan_route(terrain, start, goal, rng, settings.route, graph))
            except PathError:
                continue
            starts.append(start)
            goals.append(goal)
            break
        left -= 1
        if left < 0 and len(paths) < settings.characters:
            raise PathError(
                f"ways of {distance:g} m were found for {len(paths)} of {settings.characters} characters; "
                "take a larger terrain, or a shorter --distance"
            )
    return paths


def _draw(cells: NDArray[np.int64], taken: Sequence[Cell], apart: float, rng: np.random.Generator) -> Cell | None:
    """One of the cells [K, 2] that is `apart` cells from all that are taken, if there is one; any where there is none."""
    if not len(cells):
        return None
    for _ in range(20):
        i, j = (int(c) for c in cells[rng.integers(len(cells))])
        if not taken or np.linalg.norm(np.array(taken) - (i, j), axis=1).min() >= apart:
            break
    return i, j


def cross_together(
    models: Models,
    terrain: Terrain,
    paths: Sequence[TerrainPath],
    settings: CrowdSettings = CrowdSettings(),
    seed: int = 0,
    threads: int = 0,
    graphs: bool = True,
    on_progress: OnProgress | None = None,
) -> CrowdRun:
    """All characters go their ways; `threads` (0: all cores) are the CPU engine's. `on_progress` counts simulated seconds."""
    random = torch.Generator(models.generator.device).manual_seed(seed)
    case = range(len(paths))
    reflex = Reflex(
        models.generator, models.tracker, [terrain], paths, case, settings.reflex, random, threads=threads, graphs=graphs
    )
    reflex.begin()
    # graphs are recorded in the first steps, one of each kind in the time from one plan to the next
    longest = int(reflex.crossings.limits.max()) / reflex.fps

    def tell(step: int) -> None:
        if on_progress is not None:
            on_progress(step / reflex.fps, longest, f"{len(paths)} characters, {longest:.0f} s at most")

    recording = record_crossings(reflex, before_step=tell, warm=settings.reflex.every)
    return CrowdRun(terrain, list(paths), recording, reflex.fps)
