"""`parc live`: a character that plans while it runs, measured."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from parc.cli.base_command import Command, progress


@dataclass(frozen=True, kw_only=True)
class Live(Command):
    """Drive a simulated character to goals on random boxes with generator and tracker in closed loop, and say how it went.

    Runs on the CPU. `parc studio` has the same under its tab Live, with a person at the controls.
    """

    terrains: int = 20
    """seeded random boxes, one goal on each"""
    distance: float = 5.0
    """m, least distance of the goal"""
    seconds: float = 20.0
    """s of simulated time to get there"""
    generator: Path | None = None
    """trained generator (.safetensors); the one in the box if not given"""
    tracker: Path | None = None
    """trained actor (.safetensors); the one in the box if not given"""
    candidates: int | None = None
    """motions rehearsed for each plan"""
    period: int | None = None
    """control steps from one plan to the next"""
    planning: Literal["beside", "between"] = "beside"
    """make plans in a thread beside the physics, or between two steps of it; the run is the same"""
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None
    """data set to write the runs to"""

    def run(self) -> dict[str, Any]:
        import torch

        from parc.character import humanoid
        from parc.dataset import Clip, DatasetWriter, Provenance
        from parc.plan import Models
        from parc.plan.online_trials import run_trial, summary, trial_ground

        settings = self._settings()
        character = humanoid()
        models = Models.load(character, "cpu", self.generator, self.tracker)
        torch.set_num_threads(1)
        results, clips = [], []
        with progress(self.terrains, "terrains") as bar:
            for index in range(self.terrains):
                result, motion = run_trial(
                    models.generator, models.tracker, index, self.seed, settings, self.planning == "beside", models.critic
                )
                results.append(result)
                ground = trial_ground(index, self.seed, settings)
                provenance = Provenance(source="live", seed=self.seed, skill="live", losses={"reached": float(result.reached)})
                clips.append(Clip(f"live_s{self.seed}_{index:03d}", motion, ground.terrain, provenance=provenance))
                bar.update()
        if self.out is not None:
            with DatasetWriter(self.out, character) as writer:
                writer.append(clips)
        return summary(results)

    def check(self) -> None:
        from parc.errors import SettingsError

        super().check()
        if self.terrains < 1:
            raise SettingsError(f"{self.terrains} terrains were asked for, expected at least 1")

    def show(self, result: dict[str, Any]) -> None:
        super().show({key: value for key, value in result.items() if key != "trials"})

    def _settings(self):
        from parc.plan.online_pilot import PilotSettings
        from parc.plan.online_trials import TrialSettings

        pilot = PilotSettings()
        if self.candidates is not None:
            pilot = replace(pilot, planner=replace(pilot.planner, candidates=self.candidates))
        if self.period is not None:
            pilot = replace(pilot, period=self.period, delay=min(pilot.delay, self.period))
        return TrialSettings(distance=self.distance, seconds=self.seconds, pilot=pilot)
