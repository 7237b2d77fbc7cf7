"""`parc live`: a character that plans while it runs, measured."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
import tyro

from parc.cli.base_command import progress
from parc.cli.character_option import OfCharacter
from parc.cli.pace_option import at_pace
from parc.dataset import Clip, DatasetWriter, Provenance
from parc.errors import SettingsError
from parc.models import generator_file
from parc.plan import Models
from parc.plan.online_trials import TrialSettings, answers_to_keys, run_trial, summary, trial_ground


@dataclass(frozen=True, kw_only=True)
class Live(OfCharacter):
    """Drive a simulated character to goals on random boxes with generator and tracker in closed loop, and say how it went.

    Plans are rehearsed in simulation before one is followed; with --pilot.no-rehearse the character goes by reflex, at a fraction
    of the work. Runs on the CPU. `parc studio` has the same under its tab Live, with a person at the controls.
    """

    terrains: int = 20
    """seeded random boxes, one goal on each"""
    generator: Path | None = None
    """trained generator (.safetensors), or `paced`: the one in the box that `--pace` takes; the usual one if not given"""
    tracker: Path | None = None
    """trained actor (.safetensors); the one in the box if not given"""
    keys: int = 12
    """changes of a held arrow key on flat ground, in real time, to measure how soon one changes the plan; 0: none"""
    pace: str | None = None
    """speed asked for: walk, jog, run, sprint, or m/s; for a generator that was trained with a pace"""
    planning: Literal["beside", "between"] = "beside"
    """make plans in a thread beside the physics, or between two steps of it; the run is the same"""
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None
    """data set to write the runs to"""
    settings: Annotated[TrialSettings, tyro.conf.arg(name="")] = field(default_factory=TrialSettings)

    def run(self) -> dict[str, Any]:
        pilot = self.settings.pilot
        planner = at_pace(pilot.planner, self.pace)
        settings = replace(self.settings, pilot=replace(pilot, planner=planner))
        character = self.body(self.generator, self.tracker)
        models = Models.load(character, "cpu", generator_file(self.generator, self.pace, character.name), self.tracker)
        torch.set_num_threads(1)
        results, clips = [], []
        beside = self.planning == "beside"
        with progress(self.terrains, "terrains") as bar:
            for index in range(self.terrains):
                result, motion = run_trial(models.generator, models.tracker, index, self.seed, settings, beside, models.critic)
                results.append(result)
                ground = trial_ground(index, self.seed, settings)
                provenance = Provenance(source="live", seed=self.seed, skill="live", losses={"reached": float(result.reached)})
                clips.append(
                    Clip(f"live_s{self.seed}_{index:03d}", motion, ground.terrain, None, character.fingerprint, provenance)
                )
                bar.update()
        if self.out is not None:
            with DatasetWriter(self.out, character) as writer:
                writer.append(clips)
        told = {"rehearse": settings.pilot.rehearse, **summary(results)}
        if self.keys:
            told |= answers_to_keys(models.generator, models.tracker, self.keys, self.seed, settings, beside, models.critic)
        return told

    def check(self) -> None:
        super().check()
        if self.terrains < 1:
            raise SettingsError(f"{self.terrains} terrains were asked for, expected at least 1")
        if self.keys < 0:
            raise SettingsError(f"{self.keys} changes of a key were asked for, expected at least 0")

    def show(self, result: dict[str, Any]) -> None:
        super().show({key: value for key, value in result.items() if key != "trials"})
