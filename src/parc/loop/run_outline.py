"""What a run would do, stage by stage, and about how long each stage takes, without doing any of it."""

from typing import Any

from parc.loop.admission_rules import GuardSettings
from parc.loop.initial_models import RunSources
from parc.loop.loop_plan import IterationPlan, LoopSettings, SynthesisPlan, TrackerPlan, VariationPlan
from parc.record.record_clips import RecordSettings
from parc.track.learn.training_plan import TrainingPlan

STAGES = ("generator", "synthesis", "tracker", "reflex", "recording", "dataset")
START_STAGES = ("variation", "tracker", "recording", "dataset")
"""of iteration 0, which makes D_0 out of the starting set"""


def stages_of(iterations: int, physics_correction: bool, variations: bool, closed_loop: bool) -> list[tuple[int, str]]:
    """Iteration and name of every stage of a run, in order; those of the starting set's variations are of iteration 0."""
    missing = () if physics_correction else ("tracker", "reflex", "recording")
    each = [stage for stage in STAGES if stage not in missing and (closed_loop or stage != "reflex")]
    first = [(0, stage) for stage in START_STAGES] if variations else []
    return first + [(i, stage) for i in range(1, iterations + 1) for stage in each]


def outline(settings: LoopSettings, sources: RunSources) -> dict[str, Any]:
    """Settings and sources as `prepare` gives them: {"start": sentence, "stages": [{"stage", "does", "seconds"}], "seconds"}."""
    rows = []
    closed, varied = settings.closed_loop, settings.variations is not None
    for i, stage in stages_of(settings.iterations, settings.physics_correction, varied, closed is not None):
        if stage == "reflex" and closed is not None:
            does = f"{_budget(closed.plan)} with the generator in the loop"
            rows.append({"stage": f"iteration-{i:02d}/{stage}", "does": does, "seconds": closed.expected})
            continue
        plan = settings.plan(i) if i else settings.variations
        assert plan is not None
        told = _does(plan) if isinstance(plan, IterationPlan) else _does_first(plan)
        seconds = float(getattr(plan.expected, stage))
        rows.append({"stage": f"iteration-{i:02d}/{stage}", "does": told[stage], "seconds": seconds})
    return {"start": _start(settings, sources), "stages": rows, "seconds": sum(row["seconds"] for row in rows)}


def _start(settings: LoopSettings, sources: RunSources) -> str:
    data = f"{settings.start.clips} walks made by rule" if sources.dataset is None else str(sources.dataset)
    models = [
        f"a new {kind}" if file is None else f"{kind} {file.parent.name}/{file.name}"
        for kind, file in (("generator", sources.generator), ("tracker", sources.tracker))
        if kind == "generator" or settings.physics_correction or settings.variations
    ]
    return f"{data}, {' and '.join(models)}"


def _does_first(plan: VariationPlan) -> dict[str, str]:
    return {
        "variation": f"{plan.count} spatial variations of each clip of the starting set",
        "tracker": _tracker(plan.tracker),
        "recording": _recording(plan.record),
        "dataset": _guard(plan.guard),
    }


def _does(plan: IterationPlan) -> dict[str, str]:
    training = plan.generator
    budget = f"{training.seconds:g} s" if training.steps is None else f"{training.steps} steps"
    return {
        "generator": f"{budget} of training, {training.step.batch} windows a step",
        "synthesis": _synthesis(plan.synthesis),
        "tracker": _tracker(plan.tracker),
        "recording": _recording(plan.record),
        "dataset": _guard(plan.guard),
    }


def _recording(record: RecordSettings) -> str:
    stretches = f"stretches from {record.stretch.shortest:g} s on"
    what = stretches if record.stretch.salvage else "the earliest start that reaches the end"
    return f"{what}, {record.clips_per_unit} clips together"


def _synthesis(plan: SynthesisPlan) -> str:
    made = plan.settings
    kinds = {"boxes": "random boxes", "crowded": "crowded boxes", "course": "slices of the course", "platforms": "platforms"}
    choice = f", best of {made.rollout.choices} a window" if made.rollout.choices > 1 else ""
    correction = "no correction" if made.optimise is None else f"{made.optimise.iterations} iterations of correction"
    repair = ", foot repair" if made.rollout.lock_feet else ""
    size = f"units of {made.terrains_per_unit} terrains x {made.candidates} motions{choice}{repair}"
    return (
        f"{plan.clips} clips up to {made.rollout.seconds:g} s on {kinds[made.ground]}; {size}, {correction}; "
        f"at most {plan.most_units} units"
    )


def _tracker(plan: TrackerPlan) -> str:
    chosen = f", on motions followed for {100 * plan.least_followed:g} % before" if plan.least_followed else ""
    return f"{_budget(plan.training)}{chosen}"


def _budget(training: TrainingPlan) -> str:
    budget = f"{training.iterations} rounds" if training.iterations else f"{training.seconds:g} s"
    return f"{budget} of training, {training.worlds} characters"


def _guard(guard: GuardSettings) -> str:
    if guard == GuardSettings.off():
        return "all clips"
    rules = [f"from {guard.shortest:g} s on"]
    if guard.quality is not None:
        rules += [f"{name} up to {getattr(guard.quality, name):g}" for name in guard.quality.measures]
    if guard.nearest:
        rules.append(f"{guard.nearest:g} m from every other")
    if guard.refuse_surplus:
        rules.append(f"{100 * guard.least_diversity:g} % as diverse as the start")
    return "clips " + ", ".join(rules)
