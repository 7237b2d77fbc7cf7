"""Closed-loop training as a stage of the loop: how much of it each preset has, and its run on an iteration's files."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.errors import SettingsError
from parc.generate.model.motion_generator import Generator
from parc.generate.rollout.path_rollout import RolloutSettings
from parc.loop.loop_plan import LoopSettings
from parc.plan.crossing.reflex_crossings import ReflexSettings
from parc.reflex.reflex_settings import BankSettings, DevelopmentSettings, ReflexStarts, ReflexTrainingSettings
from parc.reflex.reflex_training import train_reflex
from parc.track.learn.training_plan import TrainingPlan

_SHARE = 0.45
"""of the tracker's training time that closed-loop training takes, where a preset counts seconds: 8 min beside 18"""
_AROUND = 60.0
"""s for kernels, the first terrains and milestones"""
_MILESTONE = 80.0
"""s between milestones, at most"""
_DRAWERS = 8
"""processes that draw terrains, where a preset counts seconds"""


@dataclass(frozen=True)
class ClosedLoopTraining:
    """What `parc.loop.leaf_stages.ClosedLoop` asks for."""

    plan: TrainingPlan = field(default_factory=TrainingPlan)
    settings: ReflexTrainingSettings = field(default_factory=ReflexTrainingSettings)
    expected: float = 0.0
    """s"""

    def lasting(self, seconds: float) -> "ClosedLoopTraining":
        """The same with another training time."""
        if self.plan.iterations:
            return self
        plan = replace(self.plan, seconds=seconds, milestone_seconds=min(_MILESTONE, seconds / 4))
        return replace(self, plan=plan, expected=seconds + _AROUND)

    def train(
        self, out: Path, generator: Path, tracker: Path, clips: list[Clip], seed: int, character: Character, device: str
    ) -> dict[str, Any]:
        """Train in `out`, going on with what lies there; returns numbers for the report."""
        writer = Generator.load(generator, character, device)
        if torch.device(device).type != "cpu":
            writer = writer.in_precision(torch.bfloat16)
        result = train_reflex(tracker, writer, clips, out, self.settings, replace(self.plan, seed=seed))
        best, before = result["best"], result["before"]
        return {
            "crossings": best["crossings"],
            "crossings_before": before["crossings"],
            "success": best["clips"],
            "success_before": before["clips"],
        }


def closed_loop_of(loop: LoopSettings) -> ClosedLoopTraining:
    """For a preset of the loop, whose tracker may be stretched or cut."""
    if not loop.physics_correction:
        raise SettingsError("closed-loop training needs a tracker; take --reflex False where nothing is tracked")
    training = loop.plan(1).tracker.training
    if loop.name == "tiny":
        return _tiny(training)
    if training.iterations:  # a CPU in minutes
        bank = BankSettings(terrains=16, fresh=1)
        few = ReflexTrainingSettings(bank=bank, development=DevelopmentSettings(terrains=1, runs=1), shares=())
        plan = replace(training, worlds=87, iterations=max(1, training.iterations // 10), milestone_iterations=10)
        return ClosedLoopTraining(plan, few, 300.0)
    usual = ReflexTrainingSettings()
    settings = replace(usual, bank=replace(usual.bank, drawers=_DRAWERS))
    return ClosedLoopTraining(TrainingPlan(), settings).lasting(_SHARE * training.seconds)


def _tiny(training: TrainingPlan) -> ClosedLoopTraining:
    """Two terrains of low boxes, plans of one window, two iterations."""
    ppo = ReflexTrainingSettings().ppo
    settings = ReflexTrainingSettings(
        every=(2, 3),
        clip_share=0.5,
        loop=ReflexSettings(every=3, windows=1, rollout=RolloutSettings(keep=7, overlap=0, steps=1, lock_feet=False), seconds=0.3,
                            slowest=100.0),
        starts=ReflexStarts(kept=16, tries=2, before=(0.1, 0.3), passed=0.3),
        bank=BankSettings(terrains=2, families=("boxes",), fresh=1, every=1, room=16, longest=12.0),
        development=DevelopmentSettings(families=("boxes",), terrains=1, runs=1),
        ppo=replace(ppo, steps=4, epochs=1, minibatch=20),
        shares=(),
    )  # fmt: skip
    return ClosedLoopTraining(replace(training, worlds=10, iterations=2, milestone_iterations=1), settings, 5.0)
