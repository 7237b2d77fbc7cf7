"""`parc generate`, `parc correct`, `parc synthesise`: motions by a generator, and their kinematic correction."""

import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from parc.api import correct, generate
from parc.cli.base_command import progress, show_workers, shown
from parc.cli.character_option import OfCharacter
from parc.cli.pace_option import at_pace
from parc.correct.correct_motions import OptimiseSettings
from parc.correct.generate_clip import GenerateClipSettings
from parc.correct.synthesise_clips import SynthesisSettings, synthesise
from parc.dataset import Dataset, load_clip, save_clip
from parc.dataset.convert import check_writable
from parc.errors import SettingsError
from parc.generate.model.motion_generator import Generator
from parc.loop.ledger import hash_file
from parc.loop.stage_presets import StagePreset, stage_preset
from parc.metrics import measure_clips
from parc.models import generator_file
from parc.render import draw_clip
from parc.render.picture_file import check_picture, save_picture
from parc.run.work_items import workers_at

_SHOWN = (
    "tpl", "tcl", "pen_mm", "self_pen_mm", "self_pen_frames", "joint_limit_frames", "foot_skate", "foot_f1", "floating",
    "max_jerk", "hjf_paper",
)  # fmt: skip
"""metrics printed before and after a correction"""


@dataclass(frozen=True, kw_only=True)
class Generate(OfCharacter):
    """Generate motion along a path over a terrain and keep the best of a batch."""

    terrain: Annotated[Path, tyro.conf.Positional]
    """.terrain file, grey image or mesh"""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """motion file to write"""
    generator: Path | None = None
    """trained generator (.safetensors), or `paced`: the one in the box that `--pace` takes; the usual one if not given"""
    path: Path | None = None
    """path (.json) to follow; without it one is planned between random points near the edges"""
    pace: str | None = None
    """speed asked for: walk, jog, run, sprint, or m/s; for a generator that was trained with a pace"""
    picture: Path | None = None
    """also draw it (.png)"""
    preset: Literal["default", "paper"] = "default"
    """paper: windows as the network gives them, s = 0.65, no repair, gravity or overlap, and the best motion by the paper's
    heuristic. What is sampled, in how many steps, is the generator's own: only one of train-generator --preset paper is a DDPM"""
    settings: Annotated[GenerateClipSettings, tyro.conf.arg(name="")] = field(default_factory=GenerateClipSettings)

    @classmethod
    def of_preset(cls, preset: str, device: str) -> dict[str, Any]:
        """The paper's sampler."""
        return {"settings": GenerateClipSettings.paper()} if preset == "paper" else {}

    def run(self) -> dict[str, Any]:
        """Generate."""
        check_picture(self.picture)
        check_writable(self.out)
        character = self.body(self.generator)
        with progress(None, "generating") as bar:
            made = generate(
                self.terrain,
                path=self.path,
                generator=generator_file(self.generator, self.pace, character.name),
                character=character,
                settings=at_pace(self.settings, self.pace),
                seed=self.seed,
                device=self.device,
                name=self.out.stem,
                on_progress=shown(bar),
            )
        save_clip(made.clip, self.out, character)
        if self.picture:
            save_picture(draw_clip(made.clip, character), self.picture)
        return {
            "out": str(self.out),
            "sampler": made.sampler,
            "reached": made.reached,
            "share_reached": made.share_reached,
            **measure_clips([made.clip], character)[0],
        }


