"""The first sentence of a run's report, by hand: what the numbers say is what it says."""

from typing import Any

import pytest

from parc.report.loop_verdict import courses, verdict


def run(*iterations: dict[str, Any], warning: str | None = None) -> dict[str, Any]:
    """A run with these numbers in its iterations; the last may have a warning."""
    stages, rows = [], []
    for i, told in enumerate(iterations, 1):
        stages += [{"stage": f"iteration-{i:02d}/{name}", "result": told.get(name, {})} for name in ("recording", "tracker")]
        joined = told.get("joined", ["a", "b", "c"])
        metrics = {"corrected": told.get("corrected", {}), "recorded": {}}
        refused = {name: ["too deep"] for name in told.get("refused", ["d"])}
        last = warning if i == len(iterations) else None
        rows.append({"iteration": i, "joined": joined, "refused": refused, "warning": last, "metrics": metrics})
    return {"stages": stages, "iterations": rows}


FIRST = {"recording": {"recorded_to_end": 0.4}, "tracker": {"joint_error": 0.05}, "corrected": {"foot_skate": 10.0, "fwd": 1.0}}
LATER = {"recording": {"recorded_to_end": 0.6}, "tracker": {"joint_error": 0.06}, "corrected": {"foot_skate": 7.5, "fwd": 1.01}}


def test_what_got_better_and_what_got_worse_by_how_much() -> None:
    said = verdict(run(FIRST, {}, LATER))
    assert said.startswith("It went well from iteration 1 to 3; better: ")
    better, worse = said.split("; worse: ")
    assert "tracked to their end 40 to 60 %" in better and "foot skate, corrected motions 10 to 7.5 %" in better
    assert worse == "joint error of the tracker 0.05 to 0.06 m."
    assert "distance from the goal" not in said, "a change of 1 % is none"
    assert verdict(run(LATER, FIRST)).startswith("It did not go well from iteration 1 to 2; better: joint error")


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        (run(), "No iteration is finished yet."),
        (run(FIRST), "It went well: 3 of 4 new clips joined; one iteration is finished"),
        (run({"joined": ["a"], "refused": ["b", "c"]}), "It did not go well: 1 of 3 new clips joined"),
        (
            run(FIRST, {**LATER, "joined": [], "refused": ["d"]}),
            "in iteration 2 no clip joined, 1 were refused",
        ),
        (run(FIRST, LATER, warning="new clips are all alike"), "iteration 2 ended with a warning, new clips are all alike."),
        (run(FIRST, FIRST), "every number is within 2 % of the first's"),
        (run(FIRST, {"tracker": {"joint_error": 0.04}, "corrected": {"fwd": 2.0}}), "It went both ways from iteration 1 to 2"),
    ],
)
def test_every_kind_of_run_has_a_sentence(numbers: dict[str, Any], said: str) -> None:
    told = verdict(numbers)
    assert said in told and told.endswith(".") and told.count(".") - told.count("0.") <= 1


def test_numbers_that_are_not_there_are_not_compared() -> None:
    (to_end,) = [c for c in courses(run(FIRST, {"recording": {"recorded_to_end": float("nan")}})) if c.what.stage == "recording"]
    assert to_end.values == (40.0, None) and to_end.turn == 0
    assert {c.what.unit for c in courses(run(FIRST, LATER))} == {"%", "m"}
