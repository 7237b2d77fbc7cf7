"""What a run would do, stage by stage, and about how long each stage takes, without doing any of it."""

from typing import Any

from parc.loop.guard import GuardSettings
from parc.loop.plan import IterationPlan, LoopSettings, SynthesisPlan, TrackerPlan
from parc.loop.sources import RunSources

STAGES = ("generator", "synthesis", "tracker", "recording", "dataset")


def stages_of(physics_correction: bool) -> tuple[str, ...]:
    """Stages of an iteration, in order."""
    return STAGES if physics_correction else tuple(s for s in STAGES if s not in ("tracker", "recording"))


def outline(settings: LoopSettings, sources: RunSources) -> dict[str, Any]:
    """Settings and sources as `prepare` gives them: {"start": sentence, "stages": [{"stage", "does", "seconds"}], "seconds"}."""
    rows = []
    for i in range(1, settings.iterations + 1):
        plan = settings.plan(i)
        does = _does(plan, settings.physics_correction)
        for stage in stages_of(settings.physics_correction):
            seconds = float(getattr(plan.expected, stage))
            rows.append({"stage": f"iteration-{i:02d}/{stage}", "does": does[stage], "seconds": seconds})
    return {"start": _start(settings, sources), "stages": rows, "seconds": sum(row["seconds"] for row in rows)}


def _start(settings: LoopSettings, sources: RunSources) -> str:
    data = f"{settings.start.clips} walks made by rule" if sources.dataset is None else str(sources.dataset)
    models = [
        f"a new {kind}" if file is None else f"{kind} {file.parent.name}/{file.name}"
        for kind, file in (("generator", sources.generator), ("tracker", sources.tracker))
        if kind == "generator" or settings.physics_correction
    ]
    return f"{data}, {' and '.join(models)}"


def _does(plan: IterationPlan, physics_correction: bool) -> dict[str, str]:
    training = plan.generator
    budget = f"{training.seconds:g} s" if training.steps is None else f"{training.steps} steps"
    record = plan.record
    return {
        "generator": f"{budget} of training, {training.step.batch} windows a step",
        "synthesis": _synthesis(plan.synthesis),
        "tracker": _tracker(plan.tracker),
        "recording": f"stretches from {record.stretch.shortest:g} s on, {record.clips_per_unit} clips together",
        "dataset": _guard(plan.guard, physics_correction),
    }


def _synthesis(plan: SynthesisPlan) -> str:
    made = plan.settings
    kinds = {"boxes": "random boxes", "crowded": "crowded boxes", "course": "slices of the course", "platforms": "platforms"}
    choice = f", best of {made.rollout.choices} a window" if made.rollout.choices > 1 else ""
    correction = "no correction" if made.optimise is None else f"{made.optimise.iterations} iterations of correction"
    size = f"units of {made.terrains_per_unit} terrains x {made.candidates} motions{choice}"
    return (
        f"{plan.clips} clips up to {made.rollout.seconds:g} s on {kinds[made.ground]}; {size}, {correction}; "
        f"at most {plan.most_units} units"
    )


def _tracker(plan: TrackerPlan) -> str:
    training = plan.training
    budget = f"{training.iterations} rounds" if training.iterations else f"{training.seconds:g} s"
    chosen = f", on motions followed for {100 * plan.least_followed:g} % before" if plan.least_followed else ""
    return f"{budget} of training, {training.worlds} characters{chosen}"


def _guard(guard: GuardSettings, physics_correction: bool) -> str:
    rules = [f"from {guard.shortest:g} s on"]
    if physics_correction and guard.quality is not None:
        rules += [f"{name} up to {getattr(guard.quality, name):g}" for name in guard.quality.__dataclass_fields__]
    if guard.nearest:
        rules.append(f"{guard.nearest:g} m from every other")
    if physics_correction and guard.refuse_surplus:
        rules.append(f"{100 * guard.least_diversity:g} % as diverse as the start")
    return "clips " + ", ".join(rules)
