"""`parc export mjcf|onnx`: what parc made, for other programs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from parc.cli.base_command import Command


@dataclass(frozen=True, kw_only=True)
class ExportMjcf(Command):
    """Write a character on a terrain as one MJCF file that any MuJoCo opens.

    Of a motion its own terrain is written, and its first frame as the keyframe "start"; `parc convert` to .npz gives the rest.
    """

    terrain: Annotated[Path, tyro.conf.Positional]
    """.terrain file, grey image or mesh; or a motion: .motion or PARC's .pkl, or a clip of a data set as FOLDER/NAME"""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """.xml file to write"""

    def run(self) -> dict[str, Any]:
        from parc.character import humanoid
        from parc.dataset import load_clip
        from parc.dataset.convert.clip_files import data_set_above
        from parc.physics.mjcf_export import export_mjcf, merge_plateaus
        from parc.terrain import load_terrain

        _check_suffix(self.out, ".xml")
        motion = None
        if self.terrain.suffix.lower() in (".motion", ".pkl") or (not self.terrain.exists() and data_set_above(self.terrain)):
            clip = load_clip(self.terrain, humanoid())
            terrain, motion = clip.terrain, clip.motion
        else:
            terrain = load_terrain(self.terrain)
        export_mjcf(humanoid(), terrain, self.out, motion=motion)
        boxes = len(merge_plateaus(terrain.heights.numpy()))
        return {
            "out": str(self.out),
            "cells": list(terrain.size),
            "boxes": boxes,
            "keyframes": [] if motion is None else ["start"],
        }


@dataclass(frozen=True, kw_only=True)
class ExportOnnx(Command):
    """Write a trained actor as an ONNX file: observation in, action out; its metadata holds the physical contract."""

    actor: Annotated[Path, tyro.conf.Positional]
    """trained actor (.safetensors), see `parc train-tracker`"""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """.onnx file to write"""

    def run(self) -> dict[str, Any]:
        _check_suffix(self.out, ".onnx")
        from parc.character import humanoid
        from parc.track.export.onnx_export import export_onnx
        from parc.track.learn.policy import load_actor

        trained = load_actor(self.actor, humanoid())
        export_onnx(trained, self.out)
        observation, action = trained.actor.normalizer.mean.numel(), trained.character.num_dof
        return {"out": str(self.out), "observation": observation, "action": action, "bytes": self.out.stat().st_size}


def _check_suffix(path: Path, suffix: str) -> None:
    from parc.errors import FormatError

    if path.suffix.lower() != suffix:
        raise FormatError(f"'{path.name}' should end in {suffix}")
