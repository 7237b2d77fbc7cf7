"""Runs across terrain, summed up: what became of them, how long they took, how human they look, and how hard their routes were.

Every run ends in one way, so the counts of `OUTCOMES` add up to the number of runs. Standard errors take terrains, not runs, as
what was drawn: several runs of one terrain are not several terrains.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from parc.metrics import gait_measures, naturalness

OUTCOMES = ("arrived", "fallen", "stuck", "late", "lost")
"""at the goal; down; no headway; out of time; the plan was lost and, in the search, nothing else was left to try"""
EDGES: dict[str, tuple[float, ...]] = {
    "climb": (0.3, 0.6, 1.0, 1.4, 1.85),
    "drop": (0.6, 1.2, 2.0),
    "gap": (0.01, 0.6, 1.2, 1.6),
}
"""m, where classes of routes by their highest climb, deepest drop and widest gap end"""
HUMAN = ("walk_r", "human_r", "human_n")
GAIT = ("stance_knee", "pelvis_height", "cadence", "stride", "step_asymmetry", "straight_speed")
assert set(HUMAN) <= set(naturalness.UNITS) and set(GAIT) <= set(gait_measures.UNITS)


@dataclass(frozen=True)
class CrossingRun:
    """One body on one route."""

    case: str
    family: str
    run: int
    """number of the run on this terrain"""
    outcome: str
    """of `OUTCOMES`"""
    seconds: float
    """s simulated until then"""
    length: float
    """m of the route"""
    progress: float
    """m of it that the body came along"""
    climb: float
    """m, highest of the route"""
    drop: float
    """m, deepest of the route"""
    gap: float
    """m, widest of the route"""
    pushes: int = 0
    """pushes that it was given"""
    downs: int = 0
    """times that it went down, where it may get up"""
    ups: int = 0
    """times that it got up again"""
    motion: dict[str, float] = field(default_factory=dict)
    """measures of what the body did: `HUMAN` and `GAIT`; NaN where it shows nothing of one"""

    @property
    def arrived(self) -> bool:
        """It is at the goal."""
        return self.outcome == "arrived"


def summarise_crossings(runs: Sequence[CrossingRun]) -> dict[str, Any]:
    """Of all these runs together."""
    counts = Counter(run.outcome for run in runs)
    seconds = sum(run.seconds for run in runs)
    return {
        "terrains": len({run.case for run in runs}),
        "runs": len(runs),
        "success": _share(runs, lambda run: run.arrived),
        "success_error": _error(runs, lambda run: float(run.arrived)),
        **{f"{outcome}_runs": counts[outcome] for outcome in OUTCOMES},
        "stuck": _share(runs, lambda run: run.outcome == "stuck"),
        "falls_per_second": (counts["fallen"] + counts["lost"]) / seconds if seconds else math.nan,
        "share_of_path": _mean([1.0 if run.arrived else min(run.progress / max(run.length, 1e-6), 1.0) for run in runs]),
        "seconds_to_goal": _mean([run.seconds for run in runs if run.arrived]),
        "speed": sum(run.progress for run in runs) / seconds if seconds else math.nan,
        "pushes": sum(run.pushes for run in runs),
        "downs": sum(run.downs for run in runs),
        "got_up": _got_up(runs),
        **{name: _mean([run.motion.get(name, math.nan) for run in runs]) for name in (*HUMAN, *GAIT)},
    }


def by_difficulty(runs: Sequence[CrossingRun]) -> dict[str, list[dict[str, Any]]]:
    """{"climb", "drop", "gap": rows of success by class of route}; classes without a run are left out."""
    table = {}
    for measure, edges in EDGES.items():
        rows = []
        for low, high in zip((0.0, *edges), (*edges, math.inf), strict=True):
            some = [run for run in runs if low <= getattr(run, measure) < high]
            if some:
                numbers = {
                    "success": _share(some, lambda run: run.arrived),
                    "error": _error(some, lambda run: float(run.arrived)),
                }
                rows.append({"from": low, "to": high, "terrains": len({r.case for r in some}), "runs": len(some)} | numbers)
        table[measure] = rows
    return table


def _got_up(runs: Sequence[CrossingRun]) -> float:
    """Share of the falls that were got up from."""
    downs = sum(run.downs for run in runs)
    return sum(run.ups for run in runs) / downs if downs else math.nan


def _share(runs: Sequence[CrossingRun], holds: Callable[[CrossingRun], bool]) -> float:
    return sum(map(holds, runs)) / len(runs) if runs else math.nan


def _error(runs: Sequence[CrossingRun], value: Callable[[CrossingRun], float]) -> float:
    """Standard error of the mean over terrains, each with the mean of its runs."""
    by_case: dict[str, list[float]] = {}
    for run in runs:
        by_case.setdefault(run.case, []).append(value(run))
    means = [np.mean(values) for values in by_case.values()]
    return float(np.std(means, ddof=1) / math.sqrt(len(means))) if len(means) > 1 else math.nan


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return sum(known) / len(known) if known else math.nan
