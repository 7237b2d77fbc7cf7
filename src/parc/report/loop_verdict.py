"""Whether a run of the loop went well: what got better and what worse from its first to its last finished iteration."""

import math
from typing import Any, NamedTuple

from parc.loop.iteration_numbers import NUMBERS
from parc.quality.measure_table import MEASURES

_SLIGHT = 0.02
"""share of the first value: a smaller change is none"""
_LEAST_SHARE = 0.5
"""of what was recorded must join, for one iteration alone to have gone well"""


class Followed(NamedTuple):
    """A number that is looked at in every iteration."""

    says: str
    unit: str
    stage: str
    """whose result has it; "metrics": the table of the iteration"""
    key: str
    """in that result; in the metrics set.measure"""
    larger_is_better: bool
    scale: float = 1.0


def _measured(says: str, place: str, larger_is_better: bool = False) -> Followed:
    return Followed(says, MEASURES[place.split(".")[1]].unit, "metrics", place, larger_is_better)


FOLLOWED = (
    Followed("generated motions tracked to their end", "%", "recording", "recorded_to_end", True, 100.0),
    Followed("training clips tracked to their end", "%", "tracker", "success", True, 100.0),
    Followed("joint error of the tracker", "m", "tracker", "joint_error", False),
    _measured("distance from the goal, corrected motions", "corrected.fwd"),
    _measured("penetration, corrected motions", "corrected.pen_mm"),
    _measured("foot skate, corrected motions", "corrected.foot_skate"),
    _measured("floating, corrected motions", "corrected.floating"),
    _measured("penetration, recorded motions", "recorded.pen_mm"),
    _measured("foot skate, recorded motions", "recorded.foot_skate"),
    Followed("clips that joined", "", "dataset", "joined", True),
    *(Followed(f"{n.says} (development set)", n.unit, "evaluation", key, n.larger_is_better) for key, n in NUMBERS.items()),
)


class Course(NamedTuple):
    """A followed number over the iterations."""

    what: Followed
    values: tuple[float | None, ...]
    """of each finished iteration; None where it was not measured"""

    @property
    def turn(self) -> int:
        """1: better at the end than at the beginning, -1: worse, 0: neither, or not to be said."""
        first, last = self.values[0], self.values[-1]
        if first is None or last is None or abs(last - first) <= _SLIGHT * abs(first):
            return 0
        return 1 if (last > first) == self.what.larger_is_better else -1

    @property
    def told(self) -> str:
        """As in "joint error of the tracker 0.051 to 0.047 m"."""
        first, last = self.values[0], self.values[-1]
        unit = f" {self.what.unit}" if self.what.unit else ""
        return f"{self.what.says} {first:.3g} to {last:.3g}{unit}"


def courses(numbers: dict[str, Any]) -> list[Course]:
    """Of all that was measured in any iteration; `numbers` as `parc.loop.loop_report.gather_report` gives them."""
    results = {stage["stage"]: stage["result"] for stage in numbers["stages"]}
    found = []
    for what in FOLLOWED:
        values = tuple(_value(what, iteration, results) for iteration in numbers["iterations"])
        if any(value is not None for value in values):
            found.append(Course(what, values))
    return found


def verdict(numbers: dict[str, Any]) -> str:
    """One sentence."""
    iterations = numbers["iterations"]
    if not iterations:
        return "No iteration is finished yet."
    last = iterations[-1]
    joined, made = len(last["joined"]), len(last["joined"]) + len(last["refused"])
    if last["warning"]:
        return f"It did not go well: iteration {last['iteration']} ended with a warning, {last['warning']}."
    if not joined:
        return f"It did not go well: in iteration {last['iteration']} no clip joined, {made} were refused."
    if len(iterations) == 1:
        told = "It went well" if joined >= _LEAST_SHARE * made else "It did not go well"
        return f"{told}: {joined} of {made} new clips joined; one iteration is finished, so there is nothing to compare it with."
    turns = courses(numbers)
    better, worse = ([c.told for c in turns if c.turn == sign] for sign in (1, -1))
    if not better and not worse:
        return f"It neither gained nor lost: after {len(iterations)} iterations every number is within 2 % of the first's."
    gain = len(better) - len(worse)
    told = "It went well" if gain > 0 else "It went both ways" if gain == 0 else "It did not go well"
    parts = [f"{name}: {', '.join(some)}" for name, some in (("better", better), ("worse", worse)) if some]
    return f"{told} from iteration {iterations[0]['iteration']} to {last['iteration']}; {'; '.join(parts)}."


def _value(what: Followed, iteration: dict[str, Any], results: dict[str, dict[str, Any]]) -> float | None:
    if what.stage == "metrics":
        group, measure = what.key.split(".")
        value = iteration["metrics"].get(group, {}).get(measure)
    else:
        value = results.get(f"iteration-{iteration['iteration']:02d}/{what.stage}", {}).get(what.key)
    return None if value is None or math.isnan(value) else what.scale * float(value)