@dataclass(frozen=True, kw_only=True)
class Correct(OfCharacter):
    """Pull a motion out of the ground, onto its contacts, and smooth it (kinematic optimisation)."""

    clip: Annotated[Path, tyro.conf.Positional]
    """motion file"""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """motion file to write"""
    preset: Literal["default", "paper"] = "default"
    """paper: its four terms alone, jerk in m/s3, all iterations; default: also smoothness, sliding and held contact points, jerk
    in units of position, and an end as soon as nothing is gained"""
    settings: Annotated[OptimiseSettings, tyro.conf.arg(name="")] = field(default_factory=OptimiseSettings)

    @classmethod
    def of_preset(cls, preset: str, device: str) -> dict[str, Any]:
        """The paper's terms."""
        return {"settings": OptimiseSettings.paper()} if preset == "paper" else {}

    def run(self) -> dict[str, Any]:
        """Correct."""
        check_writable(self.out)
        character = self.body(self.clip)
        clip = load_clip(self.clip, character)
        with progress(self.settings.iterations, "correcting") as bar:
            corrected = correct(clip, character=character, settings=self.settings, device=self.device, on_progress=shown(bar))
        save_clip(corrected, self.out, character)
        before, after = measure_clips([clip, corrected], character)
        return {"out": str(self.out), "before": before, "after": after}

    def show(self, result: dict[str, Any]) -> None:
        """Metrics before and after."""
        print(f"{'':<18}{'before':>12}{'after':>12}")
        for key in _SHOWN:
            print(f"{key:<18}{result['before'][key]:12.4g}{result['after'][key]:12.4g}")
        print(f"written to {result['out']}")


@dataclass(frozen=True, kw_only=True)
class Synthesise(OfCharacter):
    """Make new clips: terrain, path, rollouts, selection, correction, data set. Run again to go on after a stop."""

    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """data set folder"""
    generator: Path | None = None
    """trained generator (.safetensors), or `paced`: the one in the box that `--pace` takes; the usual one if not given"""
    units: int = 1
    """units of terrains; the clips of a unit do not depend on how the units are shared out"""
    clips: int | None = None
    """no further unit is begun once there are so many"""
    preset: StagePreset = "default"
    """defaults of all settings; paper: the paper's sampler, heuristic and correction, 64 candidates; others: as that preset of
    `parc loop`"""
    shard: int = 0
    """make only units shard, shard + shards, ..."""
    shards: int = 1
    """number of calls that share the units"""
    iteration: int = 1
    """PARC iteration, part of the seed and of the clips' provenance"""
    cluster: str | None = None
    """make units on a Ray cluster: local, auto (the one this machine belongs to) or HOST:PORT"""
    settings: Annotated[SynthesisSettings, tyro.conf.arg(name="")] = field(default_factory=SynthesisSettings)
    """--optimise.iterations 0: no kinematic correction"""

    @classmethod
    def of_preset(cls, preset: str, device: str) -> dict[str, Any]:
        """What the loop does."""
        return {"settings": stage_preset(preset, True).synthesis.settings}

    def run(self) -> dict[str, Any]:
        """Synthesise."""
        if not 0 <= self.shard < self.shards:
            raise SettingsError(f"shard {self.shard} of {self.shards} does not exist; shards count from 0")
        if self.units < 1:
            raise SettingsError(f"{self.units} units of terrains were asked for, expected at least 1")
        character = self.body(self.generator, self.out)
        settings, file = self.settings, generator_file(self.generator, body=character.name)
        if settings.optimise is not None and settings.optimise.iterations == 0:
            settings = replace(settings, optimise=None)
        model = Generator.load(file, character, self.torch_device)
        mine = range(self.shard, self.units, self.shards)
        began = time.monotonic()
        with progress(len(mine), "units") as bar, workers_at(self.cluster, self.torch_device, show_workers(bar)) as workers:
            written = synthesise(
                model, self.out, mine, self.seed, self.iteration, settings, lambda unit, clips: bar.update(),
                hash_file(file)[:16], self.clips, workers,
            )  # fmt: skip
        dataset = Dataset.open(self.out)
        return {
            "out": str(self.out),
            "sampler": model.schedule.describe(),
            "terrains": settings.terrains_per_unit * len(mine),
            "written": len(written),
            "clips": len(dataset),
            "minutes": dataset.seconds / 60,
            "seconds": time.monotonic() - began,
        }
