"""The whole of PARC as one resumable job."""

from parc.loop.guard import GuardSettings, QualityLimits, judge_clips, refuse_surplus
from parc.loop.iterate import LoopResult, run_loop
from parc.loop.ledger import Ledger, LoopError
from parc.loop.machines import Machines
from parc.loop.plan import PRESETS, IterationPlan, LoopSettings, preset
from parc.loop.sources import RunSources

__all__ = [
    "PRESETS", "GuardSettings", "IterationPlan", "Ledger", "LoopError", "LoopResult", "LoopSettings", "Machines", "QualityLimits",
    "RunSources", "judge_clips", "preset", "refuse_surplus", "run_loop",
]  # fmt: skip
