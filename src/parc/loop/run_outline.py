"""What a run would do, stage by stage, and about how long each stage takes, without doing any of it."""

from typing import Any

from parc.loop.admission_rules import GuardSettings
from parc.loop.initial_models import RunSources
from parc.loop.loop_plan import IterationPlan, LoopSettings, SynthesisPlan, TrackerPlan, VariationPlan
from parc.record.record_clips import RecordSettings
from parc.track.learn.training_plan import TrainingPlan

STAGES = ("generator", "synthesis", "tracker", "reflex", "recording", "dataset", "evaluation")
START_STAGES = ("variation", "tracker", "recording", "dataset")
"""of iteration 0, which makes D_0 out of the starting set"""


def stages_of(
    iterations: int, physics_correction: bool, variations: bool, closed_loop: bool, evaluation: bool
) -> list[tuple[int, str]]:
    """Iteration and name of every stage of a run, in order; those of the starting set's variations are of iteration 0."""
    missing = () if physics_correction else ("tracker", "reflex", "recording")
    wanted = {"reflex": closed_loop, "evaluation": evaluation}
    each = [stage for stage in STAGES if stage not in missing and wanted.get(stage, True)]
    first = [(0, stage) for stage in START_STAGES] if variations else []
    return first + [(i, stage) for i in range(1, iterations + 1) for stage in each]


def outline(settings: LoopSettings, sources: RunSources) -> dict[str, Any]:
    """Settings and sources as `prepare` gives them: {"start": sentence, "stages": [{"stage", "does", "seconds"}], "seconds"}."""
    rows = []
    for i, stage in all_stages(settings):
        if stage == "reflex" and settings.closed_loop is not None:
            does = f"{_budget(settings.closed_loop.plan)} with the generator in the loop"
        elif stage == "evaluation":
            does = "the iteration's models on the development set"
        else:
            plan = settings.plan(i) if i else settings.variations
            assert plan is not None
            does = (_does(plan) if isinstance(plan, IterationPlan) else _does_first(plan))[stage]
        rows.append({"stage": f"iteration-{i:02d}/{stage}", "does": does, "seconds": expected_of(settings, i, stage)})
    return {"start": _start(settings, sources), "stages": rows, "seconds": expected_seconds(settings)}


def all_stages(settings: LoopSettings) -> list[tuple[int, str]]:
    """Iteration and name of every stage of a run with these settings."""
    varied, closed, measured = (part is not None for part in (settings.variations, settings.closed_loop, settings.evaluation))
    return stages_of(settings.iterations, settings.physics_correction, varied, closed, measured)


def expected_of(settings: LoopSettings, i: int, stage: str) -> float:
    """s that a stage takes on the machine the preset is meant for."""
    leaf = {"reflex": settings.closed_loop, "evaluation": settings.evaluation}.get(stage)
    if leaf is not None:
        return float(leaf.expected)
    plan = settings.plan(i) if i else settings.variations
    return float(getattr(plan.expected, stage, 0.0)) if plan is not None else 0.0


def training_of(settings: LoopSettings, i: int, stage: str) -> float:
    """s of training in a stage; 0 where it trains nothing, or counts steps."""
    if stage == "generator" and i:
        training = settings.plan(i).generator
        return training.seconds if training.steps is None else 0.0
    plan = settings.closed_loop.plan if stage == "reflex" and settings.closed_loop is not None else None
    if stage == "tracker" and (i or settings.variations is not None):
        plan = (settings.plan(i) if i else settings.variations).tracker.training  # type: ignore[union-attr]
    return plan.seconds if plan is not None and not plan.iterations else 0.0


def expected_seconds(settings: LoopSettings) -> float:
    """s of a run. Closed-loop training counts as long as it trains, and of evaluations the last: the others are done beside."""
    total = 0.0
    for i, stage in all_stages(settings):
        if stage == "reflex":
            total += training_of(settings, i, stage) or expected_of(settings, i, stage)
        elif stage != "evaluation" or i == settings.iterations:
            total += expected_of(settings, i, stage)
    return total


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
    kinds["mixed"] = "crowded boxes and platforms"
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
