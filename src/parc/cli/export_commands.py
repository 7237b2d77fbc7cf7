"""`parc export mjcf|onnx`: what parc made, for other programs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from parc.cli.character_option import OfCharacter
from parc.cli.pace_option import at_pace
from parc.errors import FormatError


@dataclass(frozen=True, kw_only=True)
class ExportMjcf(OfCharacter):
    """Write a character on a terrain as one MJCF file that any MuJoCo opens.

    Of a motion its own terrain is written, and its first frame as the keyframe "start"; `parc convert` to .npz gives the rest.
    """

    terrain: Annotated[Path, tyro.conf.Positional]
    """.terrain file, grey image or mesh; or a motion: .motion or PARC's .pkl, or a clip of a data set as FOLDER/NAME"""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """.xml file to write"""

    def run(self) -> dict[str, Any]:
        from parc.dataset import load_clip
        from parc.dataset.convert.clip_files import data_set_above
        from parc.physics.mjcf_export import export_mjcf, merge_plateaus
        from parc.terrain import load_terrain

        _check_suffix(self.out, ".xml")
        motion, character = None, self.body(self.terrain)
        if self.terrain.suffix.lower() in (".motion", ".pkl") or (not self.terrain.exists() and data_set_above(self.terrain)):
            clip = load_clip(self.terrain, character)
            terrain, motion = clip.terrain, clip.motion
        else:
            terrain = load_terrain(self.terrain)
        export_mjcf(character, terrain, self.out, motion=motion)
        boxes = len(merge_plateaus(terrain.heights.numpy()))
        return {
            "out": str(self.out),
            "cells": list(terrain.size),
            "boxes": boxes,
            "keyframes": [] if motion is None else ["start"],
        }


@dataclass(frozen=True, kw_only=True)
class ExportOnnx(OfCharacter):
    """Write the generator and the tracker as ONNX files with everything inside, for browsers, game engines and robots.

    The folder gets generator.onnx (two past frames, terrain, target -> 13 frames), tracker.onnx (state, reference, terrain ->
    motor targets), humanoid.xml (MJCF) and facts.json (names, orders, rates). See docs/onnx.md.
    """

    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """folder to write; with --plain-actor an .onnx file"""
    generator: Path | None = None
    """generator (.safetensors); the one in the box if not given"""
    tracker: Path | None = None
    """trained actor (.safetensors), see `parc train-tracker`; the one in the box if not given"""
    precision: Literal["fp32", "fp16", "int8"] = "fp32"
    """of the weights; inputs and outputs are always float32"""
    pace: str | None = None
    """speed asked for: walk, jog, run, sprint, or m/s; built in; for a generator that was trained with a pace"""
    steps: int | None = None
    """denoising steps of a window; as trained if not given"""
    repair: bool = True
    """repair each window: gravity, planted feet, walls"""
    cell: float = 0.4
    """m, side of a terrain cell"""
    plain_actor: bool = False
    """only the tracker's network, observation in and action out, as one .onnx file"""

    def run(self) -> dict[str, Any]:
        if self.plain_actor:
            _check_suffix(self.out, ".onnx")
        elif self.out.suffix or self.out.is_file():
            raise FormatError(f"'{self.out}' is a file, expected a folder; --plain-actor writes a single .onnx file")
        from parc.models import generator_file, shipped_tracker
        from parc.track.export.onnx_export import export_graph
        from parc.track.export.tracker_graph import ActorGraph
        from parc.track.learn.policy import load_actor

        character = self.body(self.tracker, self.generator)
        trained = load_actor(self.tracker or shipped_tracker(character.name), character)
        if self.plain_actor:
            graph = ActorGraph(trained)
            export_graph(graph, self.out, graph.description(), self.precision)
            return {"out": str(self.out), **graph.sizes, "bytes": self.out.stat().st_size}

        from parc.generate.model.motion_generator import Generator
        from parc.generate.rollout.path_rollout import RolloutSettings
        from parc.plan.crossing.reflex_crossings import ReflexSettings
        from parc.plan.reflex_export import export_reflex

        generator = Generator.load(generator_file(self.generator, self.pace, character.name), character)
        rollout = RolloutSettings(
            keep=generator.settings.future, overlap=0, steps=self.steps, lock_feet=self.repair, fall=self.repair
        )
        files = export_reflex(
            generator, trained, self.out, at_pace(ReflexSettings(rollout=rollout), self.pace), self.precision, self.cell
        )
        return {"out": str(self.out), "bytes": {file.name: file.stat().st_size for file in files.values()}}


def _check_suffix(path: Path, suffix: str) -> None:
    if path.suffix.lower() != suffix:
        raise FormatError(f"'{path.name}' should end in {suffix}")
