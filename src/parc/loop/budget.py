"""A preset whose trainings last seconds, stretched or cut to the time that is there for an iteration."""

import math
from dataclasses import replace

from parc.errors import SettingsError
from parc.loop.plan import IterationPlan, LoopSettings


def within(settings: LoopSettings, minutes: float) -> LoopSettings:
    """Iterations of about `minutes`: both trainings last the same share longer or shorter, all else stays."""
    if any(plan.generator.steps is not None or plan.tracker.training.iterations for plan in settings.plans):
        raise SettingsError(f"the preset '{settings.name}' counts steps, not minutes; gpu and paper count minutes")
    plans = tuple(_cut(plan, 60.0 * minutes) for plan in settings.plans)
    return replace(settings, plans=plans, minutes=minutes)


def _cut(plan: IterationPlan, seconds: float) -> IterationPlan:
    expected = plan.expected
    training = plan.generator.seconds + plan.tracker.training.seconds
    rest = expected.generator + expected.synthesis + expected.tracker + expected.recording + expected.dataset - training
    share = (seconds - rest) / training
    if not 0 < share < math.inf:
        raise SettingsError(f"an iteration of {seconds / 60:g} min leaves no time to train; all else takes {rest / 60:.1f} min")
    generator, tracker = share * plan.generator.seconds, share * plan.tracker.training.seconds
    return replace(
        plan,
        generator=replace(plan.generator, seconds=generator),
        tracker=replace(plan.tracker, training=replace(plan.tracker.training, seconds=tracker)),
        expected=replace(
            expected,
            generator=expected.generator + generator - plan.generator.seconds,
            tracker=expected.tracker + tracker - plan.tracker.training.seconds,
        ),
    )
