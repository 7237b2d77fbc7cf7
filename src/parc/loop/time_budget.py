"""A preset whose trainings last seconds, made to fit the time there is: an iteration cut to minutes, or all of it in small."""

import math
from dataclasses import replace

from parc.errors import SettingsError
from parc.loop.loop_plan import Expected, IterationPlan, LoopSettings, TrackerPlan, VariationPlan


def within(settings: LoopSettings, minutes: float) -> LoopSettings:
    """Iterations of about `minutes`: both trainings last the same share longer or shorter, all else stays.

    The training on variations of the starting set is stretched or cut as those of iteration 1 are.
    """
    _check_seconds(settings, "minutes")
    plans = tuple(_cut(plan, _share(plan, 60.0 * minutes)) for plan in settings.plans)
    variations = settings.variations
    if variations is not None:
        share = _share(settings.plans[0], 60.0 * minutes)
        tracker, longer = _shorter(variations.tracker, share)
        expected = replace(variations.expected, tracker=variations.expected.tracker + longer)
        variations = replace(variations, tracker=tracker, expected=expected)
    return replace(settings, plans=plans, variations=variations, minutes=minutes)


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


def _share(plan: IterationPlan, seconds: float) -> float:
    """Of the trainings' time that makes an iteration last so long."""
    training = plan.generator.seconds + plan.tracker.training.seconds
    rest = _total(plan.expected) - training
    share = (seconds - rest) / training
    if not 0 < share < math.inf:
        raise SettingsError(f"an iteration of {seconds / 60:g} min leaves no time to train; all else takes {rest / 60:.1f} min")
    return share


def _cut(plan: IterationPlan, share: float) -> IterationPlan:
    generator = share * plan.generator.seconds
    tracker, longer = _shorter(plan.tracker, share)
    expected = replace(
        plan.expected,
        generator=plan.expected.generator + generator - plan.generator.seconds,
        tracker=plan.expected.tracker + longer,
    )
    return replace(plan, generator=replace(plan.generator, seconds=generator), tracker=tracker, expected=expected)


def _shorter(plan: TrackerPlan, share: float) -> tuple[TrackerPlan, float]:
    """The plan with a share of its seconds, and how much longer it takes."""
    seconds = share * plan.training.seconds
    return replace(plan, training=replace(plan.training, seconds=seconds)), seconds - plan.training.seconds


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


def _total(expected: Expected) -> float:
    return sum(getattr(expected, name) for name in Expected.__dataclass_fields__)
