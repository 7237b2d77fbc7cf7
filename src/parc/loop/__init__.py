"""The whole of PARC as one resumable job."""

from parc.loop.guard import GuardSettings, QualityLimits, judge_clips, measure_diversity
from parc.loop.iterate import LoopResult, RunSources, run_loop
from parc.loop.ledger import Ledger, LoopError
from parc.loop.machines import Machines
from parc.loop.plan import PRESETS, IterationPlan, LoopSettings, preset

__all__ = [
    "PRESETS", "GuardSettings", "IterationPlan", "Ledger", "LoopError", "LoopResult", "LoopSettings", "Machines", "QualityLimits",
    "RunSources", "judge_clips", "measure_diversity", "preset", "run_loop",
]  # fmt: skip
