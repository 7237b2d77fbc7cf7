"""`parc traverse`, `parc course`, `parc strips`: across terrain in physics, and what it looks like."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from parc.cli.base_command import Command, progress, use_threads

if TYPE_CHECKING:
    from parc.path import TerrainPath
    from parc.plan import Models, RouteSettings, TraverseSettings
    from parc.terrain import Terrain
    from parc.terrain.random_platforms import PlatformChain

_WHOLE = ("motion", "bvh", "glb")


@dataclass(frozen=True, kw_only=True)
class CrossingOptions(Command):
    """Options of every command that crosses terrain."""

    generator: Path | None = None
    """trained generator (.safetensors); the one in the box if not given"""
    tracker: Path | None = None
    """trained actor (.safetensors), its critic beside it; those in the box if not given"""
    tries: int = 5
    """a try ends where nothing can go on; the next begins some metres back, the last from the start"""
    method: Literal["search", "plain"] = "search"
    """search: many short plans simulated, the best go on; plain: plan the whole motion, correct it, follow it"""
    candidates: int = 12
    """plans simulated in a round (search), or motions planned in a try (plain)"""
    beam: int = 4
    """bodies that go on after a round (search)"""
    seconds: float = 120.0
    """s of wall time after which a crossing is given up"""
    correct: int = 200
    """iterations of the kinematic correction (plain); 0 for none"""
    blend: float | None = None
    """constant blending coefficient s; annealed from 1 to 0 if not given"""
    effort: float = 1.0
    """price of climbs, drops and jumps in planning; 0 is the paper's cost"""
    threads: int = 0
    """of the CPU engine and of the networks on a CPU; 0: all cores"""

    def models(self) -> "Models":
        from parc.character import humanoid
        from parc.plan import Models

        return Models.load(humanoid(), self.torch_device, self.generator, self.tracker)

    def settings(self, reroute: bool = True) -> "TraverseSettings":
        """Checked; from here on no more threads than wished for are used."""
        from parc.correct.correct_motions import OptimiseSettings
        from parc.errors import SettingsError
        from parc.generate.model.blended_denoising import Blend
        from parc.generate.rollout.path_rollout import RolloutSettings
        from parc.plan import PlainSettings, SearchSettings, TraverseSettings

        use_threads(self.threads)
        if not self.seconds > 0:
            raise SettingsError(f"the time of a crossing is {self.seconds:g} s, expected more than 0")
        rollout = RolloutSettings(blend=Blend() if self.blend is None else Blend.constant(self.blend))
        method: SearchSettings | PlainSettings
        if self.method == "search":
            size = {"candidates": self.candidates, "beam": min(self.beam, self.candidates)}
            method = SearchSettings(**size, seconds=self.seconds, rollout=rollout, reroute=reroute)
        else:
            iterations = OptimiseSettings(iterations=self.correct) if self.correct else None
            rollout = replace(rollout, seconds=20.0, slowest=0.5)
            method = PlainSettings(self.candidates, rollout, optimise=iterations, seconds=self.seconds)
        return TraverseSettings(self.tries, method, route_settings(self.effort), self.threads)


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
    """motion file to write (.motion .bvh .npz .glb .pkl .usd); without extension: .motion, .bvh and .glb"""
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

    def run(self) -> dict[str, Any]:
        import torch

        from parc.cli.traverse_page import write_outcome
        from parc.plan import traverse

        targets = motion_files(self.out, self.formats)
        settings = self.settings(reroute=self.path is None)
        ground = self.ground()
        route = self.route(ground)
        models = self.models()
        random = torch.Generator(models.generator.device).manual_seed(self.seed)
        with progress(None, "crossing") as bar:
            result = traverse(ground, route, models, settings, random, self.out.stem, lambda t, r, left: _tell(bar, t, left))
        return write_outcome(result, route, models.tracker.character, self.out, targets, self.seed, self.strip)

    def ground(self) -> "Terrain":
        return new_terrain(self.terrain, self._terrain_seed)

    @property
    def _terrain_seed(self) -> int:
        return self.seed if self.terrain_seed is None else self.terrain_seed

    def route(self, ground: "Terrain") -> "TerrainPath":
        import numpy as np

        from parc.cli.path_command import _cell
        from parc.errors import PathError
        from parc.path import load_path
        from parc.plan import plan_random_route, plan_route

        if self.path:
            return load_path(self.path)
        rng, efforts = np.random.default_rng(self.seed), route_settings(self.effort)
        if self.start and self.goal:
            if _cell(self.start) == _cell(self.goal):
                raise PathError(f"start and goal are the same cell, {self.start}")
            return plan_route(ground, _cell(self.start), _cell(self.goal), rng, efforts)
        if self.start or self.goal:
            raise PathError("give both --start and --goal, or neither")
        if self.terrain == "platforms":
            chain = _platforms(self._terrain_seed)
            return plan_route(ground, chain.start, chain.goal, rng, efforts)
        return plan_random_route(ground, rng, efforts)

    def show(self, result: dict[str, Any]) -> None:
        show_outcome(result)


