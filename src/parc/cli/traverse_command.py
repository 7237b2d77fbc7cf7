"""`parc traverse`: across terrain in physics, once or for several seeds."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import tyro

from parc.api import traverse
from parc.api.cross_terrain import CrossingPreset, crossing_preset, ready
from parc.api.crossing_files import motion_files, write_crossing
from parc.cli.base_command import progress, shown
from parc.cli.character_option import OfCharacter
from parc.cli.pace_option import at_pace
from parc.cli.path_command import read_cell
from parc.errors import PathError, SettingsError
from parc.models import generator_file
from parc.plan import Models, TraverseSettings
from parc.run.choose_device import use_threads
from parc.run.resumable_items import ResumableItems


@dataclass(frozen=True, kw_only=True)
class CrossingOptions(OfCharacter):
    """Options of every command that crosses terrain."""

    generator: Path | None = None
    """trained generator (.safetensors), or `paced`: the one in the box that `--pace` takes; the usual one if not given"""
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
        if preset not in ("plain", "course"):
            return {}
        settings, effort = crossing_preset("plain" if preset == "plain" else "course")
        return {"settings": settings, "effort": effort}

    def models(self) -> Models:
        """Generator, tracker and critic."""
        character = self.body(self.generator, self.tracker)
        file = generator_file(self.generator, self.pace, character.name)
        return Models.load(character, self.torch_device, file, self.tracker)

    def traverse_settings(self, reroute: bool = True) -> TraverseSettings:
        """Checked; from here on no more threads than wished for are used."""
        use_threads(self.settings.threads)
        return ready(self.paced(), self.effort, reroute)

    def paced(self) -> TraverseSettings:
        """The settings with the pace asked for."""
        return replace(self.settings, method=at_pace(self.settings.method, self.pace))


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
        self.traverse_settings()
        if bool(self.start) != bool(self.goal) and not self.path:
            raise PathError("give both --start and --goal, or neither")
        if self.seeds is not None:
            return self._cross_often()
        motion_files(self.out, self.formats)
        return self._cross(self.out, self.seed, None)

    def _cross_often(self) -> dict[str, Any]:
        if not self.seeds or self.seeds < 1:
            raise SettingsError(f"{self.seeds} crossings were asked for, expected at least 1")
        models, rows = None, []
        notes: ResumableItems[dict[str, Any]] = ResumableItems(self.out, dict, dict)
        for seed in range(self.seed, self.seed + self.seeds):
            row = notes.get(f"{Path(self.terrain).stem}_{seed:03d}")
            if row is None:
                models = models or self.models()
                row = self._cross(self.out / f"{Path(self.terrain).stem}_{seed:03d}", seed, models)
            rows.append(row)
        return {
            "out": str(self.out),
            "runs": len(rows),
            "reached": sum(row["reached"] for row in rows),
            "longest_seconds": max(row["seconds"] for row in rows),
            "share_of_path": sum(1.0 if row["reached"] else row["progress"] / row["length"] for row in rows) / len(rows),
            "wall": sum(row["wall"] for row in rows) / len(rows),
        }

    def _cross(self, out: Path, seed: int, models: Models | None) -> dict[str, Any]:
        character = self.body(self.generator, self.tracker)
        start, goal = (None if cell is None else read_cell(cell) for cell in (self.start, self.goal))
        with progress(None, "crossing" if self.seeds is None else out.name, "m") as bar:
            result = traverse(
                self.terrain,
                start=start,
                goal=goal,
                path=self.path,
                terrain_seed=self.terrain_seed,
                generator=generator_file(self.generator, self.pace, character.name),
                tracker=self.tracker,
                character=character,
                models=models,
                settings=self.paced(),
                effort=self.effort,
                seed=seed,
                device=self.device,
                name=out.stem,
                on_progress=shown(bar),
            )
        whole = out.with_suffix(".motion") if self.seeds is not None else out
        return write_crossing(result, character, whole, self.formats, self.strip or self.seeds is not None)

    def show(self, result: dict[str, Any]) -> None:
        """How it went, and the files."""
        if self.seeds is not None:
            return super().show(result)
        fate = "reached the goal" if result["reached"] else "did not reach the goal"
        way = f"{result['progress']:.1f} of {result['length']:.1f} m"
        print(f"{fate}: {way}, {result['seconds']:.1f} s of motion, try {result['tries']}, {result['wall']:.1f} s of work")
        print(f"written: {', '.join(result['files'])}")
