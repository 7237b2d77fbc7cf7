"""`parc traverse`: across terrain in physics, once or for several seeds."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import torch
import tyro

from parc.character import humanoid
from parc.cli.base_command import Command, progress, use_threads
from parc.cli.pace_option import at_pace
from parc.cli.path_command import read_cell
from parc.cli.traverse_page import write_outcome
from parc.dataset.convert.clip_files import WRITABLE
from parc.errors import FormatError, PathError, SettingsError, TerrainError
from parc.generate.model.blended_denoising import Blend
from parc.generate.rollout.path_rollout import RolloutSettings
from parc.path import EndpointSettings, PlanSettings, TerrainPath, load_path
from parc.plan import (
    Models,
    PlainSettings,
    RouteSettings,
    SearchSettings,
    TraverseSettings,
    plan_random_route,
    plan_route,
    traverse,
)
from parc.run.resumable_items import ResumableItems
from parc.terrain import RandomBoxes, RandomWalks, Stairs, Terrain, load_terrain, parkour_park, random_boxes, random_walks, stairs
from parc.terrain.random_platforms import REACHABLE, PlatformChain, platform_chain

_WHOLE = ("motion", "bvh", "glb")
"""written where no extension is named"""
CrossingPreset = Literal["search", "plain", "course"]


@dataclass(frozen=True, kw_only=True)
class CrossingOptions(Command):
    """Options of every command that crosses terrain."""

    generator: Path | None = None
    """trained generator (.safetensors); the one in the box if not given"""
    tracker: Path | None = None
    """trained actor (.safetensors), its critic beside it; those in the box if not given"""
    preset: CrossingPreset = "search"
    """search: many short plans simulated, the best go on; plain: plan the whole motion, correct it, follow it; course: the long
    run across the parkour park, a search among 32 plans at s = 0.5 (paper), 32 m and more, 10 minutes"""
    pace: str | None = None
    """speed asked for: walk, jog, run, sprint, or m/s; for a generator that was trained with a pace"""
    effort: float = 1.0
    """price of climbs, drops and jumps in planning; 0 is the paper's cost, 1 mostly keeps to the streets; .25 with course"""
    settings: Annotated[TraverseSettings, tyro.conf.arg(name="")] = field(default_factory=TraverseSettings)

    @classmethod
    def of_preset(cls, preset: str, device: str) -> dict[str, Any]:
        """The way to cross, and for the course what the paper has there."""
        if preset == "plain":
            return {"settings": TraverseSettings(method=PlainSettings())}
        if preset == "course":
            rollout = RolloutSettings(blend=Blend.constant(0.5))
            far = replace(RouteSettings(), plan=replace(RouteSettings().plan, endpoint=EndpointSettings(32.0)))
            search = SearchSettings(candidates=32, seconds=600.0, rollout=rollout)
            return {"settings": TraverseSettings(method=search, route=far), "effort": 0.25}
        return {}

    def models(self) -> Models:
        """Generator, tracker and critic."""
        return Models.load(humanoid(), self.torch_device, self.generator, self.tracker)

    def traverse_settings(self, reroute: bool = True) -> TraverseSettings:
        """Checked; from here on no more threads than wished for are used."""
        use_threads(self.settings.threads)
        method = self.settings.method
        if not method.seconds > 0:
            raise SettingsError(f"the time of a crossing is {method.seconds:g} s, expected more than 0")
        if isinstance(method, SearchSettings):
            method = replace(method, reroute=method.reroute and reroute)
        elif method.optimise is not None and method.optimise.iterations == 0:
            method = replace(method, optimise=None)
        method = replace(method, rollout=at_pace(method.rollout, self.pace))
        return replace(self.settings, method=method, route=priced(self.settings.route, self.effort))