@dataclass(frozen=True, kw_only=True)
class Course(CrossingOptions):
    """The long run: across the 100 x 100 parkour park, 30 m and more, in one unbroken simulation.

    With --seeds 10 it runs ten times (seed, seed + 1, ...) and counts how often it gets there; a run that was stopped goes on.
    """

    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """folder to write: for each seed a motion, a replay (.html), a film strip (.png) and .json"""
    seeds: int = 1
    """how many runs"""
    candidates: int = 32
    """plans simulated in a round: best of 32 (paper)"""
    blend: float | None = 0.5
    """constant blending coefficient s (paper)"""
    seconds: float = 600.0
    """s of wall time after which a run is given up"""
    distance: float = 32.0
    """m between start and goal, at least"""
    effort: float = 0.25
    """price of climbs, drops and jumps in planning; 0 is the paper's cost, 1 mostly keeps to the streets"""

    def run(self) -> dict[str, Any]:
        from parc.errors import SettingsError
        from parc.run.resumable_items import ResumableItems

        if self.seeds < 1:
            raise SettingsError(f"{self.seeds} runs were asked for, expected at least 1")
        models, settings, rows = None, self.settings(), []
        notes: ResumableItems[dict[str, Any]] = ResumableItems(self.out, dict, dict)
        for seed in range(self.seed, self.seed + self.seeds):
            row = notes.get(f"course_{seed:03d}")
            if row is None:
                models = models or self.models()
                row = self._cross(seed, models, settings)
            rows.append(row)
        reached = [row for row in rows if row["reached"]]
        return {
            "out": str(self.out),
            "runs": len(rows),
            "reached": len(reached),
            "longest_seconds": max(row["seconds"] for row in rows),
            "share_of_path": sum(1.0 if row["reached"] else row["progress"] / row["length"] for row in rows) / len(rows),
            "wall": sum(row["wall"] for row in rows) / len(rows),
        }

    def _cross(self, seed: int, models: "Models", settings: "TraverseSettings") -> dict[str, Any]:
        import numpy as np
        import torch

        from parc.cli.traverse_page import write_outcome
        from parc.path import EndpointSettings
        from parc.plan import plan_random_route, traverse
        from parc.terrain import parkour_park

        ground, efforts = parkour_park(), route_settings(self.effort)
        far = replace(efforts, plan=replace(efforts.plan, endpoint=EndpointSettings(self.distance)))
        route = plan_random_route(ground, np.random.default_rng(seed), far)
        random = torch.Generator(models.generator.device).manual_seed(seed)
        out = self.out / f"course_{seed:03d}"
        with progress(None, out.name) as bar:
            result = traverse(ground, route, models, settings, random, out.name, lambda t, r, left: _tell(bar, t, left))
        return write_outcome(result, route, models.tracker.character, out, [out.with_suffix(".motion")], seed, strip=True)


