"""`parc loop`, `parc status`."""

import contextlib
import logging
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from parc.cli.command import Command


@dataclass(frozen=True, kw_only=True)
class Loop(Command):
    """The whole of PARC: train, synthesise, track, record, and again. The same command, or only DIR, goes on after a stop."""

    folder: Annotated[Path, tyro.conf.Positional]
    """of the run"""
    preset: Literal["tiny", "quick", "gpu", "paper"] | None = None
    """quick: minutes on a CPU; gpu: half an hour an iteration on one GPU; paper: the paper's numbers of clips; tiny: a self-test.
    As the run was begun, or quick, if not given"""
    iterations: int | None = None
    """how many; as the run was begun, or the preset's, if not given"""
    dataset: Path | None = None
    """data set or folder of motion files to start from; walks made by rule if not given"""
    generator: Path | None = None
    """trained generator to start from"""
    tracker: Path | None = None
    """trained tracker (actor.safetensors) to start from"""
    no_physics_correction: bool = False
    """the ablation: generated clips join the data set without being tracked"""
    seed: int | None = None  # type: ignore[assignment]
    """same seed, same result; as the run was begun, or 0, if not given"""

    def run(self) -> dict[str, Any]:
        from parc.character import humanoid
        from parc.loop import RunSources, run_loop
        from parc.view.loop_page import write_loop_report

        settings, given = self._settings()
        sources = RunSources(*(getattr(self, name) or given.get(name) for name in ("dataset", "generator", "tracker")))
        character = humanoid()
        logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
        began = time.monotonic()
        with contextlib.redirect_stdout(sys.stderr):
            result = run_loop(
                self.folder,
                settings,
                sources,
                character,
                self.torch_device,
                lambda i: write_loop_report(self.folder, character),
            )
        return {
            "report": str(self.folder / "report.html"),
            "dataset": str(result.dataset),
            "recorded": result.recorded,
            "added": result.joined,
            "clips": result.clips,
            "seconds": round(time.monotonic() - began, 1),
        }

    def _settings(self) -> tuple[Any, dict[str, Path]]:
        """What was asked for, the rest as the run in the folder was begun."""
        from parc.loop import preset
        from parc.loop.iterate import RUN
        from parc.loop.progress import read_run

        begun: dict[str, Any] = {}
        sources: dict[str, Path] = {}
        if (self.folder / RUN).is_file():
            run = read_run(self.folder)
            begun = run["settings"]
            sources = {name: Path(path) for name, path in run["sources"].items() if path}
        settings = preset(self.preset or begun.get("name", "quick"))
        return (
            replace(
                settings,
                iterations=self.iterations or begun.get("iterations", settings.iterations),
                seed=begun.get("seed", 0) if self.seed is None else self.seed,
                physics_correction=begun.get("physics_correction", True) and not self.no_physics_correction,
            ),
            sources,
        )


@dataclass(frozen=True, kw_only=True)
class Status(Command):
    """Where a run of `parc loop` is, and when it will end."""

    folder: Annotated[Path, tyro.conf.Positional]
    """of the run"""

    def run(self) -> dict[str, Any]:
        from dataclasses import asdict

        from parc.loop.progress import read_progress

        return asdict(read_progress(self.folder))

    def show(self, result: dict[str, Any]) -> None:
        where = f"iteration {result['iteration']} of {result['iterations']}"
        if result["state"] == "finished":
            print(f"finished after {_duration(result['seconds_spent'])}; {result['clips_joined']} clips added")
            return
        end = time.strftime("%H:%M on %d %b", time.localtime(time.time() + result["seconds_left"]))
        print(f"{result['state']} in {where}, stage {result['stage']} ({100 * result['share']:.0f} %)")
        print(f"{_duration(result['seconds_spent'])} spent, about {_duration(result['seconds_left'])} left", end="")
        print(f": until {end}" if result["state"] == "running" else f"; `parc loop {self.folder}` goes on")
        print(f"{result['clips_joined']} clips added so far")


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
