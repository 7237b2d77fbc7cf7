"""Practice: a generator learns from its own best motions on hard ground, without a simulator.

It is trained on clips. In each round that follows it makes motions on crowded boxes, narrow, high and over a deep floor; of the
candidates for each path those that arrive, carried by the ground all the way, are kept and corrected; and it is trained on, with
the clips and all it has made so far. What one candidate in many finds becomes what every candidate does.

    OUT/
      0/, 1/, 2/                trainings (`parc.generate.training.generator_training`), each from the weights of the one before
      made/1_0/, 1_1/, ...      what round 1 made on each kind of ground (`parc.correct.synthesise_clips`)
      generator.safetensors     the last weights
      practice.jsonl            stages, their seconds and clips
      practice.json             clips and settings it was begun with

Everything is resumed by the same call: trainings from their checkpoints, rounds unit by unit.
"""

import logging
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from parc.character.character import Character
from parc.correct.correct_motions import OptimiseSettings
from parc.correct.select_candidates import SelectSettings
from parc.correct.synthesise_clips import SynthesisSettings, synthesise
from parc.dataset.clip import Clip
from parc.dataset.dataset_store import Dataset
from parc.errors import SettingsError
from parc.generate.model.motion_generator import Generator
from parc.generate.rollout.path_rollout import RolloutSettings
from parc.generate.training.generator_training import CHECKPOINT_FILE, GENERATOR_FILE, TrainSettings, make_trainer, run_training
from parc.generate.training.training_step import GeneratorTrainer
from parc.run.atomic_files import write_bytes_atomically
from parc.run.hashing import hash_file, hash_text
from parc.run.metrics_log import MetricsLog
from parc.run.settings_guard import agree
from parc.terrain.procedural_terrain import CrowdedBoxes

_log = logging.getLogger("parc.practise")
PRACTICE = "practice.json"


def _synthesis() -> SynthesisSettings:
    return SynthesisSettings(
        terrains_per_unit=64,
        candidates=16,
        keep=2,
        rollout=RolloutSettings(choices=4, seconds=16.0),
        select=SelectSettings(slowness=2.0),
        optimise=OptimiseSettings(iterations=100),
    )


@dataclass(frozen=True)
class PracticeSettings:
    """How much is trained and made, in how many rounds."""

    train: TrainSettings = field(default_factory=lambda: TrainSettings(seconds=480.0))
    """of all trainings together; its seconds, or steps, are shared out"""
    rounds: int = 3
    """times that motions are made and trained on"""
    first_share: float = 0.45
    """of the training before the first round"""
    rate: float = 4e-4
    """highest learning rate of the trainings after a round"""
    made_share: float = 0.5
    """of the windows of those trainings, from motions that were made"""
    grounds: CrowdedBoxes = CrowdedBoxes()
    """kinds of terrain"""
    units: int = 3
    """of terrains, on each ground and in each round"""
    synthesis: SynthesisSettings = field(default_factory=_synthesis)

    def __post_init__(self) -> None:
        if self.rounds < 1 or self.units < 1:
            raise SettingsError(f"{self.rounds} rounds of {self.units} units of terrain, expected 1 or more of each")
        if not self.rate > 0:
            raise SettingsError(f"the learning rate is {self.rate}, expected more than 0")
        if not 0 < self.first_share < 1:
            raise SettingsError(f"the share of the first training is {self.first_share}, expected between 0 and 1")

    def stage(self, number: int, given: bool) -> TrainSettings:
        """Training `number` (0: before any round); `given`: it goes on from trained weights."""
        share = self.first_share if number == 0 else (1 - self.first_share) / self.rounds
        steps = None if self.train.steps is None else max(1, round(share * self.train.steps))
        settings = replace(self.train, seconds=share * self.train.seconds, steps=steps, seed=self.train.seed + number)
        if number == 0 and not given:
            return settings
        own_start = 0.0 if settings.step.own_start < 1 else 1.0
        step = replace(settings.step, own_start=own_start, adam=replace(settings.step.adam, rate=self.rate))
        made_share = self.made_share if number else None
        return replace(settings, step=step, made_share=made_share)


def practise(
    settings: PracticeSettings,
    clips: Sequence[Clip],
    out: Path | str,
    character: Character,
    device: torch.device | str = "cpu",
    init: Path | None = None,
) -> Generator:
    """Train, make, train on ...; with `init` the first training goes on from those weights."""
    out, known = Path(out), list(clips)
    if (out / CHECKPOINT_FILE).is_file():
        raise SettingsError(f"{out} is the folder of a training, whose weights a practice would replace; choose another folder")
    agree(out / PRACTICE, _identity(settings, known, init))
    log = MetricsLog(out / "practice.jsonl")
    trainer: GeneratorTrainer | None = None

    def train(number: int, init: Path | None) -> Generator:
        nonlocal trainer
        began = time.monotonic()
        stage = settings.stage(number, given=init is not None)
        trainer = make_trainer(stage, known, character, device, init, trainer)
        trained = run_training(trainer, stage, out / str(number))
        log.write(stage=f"training {number}", seconds=time.monotonic() - began, clips=len(known))
        return trained

    generator = train(0, init)
    for number in range(1, settings.rounds + 1):
        began = time.monotonic()
        for kind, boxes in enumerate(settings.grounds.kinds):
            folder = out / "made" / f"{number}_{kind}"
            wanted = replace(settings.synthesis, boxes=boxes)
            units = range(kind * settings.units, (kind + 1) * settings.units)
            synthesise(generator, folder, units, settings.train.seed, number, wanted)
            made = list(Dataset.open(folder, character))
            known += made
            _log.info("round %d, ground %d: %d motions", number, kind, len(made))
        if len(known) == len(clips):
            _log.warning("no motion has arrived yet: the training that follows is like the one before")
        log.write(stage=f"made {number}", seconds=time.monotonic() - began, clips=len(known) - len(clips))
        generator = train(number, out / str(number - 1) / GENERATOR_FILE)
    write_bytes_atomically(out / GENERATOR_FILE, (out / str(settings.rounds) / GENERATOR_FILE).read_bytes())
    return generator


def check_no_practice(folder: Path) -> None:
    """Refuse a folder whose weights came from a practice: another training there would replace them."""
    if (folder / PRACTICE).is_file():
        raise SettingsError(f"{folder} is the folder of a practice, whose weights would be replaced; choose another folder")


def _identity(settings: PracticeSettings, clips: list[Clip], init: Path | None) -> dict[str, Any]:
    """What must not change between a practice and its continuation."""
    names = hash_text("\n".join(f"{clip.name} {len(clip.motion)}" for clip in clips))
    first = None if init is None else hash_file(init)
    plain = replace(settings, train=replace(settings.train, compile=False))
    return {"clips": names, "first weights": first, "settings": asdict(plain)}
