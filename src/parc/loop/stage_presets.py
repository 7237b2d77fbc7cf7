"""The presets of commands that do one stage of the loop: what `parc loop` does under that name, or the classes' own defaults."""

from dataclasses import replace
from typing import Literal

from parc.loop.loop_plan import PRESETS, IterationPlan, TrackerPlan
from parc.track.learn.tracker_training import TrainingPlan
from parc.track.tracker_settings import TrackerSettings

StagePreset = Literal["default", "tiny", "scratch", "quick", "gpu", "paper"]
TrackerPreset = Literal["default", "small", "tiny", "scratch", "quick", "gpu", "paper"]

_CPU_BATCH, _CPU_WORLDS, _CPU_MILESTONE = 16, 64, 15.0
"""windows of a training step, simulated characters, s between milestones: what a CPU does where a GPU does the classes' own"""


def stage_preset(name: str, on_gpu: bool) -> IterationPlan:
    """The stages of iteration 1 of the loop's preset; `default`: every settings class as it is; `small`: a tracker for a CPU.

    `default` and `small` take smaller batches where there is no GPU.
    """
    if name in PRESETS:
        return PRESETS[name]().plan(1)
    plan = IterationPlan(tracker=TrackerPlan(TrackerSettings.small() if name == "small" else TrackerSettings()))
    if on_gpu:
        return plan
    # a step of the generator takes seconds there: the clock is looked at after each
    generator = replace(plan.generator, step=replace(plan.generator.step, batch=_CPU_BATCH), log_steps=1)
    training = TrainingPlan(worlds=_CPU_WORLDS, milestone_seconds=_CPU_MILESTONE)
    return replace(plan, generator=generator, tracker=replace(plan.tracker, training=training))