@dataclass(frozen=True, kw_only=True)
class Strips(Command):
    """Film strips of random motions on one page, to look at."""

    clips: Annotated[Path, tyro.conf.Positional]
    """data set, or folder of motion files"""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """page to write (.html)"""
    count: int = 20
    """motions, drawn at random"""
    columns: int = 8
    """pictures of each"""

    def run(self) -> dict[str, Any]:
        import numpy as np

        from parc.character import humanoid
        from parc.dataset.clip_reading import read_clips
        from parc.errors import FormatError, SettingsError
        from parc.render import filmstrip
        from parc.report import Report
        from parc.run.atomic_files import write_bytes_atomically

        if self.out.suffix.lower() != ".html":
            raise FormatError(f"'{self.out}' is not the name of a page, expected .html")
        if self.count < 1 or self.columns < 1:
            raise SettingsError(f"{self.count} strips of {self.columns} pictures were asked for, expected at least 1 of 1")
        character = humanoid()
        found = read_clips(self.clips, character)
        order = np.random.default_rng(self.seed).permutation(len(found))[: self.count]
        page = Report("Film strips", f"{len(order)} of {len(found)} motions of {self.clips.name}, drawn with seed {self.seed}")
        with progress(len(order), "strips") as bar:
            for k in sorted(order.tolist()):
                strip = filmstrip(found[k], character, self.columns, 1, panel=(240, 200))
                page.add_image(strip, f"{found[k].name}, {found[k].motion.duration:.1f} s")
                bar.update()
        write_bytes_atomically(self.out, page.html().encode())
        return {"out": str(self.out), "strips": len(order), "motions": len(found)}


def new_terrain(name: str, seed: int) -> "Terrain":
    """A terrain from a file, or a new one of a kind."""
    import numpy as np

    from parc.errors import TerrainError
    from parc.terrain import RandomBoxes, RandomWalks, Stairs, load_terrain, parkour_park, random_boxes, random_walks, stairs

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


def _platforms(seed: int) -> "PlatformChain":
    """Of the kind that paths can be planned across."""
    import numpy as np

    from parc.terrain.random_platforms import REACHABLE, platform_chain

    return platform_chain(REACHABLE, np.random.default_rng(seed))


def route_settings(effort: float) -> "RouteSettings":
    from parc.errors import SettingsError
    from parc.path import PlanSettings
    from parc.plan import RouteSettings

    if effort < 0:
        raise SettingsError(f"the effort is {effort}, expected a factor of at least 0")
    usual = RouteSettings()
    prices = {name: effort * getattr(usual, name) for name in ("climb", "beyond", "drop", "jump")}
    route = replace(usual, **prices)
    return route if effort else replace(route, plan=PlanSettings(), straighten=False)  # the paper's random costs and cells


def motion_files(out: Path, formats: tuple[str, ...]) -> list[Path]:
    """The files to write, all of known kinds."""
    from parc.dataset.convert.clip_files import WRITABLE
    from parc.errors import FormatError

    endings = [f".{word.removeprefix('.').lower()}" for word in (*((out.suffix,) if out.suffix else _WHOLE), *formats)]
    for ending in endings:
        if ending not in WRITABLE:
            raise FormatError(f"motions cannot be written as '{ending}'; known are {', '.join(WRITABLE)}")
    return [out.with_suffix(ending) for ending in dict.fromkeys(endings)]


def _tell(bar: Any, attempt: int, left: float) -> None:
    bar.set_postfix_str(f"try {attempt}, {left:.1f} m left")
    bar.update()


def show_outcome(result: dict[str, Any]) -> None:
    fate = "reached the goal" if result["reached"] else "did not reach the goal"
    way = f"{result['progress']:.1f} of {result['length']:.1f} m"
    print(f"{fate}: {way}, {result['seconds']:.1f} s of motion, try {result['tries']}, {result['wall']:.1f} s of work")
    print(f"written: {', '.join(result['files'])}")
