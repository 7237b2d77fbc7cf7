"""Minutes that are left are shared out by what is lacking, and a training that was begun keeps its seconds."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from parc.evaluate.iteration_evaluation import evaluation_of
from parc.loop import LoopSettings, preset
from parc.loop.budget.stage_clock import training_seconds, what_is_lacking
from parc.loop.budget.time_budget import within
from parc.loop.ledger import StageEntry
from parc.loop.run_outline import all_stages, expected_of, training_of
from parc.reflex.loop_stage import closed_loop_of

TRAININGS = ("generator", "tracker", "reflex")


def gpu(minutes: float = 28.0) -> LoopSettings:
    settings = preset("gpu")
    return within(replace(settings, closed_loop=closed_loop_of(settings), evaluation=evaluation_of(settings)), minutes)


def done(seconds: float, budget: float | None = None, **result: Any) -> StageEntry:
    return StageEntry({}, 0.0, 0.0, seconds, {}, result, budget)


def played(settings: LoopSettings, slowness: float, beside: bool = True, **reached: float) -> tuple[float, dict[str, float]]:
    """s that a run takes whose stages take so many times what is expected, and the seconds of its trainings."""
    ledger: Any = SimpleNamespace(stages={})
    total, seconds = 0.0, {}
    for i, stage in all_stages(settings):
        name = f"iteration-{i:02d}/{stage}"
        budget = training_seconds(settings, ledger, i, stage, beside) if stage in TRAININGS else None
        took = (budget or 0.0) + slowness * (expected_of(settings, i, stage) - training_of(settings, i, stage))
        ledger.stages[name] = done(took, budget, **(reached if stage == "evaluation" else {}))
        if budget is not None:
            seconds[name] = budget
            assert training_seconds(settings, ledger, i, stage, beside) == budget, "what was begun keeps its seconds"
        waited = not beside or stage not in ("reflex", "evaluation") or (stage == "evaluation" and i == settings.iterations)
        total += took if waited else 0.0
    return total, seconds


@pytest.mark.parametrize("slowness", [0.5, 1.0, 1.6])
@pytest.mark.parametrize("beside", [True, False])
def test_a_run_ends_in_its_minutes_on_slower_and_faster_machines(slowness: float, beside: bool) -> None:
    total, _ = played(gpu(40.0), slowness, beside)
    assert (0.75 if beside else 0.9) * 40 * 60 < total <= 1.06 * 40 * 60, "more only where no training can be cut further"


def test_what_lacks_most_gets_more() -> None:
    settings = gpu()
    (_, even), (_, tracked) = played(settings, 1.0), played(settings, 1.0, goal=10.0, success=95.0, reflex=50.0)
    later = ("iteration-03/", "iteration-04/")
    assert all(tracked[n] > 1.1 * even[n] for n in even if n.startswith(later) and n.endswith("generator"))
    assert all(tracked[n] < 0.9 * even[n] for n in even if n.startswith(later) and n.endswith("tracker"))
    assert tracked["iteration-01/generator"] == even["iteration-01/generator"], "nothing is measured yet"


def test_the_newest_evaluation_that_knows_counts() -> None:
    stages = {
        "iteration-01/evaluation": done(1.0, goal=20.0, success=40.0, reflex=10.0),
        "iteration-02/evaluation": done(1.0, goal=60.0, success=None, reflex=130.0),
        "iteration-03/evaluation": StageEntry({}, 0.0, result={"goal": 99.0}),
    }
    assert what_is_lacking(stages) == pytest.approx({"generator": 0.4, "tracker": 0.6, "reflex": 0.0})


def test_seconds_that_were_typed_and_runs_without_minutes_are_left_alone(tmp_path: Path) -> None:
    ledger: Any = SimpleNamespace(stages={})
    settings = gpu()
    assert training_seconds(replace(settings, options={"generator.seconds": 50.0}), ledger, 1, "generator", True) is None
    assert training_seconds(replace(settings, minutes=None), ledger, 1, "tracker", True) is None
    assert training_seconds(settings, ledger, 1, "tracker", True) is not None
