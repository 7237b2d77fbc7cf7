"""`parc dataset hasten`: slow passages of every clip played faster."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from parc.cli.command import Command


@dataclass(frozen=True, kw_only=True)
class Hasten(Command):
    """Play the slow passages of every clip faster; flights keep their time.

    Recorded people look, wait and tread carefully, and a generator that learns it hesitates. Do this before training.
    """

    dataset: Annotated[Path, tyro.conf.Positional]
    """data set or folder of motion files"""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """data set folder, new or to be added to"""
    speed: float = 1.2
    """m/s, what slow passages come to"""
    fastest: float = 2.0
    """highest rate"""

    def run(self) -> dict[str, Any]:
        from parc.character import humanoid
        from parc.dataset import DatasetWriter
        from parc.dataset.edit import hasten
        from parc.dataset.read import read_clips
        from parc.motion.hasten import HastenSettings

        character, settings = humanoid(), HastenSettings(speed=self.speed, fastest=self.fastest)
        clips = read_clips(self.dataset, character)
        quick = [hasten(clip, character, settings) for clip in clips]
        with DatasetWriter(self.out, character) as writer:
            writer.append(quick)
        return {
            "out": str(self.out),
            "clips": len(quick),
            "minutes_before": sum(c.motion.duration for c in clips) / 60,
            "minutes": sum(c.motion.duration for c in quick) / 60,
        }
