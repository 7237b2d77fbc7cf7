"""How long each training of a run may take that was given minutes: what is left, shared out by what is lacking most.

Before a training begins:

    left     = the run's minutes, less what its stages have taken, less what all stages that are still to come take beside their
               training (what the same stage took in the iteration before, else what the preset expects; after the first, which
               may have generated code, at most twice of that)
    weight   = seconds in the preset's proportions x (1/4 + what is lacking), of every training that is still to come
    seconds  = left x weight / sum of weights, but from a fifth to three times of what the preset's proportions give

What is lacking comes from the newest evaluation that is finished: of a generator the share of motions that miss the goal, of a
tracker the share of motions that it does not track to their end, of closed-loop training the share of terrains that are not
crossed without rehearsal. Before the first evaluation everything is lacking.

The seconds are noted in the ledger with the stage, which keeps them over every stop.
"""

import math
from typing import Any

from parc.loop.ledger import Ledger, StageEntry
from parc.loop.loop_plan import LoopSettings
from parc.loop.run_outline import all_stages, expected_of, training_of

_EVEN = 0.25
"""added to what is lacking: a part that lacks nothing still gets a fifth of what one gets that lacks everything"""
_LEAST, _MOST = 0.2, 3.0
_FIRST = 2.0
"""times what is expected that a stage is believed to take again after it was done once"""
LACKING = {"generator": "goal", "tracker": "success", "reflex": "reflex"}
"""the number of an evaluation that tells what a training has not reached yet (`parc.loop.iteration_numbers`)"""
_FIXED = {"generator": "generator.seconds", "tracker": "tracker.training.seconds"}
_BESIDE = ("reflex", "evaluation")


def training_seconds(settings: LoopSettings, ledger: Ledger, iteration: int, stage: str, beside: bool) -> float | None:
    """Of a training of an iteration; None: what its settings say. `beside`: leaf stages are done beside the others."""
    if settings.minutes is None or _FIXED.get(stage) in settings.options:
        return None
    stages = ledger.stages
    begun = stages.get(_key(iteration, stage))
    if begun is not None:
        return begun.budget
    usual = training_of(settings, iteration, stage)
    left, weights = 60.0 * settings.minutes - _taken(stages, beside), 0.0
    lacking = what_is_lacking(stages)
    for i, name in all_stages(settings):
        entry = stages.get(_key(i, name))
        if entry is not None and entry.is_done:
            continue
        left -= _around(settings, stages, i, name, beside)
        weights += training_of(settings, i, name) * (_EVEN + lacking.get(name, 1.0))
    share = usual * (_EVEN + lacking.get(stage, 1.0)) / max(weights, 1e-9)
    return round(min(max(left * share, _LEAST * usual), _MOST * usual), 1)


def what_is_lacking(stages: dict[str, StageEntry]) -> dict[str, float]:
    """0: nothing, 1: everything; of each kind of training, by the newest finished evaluation that knows of it."""
    found: dict[str, float] = {}
    newest = sorted((name for name, e in stages.items() if name.endswith("/evaluation") and e.is_done), reverse=True)
    for stage, number in LACKING.items():
        values = [value for name in newest if (value := stages[name].result.get(number)) is not None]
        if values and math.isfinite(values[0]):
            found[stage] = 1.0 - min(max(float(values[0]) / 100.0, 0.0), 1.0)
    return found


def _taken(stages: dict[str, StageEntry], beside: bool) -> float:
    """s of finished stages that the others had to wait for."""
    return sum(e.seconds or 0.0 for name, e in stages.items() if not (beside and name.split("/")[-1] in _BESIDE))


def _around(settings: LoopSettings, stages: dict[str, StageEntry], i: int, stage: str, beside: bool) -> float:
    """s that a stage takes beside its training; of stages beside the others only the last evaluation is waited for."""
    if beside and (stage == "reflex" or (stage == "evaluation" and i < settings.iterations)):
        return 0.0
    expected = max(expected_of(settings, i, stage) - training_of(settings, i, stage), 0.0)
    took = []
    for earlier in range(i):
        entry: Any = stages.get(_key(earlier, stage))
        if entry is not None and entry.is_done:
            took.append(max(entry.seconds - (entry.budget or training_of(settings, earlier, stage)), 0.0))
    if len(took) == 1:  # the first of its kind may have waited for code to be generated
        return min(took[0], _FIRST * expected)
    return took[-1] if took else expected


def _key(i: int, stage: str) -> str:
    return f"iteration-{i:02d}/{stage}"
