"""`parc dataset hasten`: slow passages of every clip played faster."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import tyro

from parc.cli.base_command import new_names, progress
from parc.cli.character_option import OfCharacter
from parc.dataset import DatasetWriter
from parc.dataset.clip_edits import hasten, hastened_name
from parc.dataset.clip_reading import read_clips
from parc.errors import DatasetError
from parc.motion.hasten_motion import HastenSettings


@dataclass(frozen=True, kw_only=True)
class Hasten(OfCharacter):
    """Play the slow passages of every clip faster; flights keep their time.

    Recorded people look, wait and tread carefully, and a generator that learns it hesitates. Do this before training.
    """

    dataset: Annotated[Path, tyro.conf.Positional]
    """data set or folder of motion files"""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """data set folder, new or to be added to"""
    resume: bool = False
    """leave alone what the folder already has"""
    settings: Annotated[HastenSettings, tyro.conf.arg(name="")] = field(default_factory=HastenSettings)

    def run(self) -> dict[str, Any]:
        character = self.body(self.dataset)
        clips = read_clips(self.dataset, character)
        if not clips:
            raise DatasetError(f"{self.dataset} has no clips to hasten")
        with DatasetWriter(self.out, character) as writer:
            names = new_names([hastened_name(clip) for clip in clips], writer, self.resume, "choose another folder with -o")
            clips = [clip for clip in clips if hastened_name(clip) in names]
            quick = []
            with progress(len(clips), "hastening") as bar:
                for clip in clips:
                    quick.append(hasten(clip, character, self.settings))
                    bar.update()
            writer.append(quick)
        return {
            "out": str(self.out),
            "clips": len(quick),
            "minutes_before": sum(c.motion.duration for c in clips) / 60,
            "minutes": sum(c.motion.duration for c in quick) / 60,
        }
