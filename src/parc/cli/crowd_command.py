"""`parc crowd`: many characters on one terrain, each with a goal of its own."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro

from parc.api.arguments import terrain_of
from parc.cli.base_command import progress, shown
from parc.cli.character_option import OfCharacter
from parc.errors import SettingsError
from parc.plan import Models
from parc.plan.crossing.crowd import CrowdSettings, cross_together, crowd_paths
from parc.report import Report
from parc.run.atomic_files import write_bytes_atomically
from parc.run.choose_device import use_threads


@dataclass(frozen=True, kw_only=True)
class Crowd(OfCharacter):
    """Many characters cross one terrain by reflex, side by side, each with its own start and goal; nothing is rehearsed.

    Writes OUT/crowd.html, a replay of the first --shown, and OUT/crowd.json. The characters do not collide with each other.
    """

    terrain: Annotated[str, tyro.conf.Positional]
    """.terrain file, grey image or mesh; or boxes, walks, platforms, stairs, course for a new one of that kind"""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """folder to write"""
    generator: Path | None = None
    """trained generator (.safetensors); the one in the box if not given"""
    tracker: Path | None = None
    """trained actor (.safetensors); the one in the box if not given"""
    shown: int = 64
    """characters in the replay, about .1 MB each"""
    threads: int = 0
    """of the CPU engine and of the networks on a CPU; 0: all cores"""
    settings: Annotated[CrowdSettings, tyro.conf.arg(name="")] = field(default_factory=CrowdSettings)

    def run(self) -> dict[str, Any]:
        """Draw the ways, cross, write."""
        use_threads(self.threads)
        terrain = terrain_of(self.terrain, self.seed)
        paths = crowd_paths(terrain, np.random.default_rng(self.seed), self.settings)
        models = Models.load(self.body(self.generator, self.tracker), self.torch_device, self.generator, self.tracker)
        with progress(None, "crossing", "s") as bar:
            crowd = cross_together(models, terrain, paths, self.settings, self.seed, self.threads, on_progress=shown(bar))
        counts, made = crowd.counts(), crowd.recording
        facts = {
            "characters": len(paths),
            **counts,
            "arrived_share": counts["arrived"] / len(paths),
            "seconds": int(made.steps.max()) / crowd.fps,
            "way": sum(path.length for path in paths) / len(paths),
            "wall": made.wall,
            "characters_x_real_time": crowd.rate,
            "seed": self.seed,
        }
        page = Report(f"{len(paths)} characters", f"{counts['arrived']} of them arrived. They do not collide with each other.")
        clips = crowd.clips(models, self.shown)
        if clips:
            page.add_replay(clips, models.tracker.character, "what the bodies did; each stops where its run ended")
        page.add_table(facts)
        files = [self.out / "crowd.html", self.out / "crowd.json"]
        write_bytes_atomically(files[0], page.html().encode())
        write_bytes_atomically(files[1], json.dumps(facts, indent=1).encode())
        return facts | {"files": [str(file) for file in files]}

    def check(self) -> None:
        """No characters in a replay are allowed; fewer are not."""
        super().check()
        if self.shown < 0:
            raise SettingsError(f"{self.shown} characters were asked to be shown, expected at least 0")
