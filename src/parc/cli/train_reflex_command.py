"""`parc train-reflex`: a tracker that crosses terrain without rehearsing it."""

import contextlib
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import torch
import tyro

from parc.cli.character_option import OfCharacter
from parc.dataset.clip_reading import read_clips
from parc.errors import DatasetError
from parc.generate.model.motion_generator import Generator
from parc.models import generator_file, shipped_motions, shipped_tracker
from parc.reflex.reflex_settings import ReflexTrainingSettings
from parc.reflex.reflex_training import train_reflex
from parc.run.choose_device import choose_device, use_threads
from parc.track.learn.tracker_training import ACTOR
from parc.track.learn.training_plan import TrainingPlan

_DRAWERS = 8
"""processes that draw terrains beside a GPU"""


@dataclass(frozen=True, kw_only=True)
class TrainReflex(OfCharacter):
    """Train a tracker with the generator in the loop, on terrain that is drawn anew, so that it crosses without rehearsal.

    A run that was stopped goes on when the same command is given again. OUT holds an actor and its critic as other commands take
    them. Unless told otherwise it has 8192 worlds on a GPU and 87 on the CPU, and 8 processes that draw terrains beside a GPU.
    """

    tracker: Annotated[Path | None, tyro.conf.Positional] = None
    """trained actor (.safetensors) to begin with, its critic beside it; that in the box if not given"""
    generator: Path | None = None
    """trained generator (.safetensors), which stays as it is, or `paced`: the one in the box that can be asked for a pace; the
    usual one in the box if not given"""
    clips: Path | None = None
    """data set, folder of motion files, or one motion file, which are not to be forgotten; the motions in the box if not given"""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """folder for actor, critic, checkpoint and metrics"""
    resume: bool = True
    """continue a checkpoint found in OUT"""
    compile: bool = False
    """fuse the generator's kernels first: a minute or more before the clock starts"""
    seed: tyro.conf.Suppress[int] = 0
    """that of the plan counts"""
    plan: Annotated[TrainingPlan, tyro.conf.arg(name="")] = field(default_factory=TrainingPlan)
    settings: Annotated[ReflexTrainingSettings, tyro.conf.arg(name="")] = field(default_factory=ReflexTrainingSettings)

    @classmethod
    def of_preset(cls, preset: str, device: str) -> dict[str, Any]:
        """Sizes for the device."""
        if choose_device(device) == "cpu":
            return {"plan": TrainingPlan(worlds=87)}
        usual = ReflexTrainingSettings()
        return {"settings": replace(usual, bank=replace(usual.bank, drawers=_DRAWERS))}

    def run(self) -> dict[str, Any]:
        """Train."""
        use_threads(self.plan.threads)
        character, device = self.body(self.tracker, self.generator, self.clips), self.torch_device
        clips = self.clips or shipped_motions(character.name)
        if clips is None:
            raise DatasetError(f"there are no motions of character '{character.name}' in the box; name a data set with --clips")
        file = generator_file(self.generator, self.settings.loop.rollout.pace, character.name)
        generator = Generator.load(file, character, device)
        if device != "cpu":
            generator = generator.in_precision(torch.bfloat16)
        tracker = self.tracker or shipped_tracker(character.name)
        with contextlib.redirect_stdout(sys.stderr):  # a line for each evaluation
            result = train_reflex(
                tracker,
                generator,
                read_clips(clips, character),
                self.out,
                self.settings,
                self.plan,
                self.resume,
                self.compile,
            )
        return {
            "tracker": str(self.out / ACTOR),
            "crossings": result["best"]["crossings"],
            "crossings_before": result["before"]["crossings"],
            "clips": result["best"]["clips"],
            "clips_before": result["before"]["clips"],
            "seconds": result["seconds"],
            "samples": result["samples"],
        }
