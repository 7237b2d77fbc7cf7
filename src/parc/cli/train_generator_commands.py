"""`parc train-generator`, `parc practise`: motion generators."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import tyro

from parc.cli.base_command import log_to_stderr
from parc.cli.character_option import OfCharacter
from parc.correct.practise_generator import PracticeSettings, check_no_practice, practise
from parc.dataset import Dataset
from parc.dataset.clip_reading import read_clips
from parc.generate.model.motion_generator import Generator
from parc.generate.training.generator_training import GENERATOR_FILE, TrainSettings, train_generator
from parc.generate.training.student_step import StudentSettings
from parc.loop.stage_presets import StagePreset, stage_preset
from parc.run.choose_device import choose_device


@dataclass(frozen=True, kw_only=True)
class TrainGenerator(OfCharacter):
    """Train a motion generator. A run that was stopped goes on when the same command is given again."""

    clips: Annotated[Path, tyro.conf.Positional]
    """data set, or folder of motion files"""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """folder for weights, checkpoint and metrics"""
    preset: StagePreset = "default"
    """defaults of all settings. default: few-step flow, prefix-cached transformer, steps of 1024 windows on a GPU and 16 on the
    CPU; paper: the paper's DDPM, losses and windows, all with the same chance, its sizes and rates those of the released code;
    others: as that preset of `parc loop`"""
    init: Path | None = None
    """generator file to start from"""
    student_of: Path | None = None
    """teacher (a generator file): train a student of it, of few sampler steps in one branch, which is made of what the teacher is
    and starts from its weights"""
    student: StudentSettings = field(default_factory=StudentSettings)
    resume: bool = True
    """continue a checkpoint found in OUT"""
    seed: tyro.conf.Suppress[int] = 0
    """that of the training counts"""
    train: Annotated[TrainSettings, tyro.conf.arg(name="")] = field(default_factory=TrainSettings)

    @classmethod
    def of_preset(cls, preset: str, device: str) -> dict[str, Any]:
        """Settings of the training."""
        return {"train": stage_preset(preset, choose_device(device) != "cpu").generator}

    def run(self) -> dict[str, Any]:
        """Train."""
        log_to_stderr()
        check_no_practice(self.out)
        character = self.body(self.clips, self.init)
        clips = read_clips(self.clips, character)
        train_generator(
            self.train, clips, self.out, character, self.torch_device, self.resume, self.init,
            teacher=self.student_of, student=self.student,
        )  # fmt: skip
        return {"generator": str(self.out / GENERATOR_FILE)}


@dataclass(frozen=True, kw_only=True)
class Practise(OfCharacter):
    """Train a generator, let it make motions on crowded boxes, train it on those that arrive, and again.

    A run that was stopped goes on when the same command is given again.
    """

    clips: Annotated[Path, tyro.conf.Positional]
    """data set, or folder of motion files"""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """folder for weights, motions made and metrics"""
    init: Path | None = None
    """generator file to start from"""
    settings: Annotated[PracticeSettings, tyro.conf.arg(name="")] = field(default_factory=PracticeSettings)

    @classmethod
    def of_preset(cls, preset: str, device: str) -> dict[str, Any]:
        """Smaller batches on the CPU."""
        step = stage_preset("default", choose_device(device) != "cpu").generator
        usual = PracticeSettings()
        train = replace(usual.train, log_steps=step.log_steps, step=replace(usual.train.step, batch=step.step.batch))
        return {"settings": replace(usual, train=train)}

    def run(self) -> dict[str, Any]:
        """Train, make, train on."""
        log_to_stderr()
        character = self.body(self.clips, self.init)
        clips = read_clips(self.clips, character)
        if self.init is not None:
            Generator.load(self.init, character)
        train = replace(self.settings.train, seed=self.seed or self.settings.train.seed)
        practise(replace(self.settings, train=train), clips, self.out, character, self.torch_device, self.init)
        made = sum(len(Dataset.open(folder, character)) for folder in (self.out / "made").iterdir())
        return {"generator": str(self.out / GENERATOR_FILE), "motions_made": made}