@dataclass(frozen=True, kw_only=True)
class CrossTerrain(CrossingOptions):
    """Cross a terrain in physics: plan a route, generate motion along it, simulate, and write what the body did.

    Beside the motion files there are OUT.html, a replay of the plan and the simulated body, and OUT.json, which says whether
    the goal was reached. Exit code 0 either way.
    """

    terrain: Annotated[str, tyro.conf.Positional]
    """.terrain file, grey image (a pixel is a cell of .4 m, black -2 m, white 2 m; other heights by `parc terrain make from`) or
    mesh; or boxes, walks, platforms, stairs, course for a new one of that kind"""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """motion file to write (.motion .bvh .npz .glb .pkl .usd); without extension: .motion, .bvh, .glb. With --seeds a folder"""
    formats: tuple[str, ...] = ()
    """further extensions to write, as in --formats bvh glb"""
    path: Path | None = None
    """path (.json) to follow; without it a route is planned"""
    start: str | None = None
    """cell "i,j"; without it, a random one near the edge"""
    goal: str | None = None
    """cell "i,j"; without it, a random one near the edge"""
    terrain_seed: int | None = None
    """of a new terrain; the seed if not given"""
    strip: bool = False
    """also write OUT.png, a film strip"""
    seeds: int | None = None
    """cross so often, with seed, seed + 1, ..., each into OUT; a run that was stopped goes on"""

    def run(self) -> dict[str, Any]:
        """Cross once, or once for each seed."""
        settings = self.traverse_settings(reroute=self.path is None)
        if self.seeds is not None:
            return self._cross_often(settings)
        targets = motion_files(self.out, self.formats)
        terrain = new_terrain(self.terrain, self._terrain_seed)
        route = self.route(terrain, settings.route)
        return self._cross(terrain, route, self.models(), settings, self.out, targets, self.seed)

    def _cross_often(self, settings: TraverseSettings) -> dict[str, Any]:
        if not self.seeds or self.seeds < 1:
            raise SettingsError(f"{self.seeds} crossings were asked for, expected at least 1")
        models, rows = None, []
        notes: ResumableItems[dict[str, Any]] = ResumableItems(self.out, dict, dict)
        for seed in range(self.seed, self.seed + self.seeds):
            row = notes.get(f"{Path(self.terrain).stem}_{seed:03d}")
            if row is None:
                models = models or self.models()
                one = replace(self, seed=seed)
                terrain = new_terrain(self.terrain, one._terrain_seed)
                out = self.out / f"{Path(self.terrain).stem}_{seed:03d}"
                targets = motion_files(out.with_suffix(".motion"), self.formats)
                row = self._cross(terrain, one.route(terrain, settings.route), models, settings, out, targets, seed)
            rows.append(row)
        return {
            "out": str(self.out),
            "runs": len(rows),
            "reached": sum(row["reached"] for row in rows),
            "longest_seconds": max(row["seconds"] for row in rows),
            "share_of_path": sum(1.0 if row["reached"] else row["progress"] / row["length"] for row in rows) / len(rows),
            "wall": sum(row["wall"] for row in rows) / len(rows),
        }

    def _cross(
        self,
        terrain: Terrain,
        route: TerrainPath,
        models: Models,
        settings: TraverseSettings,
        out: Path,
        targets: list[Path],
        seed: int,
    ) -> dict[str, Any]:
        random = torch.Generator(models.generator.device).manual_seed(seed)
        with progress(None, "crossing" if self.seeds is None else out.name, "m") as bar:

            def tell(attempt: int, rounds: int, left: float) -> None:
                bar.total = round(route.length)
                bar.update(max(0, round(route.length - left)) - bar.n)
                bar.set_postfix_str(f"try {attempt}, {left:.1f} m left")

            result = traverse(terrain, route, models, settings, random, out.stem, tell)
        return write_outcome(result, route, models.tracker.character, out, targets, seed, self.strip or self.seeds is not None)

    @property
    def _terrain_seed(self) -> int:
        return self.seed if self.terrain_seed is None else self.terrain_seed

    def route(self, terrain: Terrain, settings: RouteSettings) -> TerrainPath:
        """The path that was given, or a route that is planned."""
        if self.path:
            return load_path(self.path)
        rng = np.random.default_rng(self.seed)
        if self.start and self.goal:
            if read_cell(self.start) == read_cell(self.goal):
                raise PathError(f"start and goal are the same cell, {self.start}")
            return plan_route(terrain, read_cell(self.start), read_cell(self.goal), rng, settings)
        if self.start or self.goal:
            raise PathError("give both --start and --goal, or neither")
        if self.terrain == "platforms":
            chain = _platforms(self._terrain_seed)
            return plan_route(terrain, chain.start, chain.goal, rng, settings)
        return plan_random_route(terrain, rng, settings)

    def show(self, result: dict[str, Any]) -> None:
        """How it went, and the files."""
        if self.seeds is not None:
            return super().show(result)
        fate = "reached the goal" if result["reached"] else "did not reach the goal"
        way = f"{result['progress']:.1f} of {result['length']:.1f} m"
        print(f"{fate}: {way}, {result['seconds']:.1f} s of motion, try {result['tries']}, {result['wall']:.1f} s of work")
        print(f"written: {', '.join(result['files'])}")


def new_terrain(name: str, seed: int) -> Terrain:
    """A terrain from a file, or a new one of a kind."""
    rng = np.random.default_rng(seed)
    makers = {
        "boxes": lambda: random_boxes(RandomBoxes(), rng),
        "walks": lambda: random_walks(RandomWalks(), rng),
        "platforms": lambda: _platforms(seed).terrain,
        "stairs": lambda: stairs(Stairs()),
        "course": parkour_park,
    }
    if name in makers:
        return makers[name]()
    if not Path(name).suffix and not Path(name).exists():
        raise TerrainError(f"'{name}' is neither a file nor a kind of terrain; kinds are {', '.join(makers)}")
    return load_terrain(name)


def _platforms(seed: int) -> PlatformChain:
    """Of the kind that paths can be planned across."""
    return platform_chain(REACHABLE, np.random.default_rng(seed))


def priced(route: RouteSettings, effort: float) -> RouteSettings:
    """With the prices of climbs, drops and jumps times `effort`; 0: the paper's random costs and cells."""
    if effort < 0:
        raise SettingsError(f"the effort is {effort}, expected a factor of at least 0")
    prices = {name: effort * getattr(route, name) for name in ("climb", "beyond", "drop", "jump", "run_up")}
    changed = replace(route, **prices)
    paper = replace(PlanSettings(), endpoint=route.plan.endpoint)
    return changed if effort else replace(changed, plan=paper, straighten=False)


def motion_files(out: Path, formats: tuple[str, ...]) -> list[Path]:
    """The files to write, all of known kinds."""
    endings = [f".{word.removeprefix('.').lower()}" for word in (*((out.suffix,) if out.suffix else _WHOLE), *formats)]
    for ending in endings:
        if ending not in WRITABLE:
            raise FormatError(f"motions cannot be written as '{ending}'; known are {', '.join(WRITABLE)}")
    return [out.with_suffix(ending) for ending in dict.fromkeys(endings)]
