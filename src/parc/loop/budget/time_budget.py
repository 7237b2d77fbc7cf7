"""A preset whose trainings last seconds, made to fit the time there is: a run cut to minutes, or all of it in small."""

import math
from dataclasses import replace

from parc.errors import SettingsError
from parc.loop.loop_plan import Expected, IterationPlan, LoopSettings, TrackerPlan, VariationPlan
from parc.loop.run_outline import expected_seconds
from parc.track.learn.training_plan import TrainingPlan

_LEAST = 1e-3
"""share of the preset's training times: less is no training"""
_LEAST_MILESTONE = 60.0
"""s between milestones of a training that is cut: each measures all clips"""


def within(settings: LoopSettings, minutes: float, stretch: float | None = None) -> LoopSettings:
    """A run of about `minutes`, all iterations together: trainings last the same share longer or shorter, and where it is
    shorter, clips are the square root of that share as many.

    `stretch`: that share, where it is known from the beginning of the run (it stays when iterations are added). While the run
    goes on the minutes that are left are shared out anew before each training (`parc.loop.budget.stage_clock`).
    """
    _check_seconds(settings, "minutes")
    share = _share_for(settings, 60.0 * minutes) if stretch is None else stretch
    return replace(_stretched(settings, share), minutes=minutes, stretch=share)


def scaled(settings: LoopSettings, scale: float) -> LoopSettings:
    """A share of the work with the same networks and settings: training times times `scale`; clips, candidates for each of them,
    and variations of each clip times its square root.
    """
    _check_seconds(settings, "a scale")
    if not 0 < scale <= 1:
        raise SettingsError(f"the scale is {scale:g}, expected a share above 0 and at most 1")
    plans = tuple(_scaled(plan, scale) for plan in settings.plans)
    variations = settings.variations
    if variations is not None:
        variations = _scaled_variations(variations, scale)
    return replace(settings, plans=plans, variations=variations, scale=scale)


def _check_seconds(settings: LoopSettings, what: str) -> None:
    if any(plan.generator.steps is not None or plan.tracker.training.iterations for plan in settings.plans):
        raise SettingsError(f"the preset '{settings.name}' counts steps, not {what}; gpu and paper count minutes")


def _share_for(settings: LoopSettings, seconds: float) -> float:
    """Of the trainings' time that makes a run last so long: found by halving, for what is expected grows with it."""
    low, high = _LEAST, 1.0
    least = expected_seconds(_stretched(settings, low))
    if not least < seconds < math.inf:
        raise SettingsError(f"a run of {seconds / 60:g} min leaves no time to train; all else takes {least / 60:.1f} min")
    while expected_seconds(_stretched(settings, high)) < seconds:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if expected_seconds(_stretched(settings, middle)) < seconds else (low, middle)
    return high


def _stretched(settings: LoopSettings, share: float) -> LoopSettings:
    variations, closed = settings.variations, settings.closed_loop
    if variations is not None:
        tracker, longer = _shorter(variations.tracker, share)
        expected = replace(variations.expected, tracker=variations.expected.tracker + longer)
        variations = replace(variations, tracker=tracker, expected=expected)
    if closed is not None:
        closed = closed.lasting(share * closed.plan.seconds)
    plans = tuple(_cut(plan, share) for plan in settings.plans)
    return replace(settings, plans=plans, variations=variations, closed_loop=closed)


def _cut(plan: IterationPlan, share: float) -> IterationPlan:
    generator, root = share * plan.generator.seconds, math.sqrt(min(share, 1.0))
    tracker, longer = _shorter(plan.tracker, share)
    made = plan.synthesis
    expected = replace(
        plan.expected,
        generator=plan.expected.generator + generator - plan.generator.seconds,
        synthesis=root * plan.expected.synthesis,
        tracker=plan.expected.tracker + longer,
        recording=root * plan.expected.recording,
    )
    fewer = replace(made, clips=math.ceil(root * made.clips), most_units=math.ceil(root * made.most_units))
    return replace(
        plan, generator=replace(plan.generator, seconds=generator), synthesis=fewer, tracker=tracker, expected=expected
    )


def _shorter(plan: TrackerPlan, share: float) -> tuple[TrackerPlan, float]:
    """The plan with a share of its seconds, and how much longer it takes."""
    longer = (share - 1) * plan.training.seconds
    return replace(plan, training=lasting(plan.training, share * plan.training.seconds)), longer


def lasting(training: TrainingPlan, seconds: float) -> TrainingPlan:
    """The same for so many seconds, with a milestone at least half-way, but not more often than every minute."""
    milestone = min(training.milestone_seconds, max(_LEAST_MILESTONE, seconds / 2))
    return replace(training, seconds=seconds, milestone_seconds=milestone)


def _scaled(plan: IterationPlan, scale: float) -> IterationPlan:
    root, made = math.sqrt(scale), plan.synthesis.settings
    clips = math.ceil(root * plan.synthesis.clips)
    small = replace(
        made,
        candidates=max(2, made.keep, round(root * made.candidates)),
        terrains_per_unit=min(made.terrains_per_unit, clips),
    )
    return replace(
        plan,
        generator=replace(plan.generator, seconds=scale * plan.generator.seconds),
        synthesis=replace(plan.synthesis, clips=clips, most_units=math.ceil(root * plan.synthesis.most_units), settings=small),
        tracker=_scaled_tracker(plan.tracker, scale),
        expected=_scaled_times(plan.expected, scale),
    )


def _scaled_variations(plan: VariationPlan, scale: float) -> VariationPlan:
    return replace(
        plan,
        count=max(1, round(math.sqrt(scale) * plan.count)),
        tracker=_scaled_tracker(plan.tracker, scale),
        expected=_scaled_times(plan.expected, scale),
    )


def _scaled_tracker(plan: TrackerPlan, scale: float) -> TrackerPlan:
    seconds = scale * plan.training.seconds
    training = replace(plan.training, seconds=seconds, milestone_seconds=min(plan.training.milestone_seconds, seconds / 2))
    return replace(plan, training=training)


def _scaled_times(expected: Expected, scale: float) -> Expected:
    """As if every stage began at once; starting and compiling take longer where they are most of it."""
    return Expected(**{name: scale * getattr(expected, name) for name in Expected.__dataclass_fields__})
